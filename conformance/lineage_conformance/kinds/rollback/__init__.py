"""Kind rollback: turns that are taken back. A case is a turn that is cut at a point."""
