"""Does a LangGraph checkpointer keep the promises LangGraph relies on? A pytest plugin and a command line.

`target` declares the thing under test; `Store` is what its factory is handed.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_lineage.targets import Store, Target, TargetError, target

    __version__: str
else:

    def __getattr__(name: str) -> Any:
        # Read when asked for: the plugin is imported by every pytest run, these are not needed there.
        if name == "__version__":
            from importlib.metadata import version

            return version("pytest-lineage")
        if name in __all__:
            from pytest_lineage import targets

            return getattr(targets, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["Store", "Target", "TargetError", "target"]
