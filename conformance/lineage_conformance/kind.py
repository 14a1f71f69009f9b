"""The record of a kind of target: whoever needs to know something about a kind asks it, and says no kind's name.

It is data alone, and importing it imports nothing of the kind: neither langgraph nor hypothesis.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lineage_conformance.handles import Half


@dataclass(frozen=True)
class Kind:
    """A room below `lineage_conformance.kinds`, and what is asked about the targets that its laws judge."""

    name: str
    """As it is typed after ``--kind``, and the name of its folder."""
    laws: tuple[str, ...]
    """Modules of its folder `laws`, in the order in which they run: causes before consequences."""
    protocol: str = ""
    """Class in its module `protocol`; the async half is ``Async`` + name. Empty: a room of laws about another kind."""
    first: str = ""
    """Id of the law that shows whether the plainest use of a target works; `smoke` judges it."""
    shows: str = ""
    """What that law shows, in words; empty: its id says it."""
    is_saver: bool = False
    """Whether a target is a saver itself: its cases are programs, its halves read what the other wrote, and its
    operations can be declared unsupported. A target of another kind is a backend with a saver of its own."""
    reference: str = ""
    """``module:callable`` that makes the reference backend from a saver and a store. Never imported here."""
    lends: bool = False
    """Whether its method `use` calls the builder that it is given with the backend's own saver."""
    warm: tuple[str, ...] = ()
    """Modules that are imported before a target is opened, so that they cost the target no time."""
    page: tuple[str, ...] = ()
    """Modules of its protocol beside `protocol`, in the order in which `explain` prints them."""
    asked: str = "its attribute `saver`"
    """Of what it is asked whether it holds data already, for its page."""
    nothing: str = "it"
    """Where it cannot be asked that, for its page."""

    def module(self, name: str) -> ModuleType:
        """A module of its folder, e.g. ``strategies``."""
        return importlib.import_module(f"lineage_conformance.kinds.{self.name}.{name}")

    def focuses(self) -> dict[str, Callable[[], Any]]:
        """Focus: what makes its Hypothesis strategy."""
        found: dict[str, Callable[[], Any]] = self.module("strategies").FOCUSES
        return found

    @property
    def corpus(self) -> Path:
        """The folder of programs that are replayed beside those that the laws bring. It need not exist."""
        return Path(__file__).parent / "kinds" / self.name / "corpus"

    def half(self, half: Half) -> type:
        """The protocol of one half."""
        made: type = getattr(
            self.module("protocol"), {"sync": "", "async": "Async"}[half] + self.protocol
        )
        return made

    def required(self, half: Half) -> list[str]:
        """The methods that a half needs to be there: all but those documented as optional."""
        return methods(self.half(half), optional=False)

    def optional(self, half: Half) -> list[str]:
        """The methods of a half that are documented as optional; laws about them apply where they are."""
        return methods(self.half(half), optional=True)


def methods(protocol: type, *, optional: bool) -> list[str]:
    """The methods of a protocol that are documented as optional, or that are not."""
    return [
        name
        for name, member in vars(protocol).items()
        if inspect.isfunction(member)
        and not name.startswith("_")
        and (member.__doc__ or "").startswith("Optional.") is optional
    ]
