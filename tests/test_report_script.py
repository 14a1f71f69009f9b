"""Printed scripts import nothing of ours, fail on the fault and pass on a sound saver."""

from __future__ import annotations

import ast
import dataclasses
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from lineage_conformance import contract
from lineage_conformance import law as laws
from lineage_conformance.handles import FACES, Face, Handle, Loop
from lineage_conformance.judge import Judge
from lineage_conformance.kinds.saver.program import Program
from lineage_conformance.law import Verdict
from lineage_conformance.outcome import Outcome
from lineage_conformance.runner import Stores
from lineage_reference.saver import Space
from pytest_lineage.report.script import Opening, ScriptError, opening, script
from pytest_lineage.report.scripting.literals import broken, expression, literal
from pytest_lineage.targets import builtin
from tests.golden import samples
from tests.mutants import kit
from tests.test_report_terminal import golden

MUTANTS = kit.load()
STRICT = ("StrictSaver", "lineage_reference.saver")


class FreshJudge(Judge):
    """Judges every program on a store of its own, so that a program shows its fault by itself."""

    def run(self, *args: Any) -> Any:
        self.stores.renew()
        return super().run(*args)


def judged(mutant: kit.Mutant, face: Face) -> Outcome:
    loop = Loop()

    def opener(key: int) -> Handle:
        return Handle(mutant.make(Space.named(f"{id(loop)}-{key}")), loop)

    stores = Stores(opener, lambda key: Space.forget(f"{id(loop)}-{key}"))
    try:
        with mutant.around():
            return FreshJudge(stores).judge(laws.get(mutant.kills), face)
    finally:
        stores.close()
        loop.close()


OLD = contract.unmet("langgraph-checkpoint>=4.0")
"""Why this is an old environment, whose own faults a script shows as well; None in a new one."""


def row_of(mutant: kit.Mutant, face: Face) -> dict[str, Any]:
    law = laws.get(mutant.kills)
    if reason := law.not_applicable():
        pytest.skip(reason)
    if (
        OLD
        and judged(dataclasses.replace(mutant, make=kit.StrictSaver), face).verdict
        is Verdict.BROKEN
    ):
        pytest.skip("what is installed here breaks the law by itself")
    outcome = judged(mutant, face)
    if not outcome.examples:
        pytest.skip("what is installed here cannot make the values")
    # What LangGraph's own saver shows too is `engine`; a script shows it all the same.
    assert outcome.verdict in (Verdict.BROKEN, Verdict.ENGINE)
    return samples.row(
        law.id, face, level=law.level.value, sentence=law.sentence, evidence=outcome.evidence()
    )


def printed(row: dict[str, Any], name: str, module: str) -> str:
    imports = (f"from {module} import {name}", "from lineage_reference.saver import Space")
    return script(row, Opening(f'{name}(Space.named("repro"))', imports))


def run(text: str) -> str:
    """Run a script in a module of its own; what it ended with."""
    Space.forget("repro")
    module = types.ModuleType("printed_script")
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, module.__name__, "exec"), module.__dict__)
    except SystemExit as error:
        return "PASS" if not error.code else f"exit {error.code}"
    except AssertionError:
        return "FAIL"
    finally:
        sys.modules.pop(module.__name__)
    return "PASS"


def check_form(text: str) -> None:
    lines = text.splitlines()
    rows = [
        (node.lineno, node.col_offset)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.stmt)
    ]
    assert len({line for line, _ in rows}) == len(rows), "two statements on one row"
    assert max(map(len, lines)) <= 120
    assert text.isascii()
    ast.parse(text)
    ours = ("lineage_conformance", "pytest_lineage")
    assert not any(f"import {name}" in text or f"from {name}" in text for name in ours)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m.kills}-{m.name}")
def test_script_fails_on_the_mutant_and_passes_on_the_strict_saver(mutant: kit.Mutant) -> None:
    row = row_of(mutant, mutant.face)
    text = printed(row, mutant.make.__qualname__, mutant.make.__module__)
    check_form(text)
    with mutant.around():
        assert run(text) == "FAIL", text
    assert run(printed(row, *STRICT)) == "PASS", text


