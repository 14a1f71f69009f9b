"""Kind delta: checkpoints kept as blobs of what is new. A case is a history of lists."""
