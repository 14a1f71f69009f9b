"""Kind branching: conversations that branch off one another. A case is a tale."""