OTHER_FACES = [
    pytest.param(mutant, face, id=f"{mutant.kills}-{mutant.name}-{face}")
    for number, mutant in enumerate(MUTANTS)
    # A mutant of concurrency tells a worker thread by its name, which an async script has none of.
    if laws.get(mutant.kills).group != "concurrency"
    for face in (FACES[1 + number % 3],)
]


@pytest.mark.parametrize(("mutant", "face"), OTHER_FACES)
def test_script_works_on_the_other_faces(mutant: kit.Mutant, face: Face) -> None:
    row = row_of(mutant, face)
    text = printed(row, mutant.make.__qualname__, mutant.make.__module__)
    check_form(text)
    assert "async def main():" in text
    with mutant.around():
        assert run(text) == "FAIL", text
    assert run(printed(row, *STRICT)) == "PASS", text


def execute(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)


def forks(face: str = "sync", **fields: Any) -> dict[str, Any]:
    found = samples.evidence(samples.FORK, (3, "get:channel_values.a", "left", "right"))
    return samples.row("fork.siblings-keep-their-values", face, evidence=found, **fields)


@pytest.mark.parametrize("target", ["memory", "sqlite", "sqlite-async", "reference"])
@pytest.mark.parametrize("face", ["sync", "async->sync"])
def test_script_of_a_built_in_target_passes_as_a_program(target: str, face: str) -> None:
    if "sqlite" in target:
        pytest.importorskip("langgraph.checkpoint.sqlite")
        if OLD:
            pytest.skip(OLD)
    if target == "sqlite" and face != "sync":
        pytest.skip("SqliteSaver has no async half")
    text = script(forks(face), target)
    done = execute(text)
    assert (done.returncode, done.stdout) == (0, "PASS\n"), f"{text}\n{done.stderr}"


def test_script_of_a_fault_ends_with_1() -> None:
    row = forks()
    row["evidence"]["differences"][0]["expected"] = "wrong"
    row["evidence"]["program"]["ops"][1]["set"]["a"] = "wrong"
    text = script(row, "memory").replace("cp(2, {'a': 'wrong'}", "cp(2, {'a': 'right'}")
    done = execute(text)
    assert done.returncode == 1
    assert "AssertionError: expected 'wrong', got 'right'" in done.stderr


def test_script_of_a_hang_ends_by_itself_with_1() -> None:
    ops = [{"op": "put", "id": 1}, {"op": "get", "id": 1}]
    row = samples.row(
        "put.is-readable", "sync", verdict="hangs",
        evidence=samples.evidence(ops, (1, "get:raises", "an answer", "no answer")),
    )  # fmt: skip
    setup = Opening(
        "Stuck()",
        ("from lineage_reference.saver import StrictSaver", "import threading"),
        (
            "class Stuck(StrictSaver):",
            "    def get_tuple(self, config): threading.Event().wait(60)",
        ),
    )
    text = script(row, setup).replace("dump_traceback_later(10,", "dump_traceback_later(1,")
    done = execute(text)
    assert done.returncode == 1
    assert "get_tuple" in done.stderr


@pytest.mark.parametrize("name", builtin.NAMES)
def test_every_built_in_target_has_an_opening(name: str) -> None:
    for face in ("sync", "async"):
        text = script(forks(face), name)
        check_form(text)


@pytest.mark.skipif(OLD is not None, reason="the checkpoint record has other fields")
def test_golden() -> None:
    found = samples.evidence(samples.FORK, (3, "get:channel_values.a", "left", "right"))
    row = {**samples.broken()["laws"][8], "evidence": found}
    golden("script-memory.txt", script(row, "memory").rstrip("\n"))
    row = {**row, "face": "sync->async"}
    golden("script-postgres-async.txt", script(row, "postgres-async").rstrip("\n"))


def plain(store: Any) -> None: ...


def generator() -> Iterator[None]:
    yield


async def agenerator(store: Any) -> Any:
    yield


async def coroutine() -> None: ...


