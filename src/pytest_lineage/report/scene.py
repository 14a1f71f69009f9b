"""A scenario of a graph law for people: the graph in one line, the actions in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lineage_conformance.graphs.shape import Shape, Tool
from lineage_conformance.kinds.graph.scenario import Act, Scenario

WORDS = {
    "refused": "whether the answer is refused",
    "ran-again": "tools that ran again although their results were stored",
    "began": "who began to run",
    "kept": "results that are kept as pending writes",
    "next": "the tasks that are next",
    "asked": "the questions that wait",
    "still-listed": "questions that are listed although they were answered",
    "not-in-next": "nodes that wait for an answer and are not in next",
    "id-is-of": "the question that an id belongs to",
    "log": "the log of the thread",
    "deltas": "the delta channel",
    "reloaded": "what is loaded, against what the run returned",
    "children": "the state of the subgraph",
    "stored": "untracked channels that were stored",
    "lost": "what the user added and is lost",
    "answers": "the answers that were used",
    "answered-without-asking": "what was answered without asking again",
    "taken-for-the-next-answer": "results that took one answer for two",
    "stored-after-their-checkpoint": "results that were stored after their checkpoint",
    "handler-ran-once": "whether the error handler ran once",
    "first-step-ran": "whether the subgraph's first step ran once",
    "raised": "whether the run says that it failed",
    "raises": "what the action raises",
    "error": "what the action raises",
    "messages": "the messages",
    "during": "what the saver answered while the run was being stopped",
}
"""What a difference is about, by its field."""


def scenario(data: Any) -> Scenario | None:
    """The scenario of a document's program; None where it is something else, or newer."""
    try:
        return Scenario.from_json(data) if isinstance(data, Mapping) and "graph" in data else None
    except (ValueError, TypeError, AttributeError, KeyError):
        return None


def graph(shape: Shape) -> str:
    """The graph in one line: ``model → tools[a, b*, c] → model``; a star marks a tool that does more than return."""
    names = [tool.name + ("*" if tool.steps else "") for tool in shape.tools]
    together = f"[{', '.join(names)}]"
    if shape.layout == "send":
        line = f"model → review → tools{together} → model"
        line += f" ({shape.rounds} rounds)" if shape.rounds > 1 else ""
    elif shape.layout == "line":
        line = " → ".join(names)
    elif shape.layout == "functional":
        line = f"entrypoint: tasks{together} together"
    elif shape.layout == "functional-line":
        line = f"entrypoint: tasks {' → '.join(names)}"
    else:
        line = together + (" → one Send each → work" if shape.layout == "nested" else "")
        line += " → tail" if shape.join else ""
    if shape.child:
        kept = ", checkpointer=True" if shape.child == "own" else ""
        line = f"sub({line}{kept}) → tail"
    return line


def tool(tool: Tool) -> str:
    """What a tool does, in words."""
    return f"{tool.name}*: " + ", then ".join(_step(step) for step in tool.steps)


def notes(shape: Shape) -> list[str]:
    """What is special about a graph, and what its tools do."""
    made = [tool(each) for each in shape.tools if each.steps]
    if shape.before:
        made.append(f"stops before {', '.join(shape.before)}")
    if shape.cached:
        made.append(f"results of {', '.join(shape.cached)} are cached")
    if shape.handled:
        made.append(f"errors of {', '.join(shape.handled)} have a handler")
    if shape.delta:
        made.append("the channel deltas is a delta channel, fed what log is fed")
    return made


def _step(step: str) -> str:
    kind, _, name = step.partition(":")
    known = {
        "gate": f"stops at gate {name}",
        "after": f"waits until {name} is stored",
        "raise": "raises" + (" once" if name == "1" else f" {name} times" if name else ""),
        "ask": "asks",
        "command": "returns a Command",
        "goto": f"goes to {name} too",
        "subgraph": "calls a subgraph",
    }
    return known.get(kind, step)


def act(act: Act) -> list[str]:
    """An action as lines: what is done, and under it where it is stopped."""
    at = f" at {_place(act.at)}" if act.at else ""
    thread = f", thread {act.thread}" if act.thread != "t" else ""
    mode = f", durability {act.durability}" if act.durability else ""
    note = f" with {', '.join(map(repr, act.note))} for the log" if act.note else ""
    node = f" as node {act.as_node}" if act.as_node else ""
    if act.op == "invoke":
        text = f"invoke({act.text!r}){at}"
    elif act.op == "continue":
        text = f"invoke(None){at}"
    elif act.op == "resume":
        given = ", ".join(f"{question} by id: {value!r}" for question, value in act.answers)
        text = f"answer {given or repr(act.answer)}{at}{note}"
    elif act.op in ("update", "bulk"):
        name = "update_state" if act.op == "update" else "bulk_update_state"
        text = f"{name}{at}{node}{note or ' with None'}"
    elif act.op == "look":
        text = f"get_state, subgraphs included{at}"
    elif act.op == "delete":
        text = "delete the thread"
    else:
        text = "drop everything and open the store again"
    lines = [text + thread + mode]
    if act.fails:
        lines.append(f"    the saver refuses the writes of {', '.join(act.fails)}")
    if act.hold:
        lines.append(f"    held: {', '.join(act.hold)}")
    if act.until:
        ends = {"cancel": "cancelled", "crash": "the process dies", "": "let go"}[act.stop]
        lines.append(f"    {ends} at: {', '.join(act.until)}")
    return lines


def _place(at: str) -> str:
    kind, _, name = at.partition(":")
    if kind == "before":
        name, _, nth = name.partition("@")
        return f"the checkpoint before {name}" + (f" (the {nth}. newest)" if nth else "")
    if kind == "act":
        return f"the checkpoint after action {int(name) + 1}"
    return "the head's own id" if kind == "head" else f"step {name}"


def field(at: str) -> str:
    """What a difference is about, in words; empty for one that is not a graph law's."""
    kind, _, path = at.partition(":")
    words = WORDS.get(path, "")
    return f"{words}, after {kind}" if words else ""
