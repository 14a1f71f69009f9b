"""How the nodes of a scenario's graph are joined and compiled, as source."""

from __future__ import annotations

import inspect

from pytest_lineage.report.scripting.scenes.nodes import stuck, wrote
from pytest_lineage.report.scripting.scenes.writer import SceneWriter, listed


def graph(writer: SceneWriter) -> None:
    """The builder with its nodes and edges, called ``builder``."""
    shape = writer.scenario.shape
    if shape.layout.startswith("functional"):
        _functional(writer)
        return
    schemas = _schemas(writer) if shape.child else ""
    writer.say(f"builder = StateGraph(State{schemas})")
    if shape.layout == "send":
        _send(writer)
    else:
        _edges(writer)


def _add(writer: SceneWriter, node: str, function: str) -> None:
    writer.say(f'builder.add_node("{node}", {function})')


def _pass(writer: SceneWriter, name: str, made: str) -> str:
    """The function of a node that is no tool; one with a name of its own where a run stops in it."""
    watched = [text for act in writer.scenario.acts for text in (*act.hold, *act.until)]
    if not any(text in (name, f"reached:{name}") for text in watched):
        return f"lambda state: {made}"
    writer.say(writer.define(f"{name}(state)"))
    writer.say(f'ran.append("{name}")', 1)
    stuck(writer, repr(name), 1)
    writer.say(f"return {made}", 1)
    return name


def _send(writer: SceneWriter) -> None:
    shape = writer.scenario.shape
    writer.use("langgraph.graph", "END")
    writer.use("langgraph.types", "Send")
    payload = '{"name": n, "round": s["round"]}' if shape.rounds > 1 else '{"name": n}'
    names = listed(t.name for t in shape.tools)
    send = f'[Send("tools", {payload}) for n in {names}] if s["round"] <= {shape.rounds} else END'
    model = f'{{"round": state.get("round", 0) + 1{_cursor(writer)}}}'
    model = _pass(writer, "model", model)
    review = _pass(writer, "review", '{"round": state["round"]}')
    _add(writer, "model", model)
    _add(writer, "review", review)
    writer.say('builder.add_node("tools", tools)')
    pairs = '((START, "model"), ("model", "review"), ("tools", "model"))'
    writer.say(f"for one, two in {pairs}: builder.add_edge(one, two)")
    writer.say(f'builder.add_conditional_edges("review", lambda s: {send})')
    if any(step.startswith("goto:") for tool in shape.tools for step in tool.steps):
        _add(writer, "aside", f"lambda state: {wrote(shape, '[' + repr('aside') + ']')}")


def _cursor(writer: SceneWriter) -> str:
    return "".join(f', "{name}": "model"' for name in writer.kept)


def _edges(writer: SceneWriter) -> None:
    shape = writer.scenario.shape
    writer.need("functools")
    names = [tool.name for tool in shape.tools]
    special = [n for n in names if n in (*shape.cached, *shape.handled)]
    usual = [n for n in names if n not in special]
    if usual:
        loop = f"for name in {listed(usual)}: "
        writer.say(f"{loop}builder.add_node(name, functools.partial(work, name))")
    for name in special:
        more = ""
        if name in shape.cached:
            writer.use("langgraph.types", "CachePolicy")
            more += ', cache_policy=CachePolicy(key_func=lambda state: "same")'
        if name in shape.handled:
            handled = f"{name}.handled"
            writer.say(f"def handled(state): ran.append({handled!r})")
            more += ", error_handler=handled"
        writer.say(f'builder.add_node("{name}", functools.partial(work, "{name}"){more})')
    if shape.layout == "line":
        pairs = list(zip(["START", *map(repr, names)], map(repr, names), strict=False))
        joined = "".join(f"({one}, {two}), " for one, two in pairs).rstrip()
        writer.say(f"for one, two in ({joined}): builder.add_edge(one, two)")
        return
    writer.say(f"for name in {listed(names)}: builder.add_edge(START, name)")
    if shape.layout == "nested":
        writer.use("langgraph.types", "Send")
        said = wrote(shape, '[s["name"] + ".work"]')
        writer.say(f'builder.add_node("work", lambda s: {said})')
        writer.say(f"for name in {listed(names)}:")
        writer.say(
            'packet = functools.partial(lambda name, state: [Send("work", {"name": name})], name)',
            1,
        )
        writer.say('builder.add_conditional_edges(name, packet, ["work"])', 1)
    elif shape.join:
        tail = _pass(writer, "tail", wrote(shape, "['tail']"))
        _add(writer, "tail", tail)
        writer.say(f'builder.add_edge({names!r}, "tail")')


def _schemas(writer: SceneWriter) -> str:
    """What a child takes from its parent and gives back."""
    from langgraph.graph import StateGraph

    names = inspect.signature(StateGraph.__init__).parameters
    new = "input_schema" in names
    given, made = ("input_schema", "output_schema") if new else ("input", "output")
    log = '"log": Annotated[list, operator.add]'
    if writer.scenario.shape.delta:
        log += ', "deltas": deltas'
    writer.say('In = TypedDict("In", {"last": str})')
    writer.say(f'Out = TypedDict("Out", {{{log}}})')
    return f", {given}=In, {made}=Out"


def _functional(writer: SceneWriter) -> None:
    shape = writer.scenario.shape
    writer.use("langgraph.func", "entrypoint", "task")
    for tool in shape.tools:
        writer.say("@task")
        writer.begin(f"{tool.name}(text)")
        wait = "await " if writer.is_async else ""
        writer.say(f'return {wait}work("{tool.name}", text)', 1)
    wait = "await " if writer.is_async else ""
    end = "" if writer.is_async else ".result()"
    names = ", ".join(tool.name for tool in shape.tools)
    writer.begin("flow(text)")
    if shape.layout == "functional-line":
        one_by_one = ", ".join(f"{wait}{tool.name}(text){end}" for tool in shape.tools)
        writer.say(f"return [{one_by_one}]", 1)
    else:
        started = f"[start(text) for start in ({names},)]"
        if writer.is_async:
            writer.need("asyncio")
            writer.say(f"return list(await asyncio.gather(*{started}))", 1)
        else:
            writer.say(f"return [future.result() for future in {started}]", 1)


def compiled(writer: SceneWriter) -> None:
    """The lines that make ``graph`` of the builder and ``saver``."""
    shape = writer.scenario.shape
    if shape.layout.startswith("functional"):
        writer.say("graph = entrypoint(checkpointer=saver)(flow)")
        return
    more = f", interrupt_before={list(shape.before)!r}" if shape.before else ""
    if shape.cached:
        writer.use("langgraph.cache.memory", "InMemoryCache")
        more += ", cache=InMemoryCache()"
    if not shape.child:
        writer.say(f"graph = {writer.builder}.compile(checkpointer=saver{more})")
        return
    own = "checkpointer=True" if shape.child == "own" else ""
    tail = wrote(shape, "['tail']")
    writer.say("parent = StateGraph(State)")
    writer.say(f'parent.add_node("sub", builder.compile({(own + more).lstrip(", ")}))')
    writer.say(f'parent.add_node("tail", lambda state: {tail})')
    writer.say('parent.add_edge(START, "sub")')
    writer.say('parent.add_edge("sub", "tail")')
    writer.say("graph = parent.compile(checkpointer=saver)")
