"""Kind delta: checkpoints kept as blobs of what is new. A case is a history of lists."""

from lineage_conformance.kind import Kind

KIND = Kind(
    name="delta",
    laws=("delta_blobs", "service"),
    protocol="Delta",
    first="delta_blobs.shadow-leaves-reads",
    reference="lineage_reference.delta:make",
    asked="the backend itself, or of its attribute `saver`",
    nothing="neither",
)
