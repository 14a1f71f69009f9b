"""The nodes of a scenario's graph as source: the state they share, and what the tools do."""

from __future__ import annotations

from lineage_conformance.graphs.shape import Shape, Tool
from pytest_lineage.report.scripting.scenes.writer import SceneWriter, listed
from pytest_lineage.report.scripting.subject import ScriptError


def state(writer: SceneWriter) -> None:
    """The state: only the channels that the scenario is about."""
    shape = writer.scenario.shape
    if shape.layout.startswith("functional"):
        return
    writer.need("operator")
    writer.use("typing", "Annotated", "TypedDict")
    writer.use("langgraph.graph", "StateGraph", "START")
    fields = ['"log": Annotated[list, operator.add]']
    if shape.child:
        fields.append('"last": str')
    if shape.layout == "send":
        fields.append('"round": int')
    if "cursor" in writer.kept:
        writer.use("langgraph.channels.untracked_value", "UntrackedValue")
        fields.append('"cursor": Annotated[str, UntrackedValue(str, guard=False)]')
    if "note" in writer.kept:
        writer.use("langgraph.channels.ephemeral_value", "EphemeralValue")
        fields.append('"note": Annotated[str, EphemeralValue(str, guard=False)]')
    if shape.delta:
        fields.append('"deltas": deltas')
    text = ", ".join(fields)
    if shape.delta:
        writer.use("langgraph.channels.delta", "DeltaChannel")
        writer.say("def extend(state, writes):")
        writer.say("return [*(state or []), *(item for write in writes for item in write)]", 1)
        if writer.migrates:
            writer.say("def build(deltas):")
            writer.depth = 1
        else:
            writer.say("deltas = Annotated[list, DeltaChannel(extend)]")
    writer.say(f'State = TypedDict("State", {{{text}}})')


def wrote(shape: Shape, items: str) -> str:
    """The update that adds items to the log."""
    return f'{{"log": {items}, "deltas": {items}}}' if shape.delta else f'{{"log": {items}}}'


def work(writer: SceneWriter) -> None:
    """The function that every tool is: what it does depends on the tool's name."""
    shape = writer.scenario.shape
    asks = any(tool.questions for tool in shape.tools)
    inner = any("subgraph" in tool.steps for tool in shape.tools)
    if inner:
        _inner(writer)
        return
    functional = shape.layout.startswith("functional")
    if shape.layout == "send":
        writer.begin("tools(call)")
        writer.say('name = call["name"]', 1)
    elif functional:
        writer.say(writer.define("work(name, state)"))
    else:
        writer.begin("work(name, state)")
    writer.say("ran.append(name)", 1)
    if asks:
        writer.say("said = []", 1)
    _cases(writer, writer.tools)
    text = "name"
    if shape.rounds > 1:
        writer.say('name += f"#{call[\'round\']}" if call["round"] > 1 else ""', 1)
    if asks:
        text = 'name + ("=" + "+".join(said) if said else "")'
    _returned(writer, text, functional)


def _returned(writer: SceneWriter, text: str, functional: bool) -> None:
    shape = writer.scenario.shape
    if functional:
        writer.say(f"return {text}", 1)
        return
    made = wrote(shape, f"[{text}]")
    aside = [t.name for t in shape.tools if any(s.startswith("goto:") for s in t.steps)]
    commands = [t.name for t in shape.tools if "command" in t.steps and t.name not in aside]
    if aside:
        writer.use("langgraph.types", "Command")
        writer.say(f'if name in {listed(aside)}: return Command(update={made}, goto="aside")', 1)
    if commands:
        writer.use("langgraph.types", "Command")
        writer.say(f"if name in {listed(commands)}: return Command(update={made})", 1)
    over = [t.name for t in shape.tools if "overwrite" in t.steps]
    if over:
        writer.use("langgraph.types", "Overwrite")
        writer.say(f"if name in {listed(over)}: return {wrote(shape, f'Overwrite([{text}])')}", 1)
    writer.say(f"return {made}", 1)


