"""Graph laws: real graphs over a saver. For users they belong to kind saver; here they have a room of their own.

A case is a scenario: a small graph and what happens to it. What a saver does wrong there is tried on the strict
reference too, since it may be LangGraph's own.
"""

from lineage_conformance.kind import Kind

KIND = Kind(
    name="graph",
    laws=(
        "graph_resume", "graph_interrupts", "graph_fork", "graph_subgraph", "graph_durability", "graph_stops",
        "graph_delta",
    ),
)  # fmt: skip
