"""Kind branching: conversations that branch off one another. A case is a tale."""

from lineage_conformance.kind import Kind

KIND = Kind(
    name="branching",
    laws=("branching", "workspace", "creation", "cost"),
    protocol="Branching",
    first="branching.messages-equal-prefix",
    reference="lineage_reference.branching:make",
)
