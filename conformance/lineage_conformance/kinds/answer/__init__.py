"""Kind answer: the final answer of a thread. A case is a conversation."""

from lineage_conformance.kind import Kind

KIND = Kind(
    name="answer",
    laws=("answer",),
    protocol="Answer",
    first="answer.is-the-last-text",
    reference="lineage_reference.final_answer:make",
    lends=True,
    warm=("langgraph.graph",),
    asked="its attribute `saver` or, where it has none, of the checkpointer that it hands to the builder in `use`",
    nothing="neither",
)
