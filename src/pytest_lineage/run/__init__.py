"""Running laws: a worker process does the work, its supervisor watches it, the engine asks and counts."""