@pytest.mark.parametrize(
    ("factory", "expected"),
    [
        (None, "saver = make()  # your saver"),
        (plain, "saver = make(store)  # your saver"),
        (generator, "with contextlib.contextmanager(make)() as saver:  # your saver"),
        (agenerator, "async with contextlib.asynccontextmanager(make)(store) as saver:  # your saver"),
        (coroutine, "saver = await make()  # your saver"),
        (contextmanager(generator), "with make() as saver:  # your saver"),
        (asynccontextmanager(agenerator), "async with make(store) as saver:  # your saver"),
    ],
)  # fmt: skip
def test_users_own_factory(factory: Callable[..., Any] | None, expected: str) -> None:
    text = script(forks(), "acme.savers:make", factory)
    check_form(text)
    assert "from acme.savers import make\n" in text
    assert expected in text
    assert ('store = types.SimpleNamespace(id="repro"' in text) == ("(store)" in expected)


def test_users_own_file_and_what_no_door_knows() -> None:
    text = script(forks(), "./lib/acme.py:Saver.make")
    assert text.index("sys.path.insert(0, 'lib')") < text.index("from acme import Saver")
    assert "saver = Saver.make()  # your saver" in text
    assert "import sys" not in script(forks(), "./acme.py:make")
    assert "from your_package import acme" in script(forks(), "acme")
    assert opening("memory").expression in ("InMemorySaver()", "MemorySaver()")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"evidence": None}, "left no program"),
        ({"evidence": {"program": {"format": 1, "graph": {}, "ops": []}, "differences": [{}]}}, "the scenario of"),
        ({"evidence": {"program": {"format": 9, "ops": []}, "differences": [{}]}}, "cannot be read"),
        ({"evidence": samples.evidence(samples.FORK, (3, "get:ts", {"~X": {}}, 1))}, "cannot be written down"),
        ({"evidence": samples.evidence(samples.FORK, (9, "get:ts", "a", "b"))}, "no operation 10"),
        ({"evidence": samples.evidence(samples.FORK, (0, "put:nonsense", "a", "b"))}, "not known"),
    ],
)  # fmt: skip
def test_what_no_script_can_show_is_said(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ScriptError, match=words):
        script({**forks(), **change}, "memory")


def test_a_long_program_has_a_line_for_each_operation() -> None:
    ops = [{"op": "put", "id": n, "set": {"a": n}} for n in range(1, 60)] + [{"op": "get", "id": 2}]
    row = samples.row("a.b", evidence=samples.evidence(ops, (59, "get:channel_values.a", 2, 1)))
    text = script(row, "reference")
    check_form(text)
    assert run(text) == "PASS"
    assert len(text.splitlines()) > 59


@pytest.mark.parametrize(
    ("tree", "source"),
    [
        ({"~float": "nan"}, "float('nan')"),
        ({"~float": "-0.0"}, "-0.0"),
        ({"~tuple": [1]}, "(1,)"),
        ({"~bytes": "00ff"}, r"b'\x00\xff'"),
        ({"~frozenset": [1]}, "frozenset([1])"),
        ({"~dict": [[1, "a"]]}, "{1: 'a'}"),
        ({"a": [None, True]}, "{'a': [None, True]}"),
        ("1f00000a-0000-6000-8000-0143d1a74506", "cid(10)"),
    ],
)
def test_values_as_source(tree: Any, source: str) -> None:
    assert expression(tree) == source


@pytest.mark.parametrize(
    "text", ["a", "x" * 300, "x" * 300 + "y" * 40 + "z", "ab" * 200, "\ud800\n'\"\u202e"]
)
def test_names_as_source(text: str) -> None:
    source = literal(text)
    assert eval(source) == text
    assert len(source) < 500
    line = f"value = call({source}, {source}, [{source}])"
    pieces = broken(line)
    scope: dict[str, Any] = {"call": lambda *args: args}
    exec("\n".join(pieces), scope)
    assert scope["value"] == (text, text, [text])


def test_programs_of_the_corpus_can_be_written_down() -> None:
    """Every first program of every law makes a script or a reason, never a crash."""
    told = 0
    for law in laws.all_laws("saver"):
        for case in list(law.corpus())[:2]:
            if not isinstance(case, Program) or law.not_applicable():
                continue
            last = len(case.ops) - 1
            difference = (last, f"{case.ops[last].name}:raises", "no exception", "Error: x")
            row = samples.row(law.id, evidence=samples.evidence(case.to_json()["ops"], difference))
            try:
                ast.parse(script(row, "memory"))
            except ScriptError:
                continue
            told += 1
    assert told > 50
