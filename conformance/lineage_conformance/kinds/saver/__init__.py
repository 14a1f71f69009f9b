"""Kind saver: LangGraph's checkpointer. A case is a program, played in a session next to the model."""
