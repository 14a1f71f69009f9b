"""Facts about awkward text and numbers: NUL, lone surrogates, numbers beyond what databases hold."""

from __future__ import annotations

from typing import Any

from lineage_conformance.facts import Fact, add, fact
from lineage_conformance.facts.probe import Probe

TEXT = "Input that a model or a user produced is refused, changed, or accepted."

VALUES: tuple[tuple[str, str, Any], ...] = (
    ("nul-in-a-value", "a text with a NUL", "x\x00y"),
    ("nul-in-a-list", "a list that holds a text with a NUL", ["x\x00y"]),
    ("surrogate-in-a-value", "a text with a lone surrogate", "x\ud800"),
    ("infinity", "infinity", float("inf")),
    ("big-number", "a number of 80 bits", 2**80),
    ("long-text", "a text of 100,000 letters", "x" * 100_000),
    ("emoji", "an emoji", "\U0001f600"),
)


def _value(value: Any) -> Any:
    def probe(p: Probe) -> Any:
        p.put({"a": value})
        read = p.get().checkpoint["channel_values"].get("a")
        same = type(read) is type(value) and read == value
        return "the same" if same else read

    return probe


for _id, _what, _stored in VALUES:
    add(Fact(f"text.{_id}", f"What {_what} in the state is read back as.", _value(_stored), TEXT))


@fact("text.nul-in-a-thread", TEXT)
def nul_in_a_thread(p: Probe) -> Any:
    """Whether a thread id with a NUL is stored and found."""
    place = p.place(p.thread + "\x00y")
    p.put(config=place)
    return p.get(place) is not None


@fact("text.nul-in-a-write", TEXT)
def nul_in_a_write(p: Probe) -> Any:
    """What a text with a NUL in a pending write is read back as."""
    p.writes(p.put(), ("a", "x\x00y"))
    return p.pending()


@fact("text.nul-in-a-channel", TEXT)
def nul_in_a_channel(p: Probe) -> Any:
    """What a pending write to a channel with a NUL in its name is read back as."""
    p.writes(p.put(), ("a\x00b", 1))
    return p.pending()


@fact("text.slash-and-colon-in-a-thread", TEXT)
def slash_and_colon(p: Probe) -> Any:
    """Whether a thread id with a slash, a colon, a percent sign and a quote is stored and found."""
    place = p.place(p.thread + "/:%'\"")
    p.put(config=place)
    return p.get(place) is not None
