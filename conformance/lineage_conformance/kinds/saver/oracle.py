"""What may come back for a value that was stored: the value itself, or what LangGraph makes of it.

A value that comes back as another value, or of another type, is changed, whoever's serializer did it. Only
what LangGraph's own serializer does on the installed release is nobody else's fault (it turns tuples into
lists), and what a target declares: a limit ``values``, or the function ``transforms``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from lineage_conformance import contract
from lineage_conformance.canon import canon, either

Change = Callable[[Any], Any]

_HOME = "langgraph.checkpoint."
"""Where LangGraph's own serializers live."""


class Oracle:
    """Makes the expected tree of a value, for one saver.

    `transforms` is what the target declares to do to every value before it is stored; `own` says that the
    saver's serializer is trusted, whatever it does (the declared limit ``values``).
    """

    def __init__(self, saver: Any, transforms: Change | None = None, own: bool = False) -> None:
        self._transforms = transforms
        self._changes: list[Change] = [_through(_standard())]
        serde = getattr(saver, "serde", None)
        trusted = own or type(serde).__module__.startswith(_HOME)
        usual = type(serde) is type(_standard()) and vars(serde) == vars(_standard())
        if hasattr(serde, "dumps_typed") and trusted and not usual:
            self._changes.append(_through(serde))

    def expected(self, value: Any) -> Any:
        """The canonical tree of what may come back, with `canon.Either` where there is a choice."""
        if self._transforms is not None:
            value = self._transforms(value)
        tree = canon(value)
        if engine_owned(tree):
            # The engine dispatches on the type of its own records: no serializer may lose it.
            return [self.expected(item) for item in value] if type(value) is list else tree
        for change in self._changes:
            try:
                tree = either(tree, canon(change(value)))
            except Exception:
                continue  # it refuses the value: whoever takes it must give it back
        return tree


def engine_owned(tree: Any) -> bool:
    """Whether a tree is, or is a list of, LangGraph's own `Send` or `Interrupt` records."""
    if isinstance(tree, list):
        return any(engine_owned(item) for item in tree)
    return isinstance(tree, dict) and bool(tree.keys() & {"~Send", "~Interrupt"})


@functools.cache
def _standard() -> Any:
    """LangGraph's serializer as the installed base class has it."""
    return contract.base_saver().serde


def _through(serde: Any) -> Change:
    return lambda value: serde.loads_typed(serde.dumps_typed(value))
