"""The disposable Postgres: its doors, its life, and the stores behind it."""
