"""Opening a target: from a factory of any shape to a live handle, and back."""

from __future__ import annotations

import inspect
import re
import shutil
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lineage_conformance import kinds
from lineage_conformance.handles import Handle, Loop
from lineage_conformance.raised import guarded
from pytest_lineage.run.folders import fast_folder as _fast_folder
from pytest_lineage.targets import Store, Target, TargetError, _is_saver

Closer = Callable[[], None]

MAKE_IT_ASYNC = (
    "An async saver belongs to the event loop in which it was made, and this factory is not async: make it one "
    "(`async def`, which returns or yields the saver)."
)
_LOOP = re.compile(r"(?i)event loop|different loop|attached to a loop")

LENT = -1
"""The number of a store that somebody else keeps."""


class Opener:
    """Opens handles of one target on numbered stores, and drops the stores."""

    def __init__(
        self, target: Target, loop: Loop, admin_dsn: str | None = None, folder: str | None = None
    ) -> None:
        self.target, self.loop = target, loop
        self.takes_store = _takes_store((target.over or target).factory)
        self.under: Any = None
        """The saver under the last backend that was opened, where the target is built over one."""
        self._root = Path(tempfile.mkdtemp(prefix="lineage-", dir=folder or _fast_folder()))
        self._stores: dict[int, Store] = {}
        self._run = uuid.uuid4().hex[:10]
        self._databases: Any = None
        if target.postgres:
            from pytest_lineage.postgres import StoreMaker

            if admin_dsn is None:
                raise TargetError(f"{target.name}: needs PostgreSQL and was given no server")
            self._databases = StoreMaker(admin_dsn)

    def open(self, key: int) -> Handle:
        """A new handle on store number `key`. Raises `TargetError` if the factory gives no saver."""
        try:
            saver, close = self._make(key)
        except TargetError:
            raise
        except BaseException as error:
            text = str(error).strip().splitlines()
            detail = f"{type(error).__name__}: {text[0][:300]}" if text else type(error).__name__
            if of_a_loop(error) and not is_async(self.target.factory):
                detail += f". {MAKE_IT_ASYNC}"
            raise TargetError(f"{self.target.name}: the factory raised {detail}") from error
        return Handle(saver, self.loop, lambda: guarded(close))

    def lent(self, store: Store) -> Handle:
        """A new handle on a store that somebody else keeps; it is not dropped here."""
        self._stores[LENT] = store
        try:
            return self.open(LENT)
        finally:
            del self._stores[LENT]

    def store(self, key: int) -> Store:
        """Store number `key`, made when it is first asked for."""
        if key not in self._stores:
            id = f"{self._run}x{key}"
            path = self._root / str(key)
            path.mkdir()
            dsn = self._databases.create(id) if self._databases else None
            self._stores[key] = Store(id, path, dsn)
        return self._stores[key]

    def drop(self, key: int) -> None:
        """Remove a store: its directory and its database."""
        store = self._stores.pop(key, None)
        if store is None:
            return
        shutil.rmtree(store.path, ignore_errors=True)
        if self._databases:
            self._databases.drop(store.id)

    def close(self) -> None:
        """Drop every store."""
        for key in list(self._stores):
            self.drop(key)
        if self._databases:
            self._databases.close()
        shutil.rmtree(self._root, ignore_errors=True)

    def _make(self, key: int) -> tuple[Any, Closer]:
        base = self.target.over
        if base is None:
            return self._build(self.target, {"store": key} if self.takes_store else {})
        saver, close_saver = self._build(base, {"store": key} if _takes_store(base.factory) else {})
        self.under = saver
        try:
            made, close_made = self._build(self.target, {"saver": saver, "store": key})
        except BaseException:
            close_saver()
            raise
        return made, lambda: (close_made(), close_saver())[0]

    def _build(self, target: Target, arguments: dict[str, Any]) -> tuple[Any, Closer]:
        """Call a factory and unwrap what it gives: a coroutine may give a context manager, and so on."""
        if "store" in arguments:
            arguments["store"] = self.store(arguments["store"])
        made = target.factory(**arguments)
        close: Closer = _nothing
        for _ in range(4):
            if _is_saver(made) or (not kinds.get(target.kind).is_saver and not _is_wrapper(made)):
                break
            made, close = self._unwrap(made)
        return self._checked(made, target), close

    def _unwrap(self, made: Any) -> tuple[Any, Closer]:
        name, run = self.target.name, self.loop.run
        if inspect.isawaitable(made):
            return run(_await(made)), _nothing
        if inspect.isasyncgen(made):
            try:
                return run(_first(made)), lambda: run(made.aclose())
            except StopAsyncIteration:
                raise TargetError(
                    f"{name}: the factory yielded nothing; it must yield a saver"
                ) from None
        if inspect.isgenerator(made):
            try:
                return next(made), lambda: _finish(made)
            except StopIteration:
                raise TargetError(
                    f"{name}: the factory yielded nothing; it must yield a saver"
                ) from None
        if hasattr(made, "__aenter__"):
            return run(_enter(made)), lambda: run(_leave(made))
        if hasattr(made, "__enter__"):
            return made.__enter__(), lambda: made.__exit__(None, None, None)
        return self._checked(made, self.target), _nothing

    def _checked(self, made: Any, target: Target) -> Any:
        if made is None:
            raise TargetError(f"{target.name}: the factory gave None instead of a {target.kind}")
        if kinds.get(target.kind).is_saver and not _is_saver(made):
            raise TargetError(
                f"{target.name}: the factory gave {type(made).__name__}, which has neither put "
                "and get_tuple nor aput and aget_tuple"
            )
        return made


def _is_wrapper(made: Any) -> bool:
    return (
        made is None
        or inspect.isawaitable(made)
        or inspect.isgenerator(made)
        or inspect.isasyncgen(made)
        or hasattr(made, "__enter__")
        or hasattr(made, "__aenter__")
    )


def is_async(factory: Callable[..., Any]) -> bool:
    """Whether a factory can make a saver inside an event loop. One whose shape does not tell is taken for it."""
    plain = inspect.unwrap(factory)
    return not (
        inspect.isclass(plain)
        or (
            inspect.isfunction(plain)
            and not inspect.iscoroutinefunction(plain)
            and not inspect.isasyncgenfunction(plain)
        )
    )


def of_a_loop(error: BaseException) -> bool:
    """Whether an exception complains about the event loop."""
    return isinstance(error, RuntimeError) and bool(_LOOP.search(str(error)))


def _takes_store(factory: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(factory).parameters
    except (TypeError, ValueError):
        return False
    return "store" in parameters


def _nothing() -> None:
    return None


def _finish(generator: Any) -> None:
    for _ in generator:
        break
    generator.close()


async def _await(value: Any) -> Any:
    return await value


async def _first(generator: Any) -> Any:
    return await generator.__anext__()


async def _enter(manager: Any) -> Any:
    return await manager.__aenter__()


async def _leave(manager: Any) -> None:
    await manager.__aexit__(None, None, None)
