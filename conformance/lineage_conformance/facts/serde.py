"""Facts about values: what each type that applications keep in state is read back as."""

from __future__ import annotations

from typing import Any

from lineage_conformance import zoo
from lineage_conformance.canon import canon, same
from lineage_conformance.facts import Fact, add
from lineage_conformance.facts.probe import Probe

MEANS = "State that holds such a value is read back as something else, or is refused."

LEFT_OUT = ("live", "generator", "numpy", "delta_snapshot", "vanishing", "long_text", "nul", "surrogate", "inf",
            "bigint", "emoji")  # fmt: skip
"""Specimens that laws are about, that are asked elsewhere, or that need packages of their own."""


def _read(name: str) -> Any:
    def probe(p: Probe) -> Any:
        p.need(zoo.available(name), f"no {name} can be made here")
        p.put({"a": zoo.build(zoo.ref(name))})
        values = p.get().checkpoint["channel_values"]
        if "a" not in values:
            return "lost"
        if same(canon(zoo.build(zoo.ref(name))), canon(values["a"])):
            return "the same"
        return {"becomes": type(values["a"]).__name__}

    return probe


def _gone(p: Probe) -> Any:
    p.put({"a": zoo.build(zoo.ref("vanishing"))})
    zoo.vanish()
    return p.get().checkpoint["channel_values"].get("a", "lost")


for _name in zoo.ZOO:
    if _name not in LEFT_OUT:
        add(Fact(f"serde.{_name}", f"What the value {zoo.ZOO[_name].expression} is read back as.",
                 _read(_name), MEANS))  # fmt: skip
add(Fact("serde.class-that-is-gone", "What a dataclass is read back as whose class no longer exists.", _gone,
         "Stored conversations lose such values after a class was renamed."))  # fmt: skip
