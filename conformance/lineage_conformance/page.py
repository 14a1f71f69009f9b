"""The protocol of a kind as one page: what is said, named and typed in its modules, as Python.

Nothing is left out but imports, so that a backend can be written from the page alone: words and codes, records
with their attributes, callables that are handed in, and both halves with the methods that are optional.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections.abc import Container, Iterator, Sequence
from types import ModuleType

from lineage_conformance import kinds
from lineage_conformance.handles import HALVES
from lineage_conformance.kind import Kind

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

FACTORY = """\
A target is a *factory*, named as pkg.mod:factory or ./file.py:factory: a function, a generator or a context manager
(sync or async), or a class. It gives an object with the methods below: the sync half (class {name}), the async half
(class Async{name}), or both. A half is there when it has every method that does not say "Optional."; laws about an
optional method are run where it is. Sync methods are called in a plain thread, never in a running event loop; async
ones in one event loop, which lives in another thread and is the same for all handles.

`store`: a factory with a parameter of this name is called with a private place for data: `store.path`, an empty
directory (pathlib.Path); `store.id`, a unique text of letters and digits; `store.dsn`, a connection string of an
empty PostgreSQL database, or None (it is there for @pytest_lineage.target(NAME, kind="{kind}", postgres=True)). A
new store is empty. Two calls with one store must give two handles on the same data, also when the first was closed.
Without the parameter every call is taken to start empty, and laws about reopening, restarts and second handles do
not apply.

{saver}Before anything is written the target must show that it holds nobody's data: ``list(None, limit=1)`` (or
``alist``) gives nothing, asked of {asked}. Where {nothing} can be asked, the factory must take `store`.
"""

SAVER = """\
`saver`: where the backend keeps checkpoints is its own business. Your factory makes that checkpointer itself, e.g.
InMemorySaver(), or SqliteSaver on a file below `store.path`. (`--over TARGET` goes with the built-in target
`reference` alone, whose factory is called with `saver` and `store`.)

"""

TRY = """\
# pytest-lineage smoke ./file.py:factory{option}
# pytest-lineage check ./file.py:factory{option}
# pytest-lineage explain LAW"""


def page(kind: Kind) -> str:
    """The page of a kind."""
    main, last = (importlib.import_module(kind.half(half).__module__) for half in HALVES)
    how = FACTORY.format(
        name=kind.protocol,
        kind=kind.name,
        saver="" if kind.is_saver else SAVER,
        asked=kind.asked,
        nothing=kind.nothing,
    )
    option = "" if kind.name == kinds.USUAL else f" --kind {kind.name}"
    chapters = [f'"""{(main.__doc__ or "").strip()}\n"""', _comment(how), TRY.format(option=option)]
    for module in (*map(kind.module, kind.page), main, *([last] if last is not main else [])):
        if module is not main:
            chapters.append(_comment(module.__doc__ or ""))
        chapters += _statements(module)
    return "\n\n".join(chapters)


def described(classes: Sequence[type]) -> str:
    """How cases of a form of their own are read: their words and fields. `classes` are what they are made of."""
    named = {(cls.__module__, cls.__name__) for cls in classes}
    parts: list[str] = []
    for name in dict.fromkeys(cls.__module__ for cls in classes):
        module = importlib.import_module(name)
        parts.append(_comment(module.__doc__ or ""))
        parts += _statements(module, {own for where, own in named if where == name})
    return "\n\n".join(parts)


def _is_case(item: ast.stmt, named: Container[str]) -> bool:
    """Whether a statement is one of the named classes, or a list of words."""
    if isinstance(item, ast.ClassDef):
        return item.name in named
    return isinstance(item, ast.Assign) and isinstance(item.value, ast.Tuple)


def _comment(text: str) -> str:
    """Paragraphs as comments of Python."""
    parts = [
        textwrap.fill(
            " ".join(p.split()),
            98,
            initial_indent="# ",
            subsequent_indent="# ",
            break_on_hyphens=False,
            break_long_words=False,
        )
        for p in text.strip().split("\n\n")
    ]
    return "\n#\n".join(parts)


def _statements(module: ModuleType, wanted: Container[str] | None = None) -> Iterator[str]:
    """The source of a module's statements but imports, each with the comment string that follows it.

    With `wanted`: only of these classes, without their methods, and of the lists of words beside them.
    """
    source = inspect.getsource(module)
    lines = source.splitlines()
    body = ast.parse(source).body[1:]
    for number, item in enumerate(body):
        if isinstance(item, (ast.Import, ast.ImportFrom, ast.Expr)) or _is_all(item):
            continue
        if wanted is not None and not _is_case(item, wanted):
            continue
        end = item.end_lineno or item.lineno
        if number + 1 < len(body) and isinstance(body[number + 1], ast.Expr):
            end = body[number + 1].end_lineno or end
        methods = [m.lineno for m in getattr(item, "body", ()) if isinstance(m, _FUNCTIONS)]
        if wanted is not None and methods:
            end = min(methods) - 1
        decorators = getattr(item, "decorator_list", ())
        first = min([item.lineno, *(d.lineno for d in decorators)])
        kept = [line for line in lines[first - 1 : end] if line.strip() != "..."]
        text = "\n".join(line.replace("  # fmt: skip", "") for line in kept).rstrip()
        yield text.removesuffix("@classmethod").removesuffix("@property").rstrip()


def _is_all(item: ast.stmt) -> bool:
    return isinstance(item, ast.Assign) and ast.unparse(item.targets[0]) == "__all__"
