"""Small real graphs whose tasks can be stopped at an exact point: shapes, gates, a watched saver.

`Tool` and `Shape` are data. `Gates` is how a test waits for a point and holds a task there. `watched` makes a
saver tell the gates what it has stored. `build` makes the graph, `Driver` runs it. Only the last two import
LangGraph, and only when they are called.
"""

from __future__ import annotations

from lineage_conformance.graphs.gates import Gates
from lineage_conformance.graphs.shape import Shape, Tool, tools
from lineage_conformance.graphs.watch import Crashed, Life, watched

__all__ = ["Crashed", "Gates", "Life", "Shape", "Tool", "tools", "watched"]
