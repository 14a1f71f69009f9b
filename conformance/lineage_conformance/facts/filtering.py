"""Facts about metadata filters of `list`: where stock savers disagree, so that no law may judge."""

from __future__ import annotations

from typing import Any

from lineage_conformance.facts import Fact, add
from lineage_conformance.facts.probe import Probe

MEANS = "History views and cleanup jobs that filter by metadata find more or fewer checkpoints."

CASES: tuple[tuple[str, str, dict[str, Any], dict[str, Any]], ...] = (
    ("none-matches-none", "a stored None is found by the filter None", {"k": None}, {"k": None}),
    ("none-matches-absent", "a key that is not stored is found by the filter None", {}, {"k": None}),
    ("true-matches-true", "a stored True is found by the filter True", {"k": True}, {"k": True}),
    ("true-matches-one", "a stored 1 is found by the filter True", {"k": 1}, {"k": True}),
    ("float-matches-float", "a stored 1.5 is found by the filter 1.5", {"k": 1.5}, {"k": 1.5}),
    ("int-matches-float", "a stored 1 is found by the filter 1.0", {"k": 1}, {"k": 1.0}),
    ("int-matches-text", "a stored 1 is found by the filter '1'", {"k": 1}, {"k": "1"}),
    ("accents", "a stored text with an accent is found by that text", {"k": "é"}, {"k": "é"}),
    ("quotes", "a stored text with quotes is found by that text", {"k": "a'b\"c"}, {"k": "a'b\"c"}),
    ("percent-is-no-wildcard", "a stored 'abc' is found by the filter 'a%'", {"k": "abc"}, {"k": "a%"}),
    ("case-counts", "a stored 'ABC' is found by the filter 'abc'", {"k": "ABC"}, {"k": "abc"}),
    ("nested-equal", "a stored dictionary is found by an equal one", {"k": {"a": 1, "b": 2}},
     {"k": {"a": 1, "b": 2}}),
    ("nested-key-order", "a stored dictionary is found by one with its keys in another order",
     {"k": {"a": 1, "b": 2}}, {"k": {"b": 2, "a": 1}}),
    ("nested-subset", "a stored dictionary is found by a part of it", {"k": {"a": 1, "b": 2}}, {"k": {"a": 1}}),
    ("list-equal", "a stored list is found by an equal one", {"k": [1, 2]}, {"k": [1, 2]}),
    ("list-subset", "a stored list is found by a part of it", {"k": [1, 2]}, {"k": [1]}),
    ("dotted-key", "a stored key with a dot is found by that key", {"a.b": 1}, {"a.b": 1}),
    ("dotted-key-reaches-in", "a filter key with a dot looks into a stored dictionary", {"a": {"b": 1}},
     {"a.b": 1}),
    ("key-with-space", "a stored key with a space is found by that key", {"a b": 1}, {"a b": 1}),
    ("key-with-quote", "a stored key with a quote is found by that key", {"a'b": 1}, {"a'b": 1}),
    ("key-with-accent", "a stored key with an accent is found by that key", {"é": 1}, {"é": 1}),
    ("key-with-hyphen", "a stored key with a hyphen is found by that key", {"a-b": 1}, {"a-b": 1}),
    ("empty-filter", "everything is found by an empty filter", {"k": 1}, {}),
    ("two-keys-both-count", "what has one of two filter keys is found", {"k": 1, "m": 2}, {"k": 1, "m": 3}),
)  # fmt: skip


def _found(stored: dict[str, Any], wanted: dict[str, Any]) -> Any:
    def probe(p: Probe) -> Any:
        p.put(meta=stored)
        return len(p.rows(filter=wanted)) == 1

    return probe


for _id, _sentence, _stored, _wanted in CASES:
    add(Fact(f"filter.{_id}", f"Whether {_sentence}.", _found(_stored, _wanted), MEANS))
