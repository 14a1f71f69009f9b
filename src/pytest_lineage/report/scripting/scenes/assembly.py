"""A whole script for a broken graph law."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from lineage_conformance.kinds.graph.scenario import Act, Scenario
from pytest_lineage.report.scripting.openings import Opening
from pytest_lineage.report.scripting.scenes import joining, nodes
from pytest_lineage.report.scripting.scenes.acts import Acts
from pytest_lineage.report.scripting.scenes.asserts import LIVE, Check
from pytest_lineage.report.scripting.scenes.writer import SceneWriter
from pytest_lineage.report.scripting.subject import ScriptError
from pytest_lineage.report.scripting.writer import rows


@dataclasses.dataclass(frozen=True)
class BrokenScene:
    """What a graph script is about: the law, the face, the scenario, and the first difference."""

    law: str
    level: str
    sentence: str
    face: str
    scenario: Scenario
    difference: Mapping[str, Any]

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> BrokenScene:
        """Read a row of a report. Raises `ScriptError` for one without a difference or of another format."""
        evidence = row["evidence"]
        if not evidence.get("differences"):
            raise ScriptError(
                f"{row['law']}[{row['face']}] left no difference that a script can show"
            )
        try:
            scenario = Scenario.from_json(evidence["program"])
        except ValueError as error:
            raise ScriptError(f"the scenario of {row['law']} cannot be read: {error}") from None
        return cls(
            str(row["law"]), str(row["level"]), str(row.get("sentence", "")), str(row["face"]), scenario,
            evidence["differences"][0],
        )  # fmt: skip


def scene_script(what: BrokenScene, made: Opening) -> str:
    """The script. Raises `ScriptError` with the reason where there can be none."""
    try:
        return _text(what, made)
    except ScriptError as error:
        raise ScriptError(f"{what.law}: {error}") from None


def _text(what: BrokenScene, made: Opening) -> str:
    index = what.difference["op"]
    acts = what.scenario.acts
    if not isinstance(index, int) or not 0 <= index < len(acts):
        raise ScriptError(f"there is no action {index + 1 if isinstance(index, int) else index}")
    if any(act.stop == "crash" for act in acts[: index + 1]):
        raise ScriptError(
            "a process ends in the middle of a run, which a script cannot do to itself"
        )
    slow = {
        name.partition(":")[2] for act in acts for name in act.hold if name.startswith("write:")
    }
    case = dataclasses.replace(what.scenario, acts=tuple(map(_let_go, acts[: index + 1])))
    writer = SceneWriter(made, what.face == "async" or made.is_async, scenario=case)
    writer.migrates = what.law == "graph_delta.migration"
    if writer.migrates:
        writer.builder = "build(Annotated[list, operator.add])"
    field = str(what.difference["at"]).partition(":")[2]
    does = Acts(writer, field in LIVE)
    if field == "stored":
        writer.kept = tuple(what.difference["got"])
    _head(writer, case, does)
    head, writer.lines = writer.lines, []
    _body(writer, what, case, does, sorted(slow))
    title = f"# {what.law} ({what.level}): {what.sentence}"
    return writer.text(title, rows(head), rows(writer.lines))


def _head(writer: SceneWriter, case: Scenario, does: Acts) -> None:
    """What stands before the saver is opened: state, tools, graph."""
    lists = "ran"
    values = "[]"
    if writer.streamed():
        lists, values = "ran, seen", "[], []"
    writer.say(f"{lists} = {values}")
    if writer.held():
        writer.say("held = set()")
    if does.again:
        writer.say("known = {}")
    if does.live and writer.streamed():
        writer.say("live = {}")
    nodes.work(writer)
    nodes.state(writer)
    joining.graph(writer)
    if writer.migrates:
        writer.say("return builder")
        writer.depth = 0
    does.helper()


def _let_go(act: Act) -> Act:
    """The action without a hold on writes: a slow saver says the same."""
    only = act.hold and all(name.startswith("write:") for name in act.hold) and not act.stop
    return dataclasses.replace(act, hold=(), until=()) if only else act


def _body(
    writer: SceneWriter, what: BrokenScene, case: Scenario, does: Acts, slow: list[str]
) -> None:
    """What is done with the graph, from opening the saver on."""
    if writer.is_async:
        writer.need("asyncio")
        writer.say("async def main():")
        writer.depth = 1
    writer.open("saver")
    _watch(writer, case, slow)
    joining.compiled(writer)
    if case.acts:
        does.config(case.acts[0])
    does.asker()
    for number, act in enumerate(case.acts[:-1]):
        if act.op == "reopen":
            writer.open("saver", first=False)
            joining.compiled(writer)
        else:
            does.do(number, act)
        if writer.migrates and number == 0:
            writer.builder = "build(Annotated[list, DeltaChannel(extend)])"
            joining.compiled(writer)
    Check(writer, does, what.difference).add(case.acts[-1])
    writer.say('print("PASS")')


def _watch(writer: SceneWriter, case: Scenario, slow: list[str]) -> None:
    """A saver that refuses a tool's write once, or that is slow to store it."""
    say = writer.say
    refused = [name for act in case.acts for name in act.fails]
    for step in [name.partition(":")[2] for name in writer.held() if name.startswith("put:")]:
        writer.need("functools")
        say("put = saver.aput")
        say("@functools.wraps(put)")
        say("async def stuck(config, checkpoint, metadata, *args):")
        say(f'if metadata["step"] == {step} and held:', 1)
        say(f'ran.append("put:{step}")', 2)
        say("await asyncio.Event().wait()", 2)
        say("return await put(config, checkpoint, metadata, *args)", 1)
        say("saver.aput = stuck")
    if not refused and not slow:
        return
    if slow and not writer.is_async:
        raise ScriptError("it holds a write of a sync run, which takes a thread of its own")
    writer.need("functools")
    half = "a" if writer.is_async else ""
    wait = "await " if writer.is_async else ""
    found = f'("log", ["{[*refused, *slow][0]}"]) in [*writes]'
    say(f"put_writes, calls = saver.{half}put_writes, []")
    say("@functools.wraps(put_writes)")
    say(writer.define("watched(config, writes, *args, **kwargs)"))
    if refused:
        say(f"if {found} and not calls:", 1)
        say('calls.append("refused")', 2)
        say('raise OSError("the disk is full")', 2)
        say(f"{wait}put_writes(config, writes, *args, **kwargs)", 1)
        say(f"saver.{half}put_writes = watched")
        return
    say(f"for _ in range(50 if {found} else 0): await asyncio.sleep(0)  # a slow store", 1)
    say("await put_writes(config, writes, *args, **kwargs)", 1)
    say('calls.append(("writes", config["configurable"]["checkpoint_id"]))', 1)
    say("put = saver.aput")
    say("@functools.wraps(put)")
    say("async def noted(config, *args, **kwargs):")
    say("made = await put(config, *args, **kwargs)", 1)
    say('calls.append(("put", config["configurable"].get("checkpoint_id")))', 1)
    say("return made", 1)
    say("saver.aput, saver.aput_writes = noted, watched")
