"""Kind transfer: context that moves between threads and providers. A case is a history of steps."""
