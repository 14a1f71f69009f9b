"""Reference implementations to read, to copy from and to compare others with.

`StrictSaver` is a complete LangGraph checkpointer in memory; `Space` is where it keeps its data.
"""

from lineage_reference.saver import StrictSaver
from lineage_reference.space import Space

__all__ = ["Space", "StrictSaver"]
