"""Kind transfer: context that moves between threads and providers. A case is a history of steps."""

from lineage_conformance.kind import Kind

KIND = Kind(
    name="transfer",
    laws=("transfer", "points", "together", "cost"),
    protocol="Transfer",
    first="transfer.commands-are-carried-out",
    reference="lineage_reference.transfer:make",
    page=("terms", "records", "adapter"),
)
