"""Deliberately wrong savers. Each breaks one law, and nothing that is unrelated to it."""
