"""The check at the end of a scenario's script: what was expected of the last action, and what is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lineage_conformance.kinds.graph.scenario import Act
from pytest_lineage.report.scripting.scenes.acts import Acts
from pytest_lineage.report.scripting.scenes.writer import SceneWriter
from pytest_lineage.report.scripting.subject import ScriptError

LIVE = ("reloaded", "answers", "answered-without-asking")
"""Differences about the values that a run returned."""

REFUSAL = ("refused", "raises", "raised")
"""Differences about what an action raises."""

STATE = (
    "log", "deltas", "next", "asked", "id-is-of", "not-in-next", "still-listed", "lost", "children",
    "tasks", "reloaded", "taken-for-the-next-answer",
)  # fmt: skip
"""Differences that are seen in the state of the thread."""

_LISTED = "sorted(i.value for t in state.tasks for i in t.interrupts)"


class Check:
    """Writes the last action and the assertion about one difference."""

    def __init__(self, writer: SceneWriter, acts: Acts, difference: Mapping[str, Any]) -> None:
        self.writer, self.acts = writer, acts
        self.field = str(difference["at"]).partition(":")[2].partition(".")[0]
        self.expected, self.got = plain(difference["expected"]), plain(difference["got"])
        self.functional = writer.scenario.shape.layout.startswith("functional")

    def add(self, act: Act) -> None:
        """Write the action and its check."""
        if self.field == "ran-again":
            self.writer.say("ran.clear()")
        if self.field == "id-is-of" and act.op == "resume":
            self.acts.loose = True
            got = self.writer.wait(f"graph.get_state({self.acts.config(act)})")
            self.writer.say(f"first = {got}")
        self.acts.during = self.field == "during"
        self.acts.last(act, self.field in REFUSAL)
        if self.field in STATE:
            place = self.acts.place(act) if act.op == "look" else self.acts.config(act)
            deep = ", subgraphs=True" if self.field == "children" else ""
            self.writer.say(f"state = {self.writer.wait(f'graph.get_state({place}{deep})')}")
        write = getattr(self, "_" + self.field.replace("-", "_"), None)
        if write is None:
            raise ScriptError(f"a script cannot show what is wrong about {self.field!r}")
        write(act)

    def _equal(self, found: str, expected: str) -> None:
        say = self.writer.say
        say(f"found, expected = {found}, {expected}")
        say('assert found == expected, f"expected {expected}, got {found}"')

    def _log(self, act: Act) -> None:
        if self.expected is False:
            self._equal("state.next == ()", "False")
        elif self.functional:
            self._equal("state.values", repr(self.expected[1:]))
        else:
            self._equal('state.values.get("log", [])', repr(self.expected))

    def _deltas(self, act: Act) -> None:
        self._equal('state.values.get("deltas", [])', repr(self.expected))

    def _next(self, act: Act) -> None:
        self._equal("sorted(state.next)", repr(sorted(self.expected)))

    def _tasks(self, act: Act) -> None:
        self._equal("sorted(t.name for t in state.tasks)", repr(self.expected))

    def _during(self, act: Act) -> None:
        self.writer.say('assert during, "the saver did not answer while a run was being cancelled"')

    def _asked(self, act: Act) -> None:
        self._equal(_LISTED, repr([q if isinstance(q, str) else q[0] for q in self.expected]))

    def _ran_again(self, act: Act) -> None:
        names = tuple(sorted(set(self.got) - set(self.expected)))
        self._equal(f"[name for name in ran if name in {names!r}]", "[]")

    def _began(self, act: Act) -> None:
        self._equal("ran", repr(self.expected))

    def _first_step_ran(self, act: Act) -> None:
        self._equal('ran.count("a.first")', "1")

    def _handler_ran_once(self, act: Act) -> None:
        name = f"{self.writer.scenario.shape.handled[0]}.handled"
        self._equal(f"ran.count({name!r})", "1")

    def _id_is_of(self, act: Act) -> None:
        from pytest_lineage.report.scripting.scenes.acts import interrupt_id

        say, states = self.writer.say, "(first, state)" if self.acts.loose else "(state,)"
        inside = f"for s in {states} for t in s.tasks for i in t.interrupts"
        say(f"pairs = {{(i.value, i.{interrupt_id()}) {inside}}}")
        say(
            'assert len({id for _, id in pairs}) == len(pairs), f"two questions have one id: {pairs}"'
        )

    def _not_in_next(self, act: Act) -> None:
        say = self.writer.say
        say("asked = [t.name for t in state.tasks if t.interrupts]")
        found = "[name for name in asked if state.next.count(name) < asked.count(name)]"
        self._equal(found, "[]")

    def _still_listed(self, act: Act) -> None:
        self._equal(f"[q for q in {_LISTED} if q in {tuple(self.got)!r}]", "[]")

    def _lost(self, act: Act) -> None:
        self._equal(f'[x for x in {self.got!r} if x not in state.values["log"]]', "[]")

    def _children(self, act: Act) -> None:
        say = self.writer.say
        say("child = state.tasks[0].state")
        made = '{"sub": {"log": child.values.get("log", []), "next": list(child.next)}}'
        self._equal(made, repr(self.expected))

    def _reloaded(self, act: Act) -> None:
        found = "state.values" if self.functional else 'state.values["log"]'
        live = "live" if self.functional else 'live["log"]'
        self._equal(found, live)

    def _answers(self, act: Act) -> None:
        self._equal('[x.split("=")[1] for x in live["log"] if "=" in x]', repr(self.expected))

    def _answered_without_asking(self, act: Act) -> None:
        self._equal('[x for x in live["log"] if "=" in x]', "[]")

    def _taken_for_the_next_answer(self, act: Act) -> None:
        self._equal('[x for x in state.values["log"] if x.count("!1") > 1]', "[]")

    def _refused(self, act: Act) -> None:
        self.writer.say('assert error, "an ambiguous answer was not refused"')

    def _raised(self, act: Act) -> None:
        self.writer.say('assert error, "the run did not say that its writes were refused"')

    def _raises(self, act: Act) -> None:
        self.writer.say('assert error is None, f"raised {error!r}"')

    def _kept(self, act: Act) -> None:
        got = self.writer.wait(f"saver.get_tuple({self.acts.config(act)})")
        channel = "__return__" if self.functional else "log"
        inside = "for name in [value]" if self.functional else "for name in value"
        self._equal(
            f"sorted(name for _, c, value in ({got}).pending_writes if c == {channel!r} {inside})",
            repr(sorted(self.expected)),
        )

    def _stored(self, act: Act) -> None:
        say, config = self.writer.say, self.acts.config(act)
        say(f"tup = {self.writer.wait(f'saver.get_tuple({config})')}")
        held = '[*tup.checkpoint["channel_values"], *(c for _, c, _ in tup.pending_writes)]'
        self._equal(f"[name for name in {held} if name in {tuple(self.got)!r}]", "[]")

    def _stored_after_their_checkpoint(self, act: Act) -> None:
        found = '[i for i, (what, id) in enumerate(calls) if what == "writes" and ("put", id) in calls[:i]]'
        self._equal(found, "[]")


def plain(tree: Any) -> Any:
    """A canonical tree of texts, lists and tuples as such."""
    if isinstance(tree, Mapping):
        if set(tree) == {"~tuple"}:
            return [plain(item) for item in tree["~tuple"]]
        return {key: plain(value) for key, value in tree.items()}
    return [plain(item) for item in tree] if isinstance(tree, list) else tree
