"""Kind answer: the final answer of a thread. A case is a conversation."""
