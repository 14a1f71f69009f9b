"""Environments with other packages: building them, and running the suite in several (`bump`, `matrix`)."""
