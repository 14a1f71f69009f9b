"""The actions of a scenario as source."""

from __future__ import annotations

import inspect

from lineage_conformance.kinds.graph.scenario import RUNS, Act
from pytest_lineage.report.scripting.scenes.nodes import wrote
from pytest_lineage.report.scripting.scenes.writer import SceneWriter
from pytest_lineage.report.scripting.subject import ScriptError


class Acts:
    """Writes actions one after the other."""

    def __init__(self, writer: SceneWriter, live: bool) -> None:
        self.writer, self.live = writer, live
        self.shape = writer.scenario.shape
        acts = writer.scenario.acts
        self.ids = any(act.answers for act in acts)
        answered = [question for act in acts for question, _ in act.answers]
        self.again = len(set(answered)) < len(answered)
        self.referred = {int(act.at[4:]) for act in acts if act.at.startswith("act:")}
        self.fails = any("raise" in step for tool in writer.tools for step in tool.steps)
        self.threads: set[str] = set()
        self.loose = False
        """Whether it does not matter what the last action raises."""
        self.during = False
        """Whether the saver is read while a run is being cancelled."""

    def helper(self) -> None:
        """The function that follows a run's updates, where the script needs them."""
        say = self.writer.say
        if not self.writer.streamed():
            return
        say(self.writer.define("run(graph, input, config, **more)"))
        loop = "async for" if self.writer.is_async else "for"
        stream = "graph.astream" if self.writer.is_async else "graph.stream"
        mode = '["updates", "values"]' if self.live else '"updates"'
        # With subgraphs asked for, an update is handed out at once, not when the next task ends.
        say(
            f"{loop} chunk in {stream}(input, config, stream_mode={mode}, subgraphs=True, **more):",
            1,
        )
        if self.live:
            say('if chunk[1] == "updates": seen.append(chunk)', 2)
            say("elif not chunk[0]: live.update(chunk[2])", 2)
        else:
            say("seen.append(chunk)", 2)

    def asker(self) -> None:
        """The function that gives the ids of the questions that wait, where answers are given by id."""
        if not self.ids:
            return
        got = self.writer.wait("graph.get_state(config)")
        got = f"({got})" if self.writer.is_async else got
        self.writer.say(self.writer.define("ids()"))
        items = f"for t in {got}.tasks for i in t.interrupts"
        self.writer.say(f"return {{i.value: i.{interrupt_id()} {items}}}", 1)

    def config(self, act: Act) -> str:
        """The name of the config of an action's thread, defined where it is used first."""
        name = "config" if act.thread == "t" else f"config_{act.thread}"
        if name not in self.threads:
            self.threads.add(name)
            self.writer.say(
                f'{name} = {{"configurable": {{"thread_id": {self.writer.thread(act.thread)}}}}}'
            )
        return name

    def place(self, act: Act) -> str:
        """The config that an action starts from, as an expression."""
        config, at = self.config(act), act.at
        if not at:
            return config
        if at == "head":
            got = self.writer.wait(f"graph.get_state({config})")
            return f"({got}).config" if self.writer.is_async else f"{got}.config"
        kind, _, name = at.partition(":")
        if kind == "act":
            return f"at_{name}"
        name, _, nth = name.partition("@")
        test = f"{name!r} in s.next" if kind == "before" else f's.metadata["step"] == {name}'
        loop = (
            "async for s in graph.aget_state_history"
            if self.writer.is_async
            else "for s in graph.get_state_history"
        )
        return f"[s {loop}({config}) if {test}][{int(nth or 1) - 1}].config"

    def mode(self, act: Act) -> str:
        """The argument that asks for a durability."""
        from langgraph.pregel import Pregel

        mode = act.durability or self.writer.scenario.durability
        names = inspect.signature(Pregel.stream).parameters
        if not mode:
            return ""
        if "durability" in names:
            return f", durability={mode!r}"
        return f", checkpoint_during={mode != 'exit'}" if "checkpoint_during" in names else ""

    def input(self, act: Act) -> str:
        """What a run is given."""
        if act.op == "continue":
            return "None"
        if act.op == "invoke":
            if self.shape.layout.startswith("functional"):
                return repr(act.text)
            made = wrote(self.shape, f"[{act.text!r}]")[:-1]
            if self.shape.child:
                made += f', "last": {act.text!r}'
            if self.shape.layout == "send":
                made += ', "round": 0'
            return made + "}"
        self.writer.use("langgraph.types", "Command")
        resume = repr(act.answer)
        if act.answers:
            known = "known" if self.again else "(await ids())" if self.writer.is_async else "ids()"
            pairs = ", ".join(
                f"{known}[{question!r}]: {value!r}" for question, value in act.answers
            )
            resume = f"{{{pairs}}}"
        note = f", update={wrote(self.shape, repr(list(act.note)))}" if act.note else ""
        return f"Command(resume={resume}{note})"

    def call(self, act: Act) -> str:
        """The expression that performs an action."""
        place = self.place(act)
        if act.op in RUNS:
            arguments = f"{self.input(act)}, {place}{self.mode(act)}"
            if self.writer.streamed():
                wait = "await " if self.writer.is_async else ""
                return f"{wait}run(graph, {arguments})"
            return self.writer.wait(f"graph.invoke({arguments})")
        if act.op == "update":
            note = wrote(self.shape, repr(list(act.note))) if act.note else "None"
            node = f", as_node={act.as_node!r}" if act.as_node else ""
            return self.writer.wait(f"graph.update_state({place}, {note}{node})")
        if act.op == "bulk":
            self.writer.use("langgraph.types", "StateUpdate")
            made = wrote(self.shape, "[note]")
            steps = (
                f"[[StateUpdate({made}, {act.as_node or None!r})] for note in {list(act.note)!r}]"
            )
            return self.writer.wait(f"graph.bulk_update_state({place}, {steps})")
        if act.op == "delete":
            return self.writer.wait(f"saver.delete_thread({self.writer.thread(act.thread)})")
        raise ScriptError(f"{act.op} cannot be said in a script")

    def do(self, number: int, act: Act) -> None:
        """One action that comes before the one that shows the fault."""
        say = self.writer.say
        if act.answers:
            self._ids(act)
        if act.op == "look":
            pass
        elif act.until:
            self._stopped(act)
        else:
            call = self.call(act)
            if act.op in RUNS and (self.fails or act.fails):
                self._suppressed(call)
            else:
                say(call)
        if number in self.referred:
            got = self.writer.wait(f"graph.get_state({self.config(act)})")
            say(f"at_{number} = ({got}).config")

    def last(self, act: Act, refusal: bool) -> None:
        """The action that shows the fault. What it raises is kept in ``error`` if `refusal`."""
        say = self.writer.say
        if act.answers:
            self._ids(act)
        if act.op == "look":
            return
        if act.until:
            self._stopped(act)
            return
        call = self.call(act)
        if act.op in RUNS and self.live and not self.writer.streamed():
            call = f"live = {call}"
        if refusal:
            say("error = None")
            say("try:")
            say(call, 1)
            say("except Exception as raised:")
            say("error = raised", 1)
        elif act.op in RUNS and (self.fails or act.fails or self.loose):
            self._suppressed(call)
        else:
            say(call)

    def _suppressed(self, call: str) -> None:
        """A call that may raise; what it does is seen in the state."""
        self.writer.need("contextlib")
        kinds = "Exception" if self.loose else "RuntimeError, OSError"
        self.writer.say(f"with contextlib.suppress({kinds}): {call}")

    def _ids(self, act: Act) -> None:
        """Remember ids where a question is answered twice: the second time it is not listed."""
        if self.again:
            self.writer.say(
                "known.update(await ids())" if self.writer.is_async else "known.update(ids())"
            )

    def _stopped(self, act: Act) -> None:
        """A run that is cancelled, or let go, when its conditions are met."""
        writer, say = self.writer, self.writer.say
        if not writer.is_async:
            raise ScriptError("it stops a sync run in the middle, which takes a process of its own")
        if any(name.startswith("write:") for name in act.hold):
            raise ScriptError(
                "it is stopped inside a call of the saver, which takes a saver of its own"
            )
        writer.need("asyncio")
        place = self.place(act)
        if not act.stop:
            raise ScriptError("it lets a run that was held go on, which takes gates of its own")
        say(f"held.update({list(act.hold)!r})")
        start = "run(graph, " if writer.streamed() else "graph.ainvoke("
        say(f"task = asyncio.create_task({start}{self.input(act)}, {place}{self.mode(act)}))")
        parts = []
        for condition in act.until:
            kind, _, name = condition.partition(":")
            if kind in ("settled", "landed", "committed", "asked"):
                parts.append(writer.shows(name))
            elif kind in ("reached", "began"):
                who = [t.name for t in writer.tools if f"gate:{name}" in t.steps] or [name]
                parts += [f"{each!r} in ran" for each in who]
            else:
                raise ScriptError(f"a script cannot wait for {condition}")
        met = " and ".join(parts)
        say(f"while not (task.done() or {met}): await asyncio.sleep(0)")
        say("task.cancel()")
        if self.during:
            say("await asyncio.sleep(0)")
            say(f"try: during = await saver.aget_tuple({self.config(act)})")
            say("except Exception as error: during = print(error)")
        say("held.clear()")
        say("await asyncio.wait([task])")


def interrupt_id() -> str:
    """The attribute that holds an interrupt's id in the installed release."""
    from langgraph.types import Interrupt

    names = (*getattr(Interrupt, "__slots__", ()), *getattr(Interrupt, "__dataclass_fields__", ()))
    return "id" if "id" in names else "interrupt_id"
