"""Kind saver: LangGraph's checkpointer. A case is a program, played in a session next to the model."""

from lineage_conformance.kind import Kind

KIND = Kind(
    name="saver",
    laws=(
        "put", "versions", "values", "latest", "fork", "writes", "list", "namespaces", "metadata", "serde",
        "delete", "copy", "prune", "runs", "delta_history", "durability", "concurrency", "security", "machine",
    ),
    protocol="Saver",
    first="put.is-readable",
    shows="one checkpoint put and read",
    is_saver=True,
    asked="it",
)  # fmt: skip
