"""Kind rollback: turns that are taken back. A case is a turn that is cut at a point."""

from lineage_conformance.kind import Kind

KIND = Kind(
    name="rollback",
    laws=("rollback", "turns"),
    protocol="Rollback",
    first="rollback.restores-messages",
    reference="lineage_reference.rollback:make",
    lends=True,
    warm=("langgraph.graph",),
    asked="its attribute `saver` or, where it has none, of the checkpointer that it hands to the builder in `use`",
    nothing="neither",
)