def _cases(writer: SceneWriter, tools: tuple[Tool, ...]) -> None:
    """What tools do before they return; those that do the same share their lines."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for tool in tools:
        returns = ("command", "goto", "overwrite")
        steps = tuple(s for s in tool.steps if not s.startswith(returns))
        groups.setdefault(steps, []).append(tool.name)
    for steps, names in groups.items():
        if not steps:
            continue
        deeper = 1
        if len(names) < len(tools):
            many = f"name in {listed(names)}" if len(names) > 1 else f"name == {names[0]!r}"
            writer.say(f"if {many}:", 1)
            deeper = 2
        for step in _steps(steps):
            _step(writer, step, deeper)


def _steps(steps: tuple[str, ...]) -> list[str]:
    """Steps with neighbouring ones of one kind put together: ``ask:2``, ``after:a,b``."""
    made: list[str] = []
    asked = 0
    for step in steps:
        kind, _, name = step.partition(":")
        if kind == "after" and made and made[-1].startswith("after:"):
            made[-1] += f",{name}"
        elif kind == "ask":
            asked += 1
            if made and made[-1].startswith("ask:"):
                made[-1] += f",{asked}"
            else:
                made.append(f"ask:{asked}")
        else:
            made.append(step)
    return made


def _step(writer: SceneWriter, step: str, deeper: int) -> None:
    kind, _, name = step.partition(":")
    if kind == "after":
        waits = " and ".join(writer.shows(each) for each in name.split(","))
        condition = f"not ({waits})" if " and " in waits else waits.replace(" in ", " not in ", 1)
        writer.say(f"{writer.until(condition)}  # until {name} is done", deeper)
    elif kind == "raise":
        test = f"if ran.count(name) <= {name}: " if name else ""
        writer.say(f'{test}raise RuntimeError(f"{{name}} fails")', deeper)
    elif kind == "ask":
        writer.use("langgraph.types", "interrupt")
        if "," in name:
            numbers = f"({name.replace(',', ', ')})"
            writer.say(f'said += [str(interrupt(f"{{name}}?{{n}}")) for n in {numbers}]', deeper)
        else:
            writer.say(f'said.append(str(interrupt(f"{{name}}?{name}")))', deeper)
    elif kind == "gate" and name in writer.held():
        stuck(writer, repr(name), deeper)


def stuck(writer: SceneWriter, name: str, deeper: int) -> None:
    """A line that hangs at a gate while it is held."""
    if not writer.is_async:
        raise ScriptError("it stops a sync run in the middle, which takes a process of its own")
    writer.need("asyncio")
    writer.say(f"if {name} in held: await asyncio.Event().wait()  # hangs here", deeper)


def _inner(writer: SceneWriter) -> None:
    """Tools that call a subgraph: its first node only runs, its second does the rest."""
    shape = writer.scenario.shape
    if len({tool.steps[0] for tool in shape.tools if tool.steps}) > 1 or shape.rounds > 1:
        raise ScriptError("tools with and without a subgraph would make it too long")
    writer.use("typing", "TypedDict")
    writer.say(writer.define("first(state)"))
    writer.say('ran.append(state["name"] + ".first")', 1)
    writer.begin("second(state)")
    writer.say('name, said = state["name"], []', 1)
    rest = tuple(
        Tool(t.name, t.steps[t.steps.index("subgraph") + 1 :])
        for t in shape.tools
        if "subgraph" in t.steps
    )
    _cases(writer, rest)
    writer.say('return {"said": name + ("=" + "+".join(said) if said else "")}', 1)
    writer.say('inner = StateGraph(TypedDict("Inner", {"name": str, "said": str}))')
    writer.say("inner.add_node(first)")
    writer.say("inner.add_node(second)")
    writer.say('inner.add_edge(START, "first")')
    writer.say('inner.add_edge("first", "second")')
    writer.say("inner = inner.compile()")
    if shape.layout == "send":
        writer.begin("tools(call)")
        writer.say('name = call["name"]', 1)
    else:
        writer.begin("work(name, state)")
    writer.say("ran.append(name)", 1)
    plain = [t.name for t in shape.tools if "subgraph" not in t.steps]
    if plain:
        writer.say(f"if name in {listed(plain)}: return {wrote(shape, '[name]')}", 1)
    call = writer.wait('inner.invoke({"name": name})')
    got = f'({call})["said"]' if writer.is_async else f'{call}["said"]'
    writer.say(f"return {wrote(shape, f'[{got}]')}", 1)
