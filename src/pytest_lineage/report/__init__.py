"""Reports: one document, and writers that only read it."""
