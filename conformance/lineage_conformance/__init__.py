"""The laws of a LangGraph checkpointer, the model that says what is right, and the programs that tell."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        # Read when asked for: the metadata of an installation costs more than the rest of this import.
        if name == "__version__":
            from importlib.metadata import version

            return version("pytest-lineage")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
