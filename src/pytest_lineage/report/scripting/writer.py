"""What every script is made with: lines, imports, how the saver is opened, and the text in the end."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pytest_lineage.report.scripting.literals import WIDTH, broken, literal
from pytest_lineage.report.scripting.openings import Opening


@dataclass(frozen=True)
class Line:
    """One line of the script's body."""

    text: str
    depth: int = 0


@dataclass
class Writer:
    """Collects the lines of a script on the sync or the async half."""

    opening: Opening
    is_async: bool
    prefix: str = ""
    """Goes before every thread id where one of them is empty."""
    lines: list[Line] = field(default_factory=list)
    imports: dict[str, None] = field(default_factory=dict)
    names: dict[str, dict[str, None]] = field(default_factory=dict)
    depth: int = 0

    def say(self, text: str, deeper: int = 0) -> None:
        """Add a line."""
        self.lines.append(Line(text, self.depth + deeper))

    def need(self, *imports: str) -> None:
        """Import at the top: a module's name, or a whole line ``from … import …``."""
        for text in imports:
            if text.startswith("from "):
                module, _, given = text.removeprefix("from ").partition(" import ")
                self.use(module, *given.split(", "))
            else:
                self.imports[text.removeprefix("import ")] = None

    def use(self, module: str, *names: str) -> None:
        """Import names of a module at the top."""
        self.names.setdefault(module, {}).update(dict.fromkeys(names))

    def thread(self, label: str) -> str:
        """The thread id for a label, as source."""
        text = literal(self.prefix + label)
        return text if self.opening.fresh else f"unique + {text}"

    def open(self, name: str, first: bool = True) -> None:
        """Open a handle on the store under a name; what follows stands inside its ``with``, if it has one."""
        made = self.opening
        note = f"  # {made.note}" if made.note and first else ""
        if made.manner in ("with", "async with"):
            self.say(f"{made.manner} {made.expression} as {name}:{note}")
            self.depth += 1
        else:
            wait = "await " if made.manner == "await" else ""
            self.say(f"{name} = {wait}{made.expression}{note}")
        for line in made.after:
            self.say(line.replace("{saver}", name))

    def text(self, title: str, *blocks: Iterable[str]) -> str:
        """The whole script: title, imports, the blocks (the last one is the body), and the call of an async body."""
        self.need(*self.opening.imports)
        rows = textwrap.wrap(ascii_only(title), WIDTH, subsequent_indent="#   ", max_lines=2)
        rows += [f"import {name}" for name in sorted(self.imports)]
        rows += sorted(
            f"from {module} import {', '.join(sorted(names))}"
            for module, names in self.names.items()
        )
        for block in (self.opening.before, *blocks):
            found = list(block)
            rows += ["", *found] if found else []
        if self.is_async:
            rows += ["", "asyncio.run(main())"]
        return "\n".join(rows) + "\n"


def rows(lines: Sequence[Line], depth: int = 0) -> list[str]:
    """Lines as rows that are not too wide, `depth` steps further in."""
    return [
        row
        for line in lines
        for row in broken("    " * (line.depth + depth) + ascii_only(line.text))
    ]


def ascii_only(text: str) -> str:
    """Names that look alike must not be alike to read; only texts hold more than ASCII, and they may be escaped."""
    return text.encode("ascii", "backslashreplace").decode().replace("\n", " ")
