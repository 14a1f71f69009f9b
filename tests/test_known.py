"""Known failures: the file, what a run makes of it, and how it is edited."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from lineage_conformance import law as laws
from lineage_conformance.law import Law
from pytest_lineage.cli import init, main
from pytest_lineage.known import edit as known_edit
from pytest_lineage.known import file as known
from pytest_lineage.known import saved as failures
from pytest_lineage.known.file import Entry, KnownError
from pytest_lineage.known.ratchet import Ratchet
from pytest_lineage.known.saved import Saved
from pytest_lineage.run.rows import Row, TargetReport, exit_code
from tests.plugin_kit import Project
from tests.test_programs_on_disk import LAW, PROGRAM, SAVERS

TODAY = dt.date(2026, 6, 1)
FACES = ("sync", "async")
ENTRY = f"""
[[known]]
target = "acme"
law = "{LAW}"
kind = "bug"
reason = "writes are lost"
"""


def entry(**fields: Any) -> Entry:
    made: dict[str, Any] = {
        "target": "acme",
        "law": LAW,
        "kind": "bug",
        "reason": "writes are lost",
    }
    return Entry(**{**made, **fields})


def file(tmp_path: Path, text: str) -> Path:
    made = tmp_path / known.NAME
    made.write_text(text, encoding="utf-8")
    return made


def keep(tmp_path: Path, **fields: Any) -> str:
    """Save a program as `known add` does; its id."""
    made: dict[str, Any] = {
        "law": LAW,
        "program": PROGRAM,
        "target": "./savers.py:LosesWrites",
        "name": "acme",
    }
    saved = Saved(**{**made, **fields})
    failures.write([saved], tmp_path, failures.KEPT)
    return saved.id


# -- the file ----------------------------------------------------------------------------------------


def test_an_entry_is_read_with_its_line(tmp_path: Path) -> None:
    text = (
        '# mine\nsuite = "0.1.0"\n'
        + ENTRY
        + 'link = "https://x/1"\nuntil = 2027-06-30\nfaces = ["sync"]\n'
    )
    found = known.read(file(tmp_path, text))
    assert found.suite == "0.1.0"
    assert found.entries == [entry(link="https://x/1", until="2027-06-30", faces=("sync",), line=4)]
    assert found.entries[0].says() == "bug: writes are lost (https://x/1, until 2027-06-30)"


def test_files_of_old_versions_are_read() -> None:
    """Samples that every version so far could read; never change them, add to them."""
    kept = sorted((Path(__file__).parent / "samples").glob("lineage-known-*.toml"))
    assert kept
    for sample in kept:
        found = known.read(sample)
        assert [e.kind for e in found.entries] == list(known.KINDS)
        assert [e.until for e in found.entries] == ["2027-06-30", "2.0", "langgraph-checkpoint>=5"]


def test_the_file_that_init_writes_is_read(tmp_path: Path) -> None:
    text = init.KNOWN.format(name="acme", suite="0.1.0")
    assert known.read(file(tmp_path, text)).entries == []
    assert known.read(file(tmp_path, text)).suite == "0.1.0"
    example = "\n".join(line.removeprefix("# ") for line in text.splitlines()[5:])
    (found,) = known.read(file(tmp_path, example)).entries
    assert (found.target, found.kind, found.until) == ("acme", "bug", "2027-06-30")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[known]\n", "is no TOML"),
        (ENTRY + "color = 'red'\n", "has no 'color'"),
        (ENTRY + "lin = 'x'\n", "did you mean 'link'"),
        (ENTRY.replace('"bug"', '"feature"'), "kind 'feature' is none of bug"),
        (ENTRY.replace("writes are lost", " "), "needs 'reason'"),
        (ENTRY.replace('law = "', 'link = "'), "needs 'law'"),
        (ENTRY + "until = 'soon'\n", "until 'soon' is no date"),
        (ENTRY + "until = '2026-13-01'\n", "until '2026-13-01' is no date"),
        (ENTRY + "faces = 'sync'\n", "list of names"),
        (ENTRY + "link = 3\n", "must be text"),
        (ENTRY + ENTRY, "known already, see line 2"),
        ("[[knwon]]\n", "'knwon' means nothing"),
        ("known = 3\n", "tables"),
        ("known = [3]\n", "an entry is a table"),
        ("a=" + "[" * 5000, "is no TOML"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_its_line(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(KnownError, match=words) as raised:
        known.read(file(tmp_path, text))
    assert str(raised.value).startswith(str(tmp_path / known.NAME))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KnownError, match="cannot be read"):
        known.read(tmp_path / "absent.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    with pytest.raises(KnownError, match="byte 0"):
        known.read(tmp_path / "bytes.toml")


@pytest.mark.parametrize(
    ("until", "packages", "words"),
    [
        ("", {}, ""),
        ("2026-06-01", {}, ""),
        ("2026-05-31", {}, "was known until 2026-05-31"),
        ("1.4", {"acme-saver": "1.3.9"}, ""),
        ("1.4", {"acme-saver": "1.4.0"}, "installed is acme-saver 1.4.0"),
        ("1.4", {}, ""),
        ("langgraph-checkpoint>=99", {}, ""),
        ("langgraph-checkpoint>=1", {}, "was known until langgraph-checkpoint>=1"),
        ("no-such-package>=1", {}, ""),
    ],
)
def test_an_entry_ends(until: str, packages: dict[str, str], words: str) -> None:
    found = known.expired(entry(until=until), packages, TODAY)
    assert words in found
    assert bool(words) == bool(found)


# -- a run -------------------------------------------------------------------------------------------


class Run:
    """Stands for a target's worker: what it says about a law and about a program."""

    def __init__(self, judged: Mapping[str, str] = {}, replayed: Mapping[str, str] = {}) -> None:
        self.judged, self.replayed = judged, replayed
        self.asked: list[str] = []

    def judge(self, law: Law, face: str) -> Row:
        self.asked.append(f"judge {face}")
        return self._row(law, face, self.judged.get(face, "holds"))

    def replay(self, law: Law, face: str, program: Mapping[str, Any]) -> Row:
        assert program == PROGRAM
        self.asked.append(f"replay {face}")
        return self._row(law, face, self.replayed.get(face, "holds"))

    def _row(self, law: Law, face: str, verdict: str) -> Row:
        return Row(law.id, face, "acme", law.level.value, verdict, law.group, reason="as seen")


def verdicts(tmp_path: Path, text: str, run: Run, **about: Any) -> tuple[dict[str, Row], Ratchet]:
    ratchet = Ratchet(known.read(file(tmp_path, text)), TODAY)
    described = {"faces": list(FACES), **about}
    target = ratchet.of("acme", "./savers.py:make", described, run.judge, run.replay)
    return {face: target.judge(laws.get(LAW), face) for face in FACES}, ratchet


def told(rows: dict[str, Row]) -> list[str]:
    return [row.verdict for row in rows.values()]


def test_the_program_is_replayed_first_and_nothing_else_then(tmp_path: Path) -> None:
    text = ENTRY + f'program = "{keep(tmp_path)}"\n'
    run = Run(replayed={"sync": "broken", "async": "hangs"})
    rows, ratchet = verdicts(tmp_path, text, run)
    assert told(rows) == ["known", "known"]
    assert rows["sync"].reason == "bug: writes are lost; as seen"
    assert run.asked == ["replay sync", "replay async"]
    assert ratchet.finish(["acme"]) == []


def test_fixed_only_where_it_happens_on_no_face(tmp_path: Path) -> None:
    text = ENTRY + f'program = "{keep(tmp_path)}"\n'
    rows, _ = verdicts(tmp_path, text, Run())
    assert told(rows) == ["fixed", "fixed"]
    assert f"take {known.NAME}:2 out" in rows["sync"].reason
    rows, _ = verdicts(tmp_path, text, Run(replayed={"async": "broken"}))
    assert told(rows) == ["holds", "known"]


def test_an_entry_for_some_faces_is_fixed_on_each(tmp_path: Path) -> None:
    text = ENTRY + f'program = "{keep(tmp_path)}"\nfaces = ["sync", "async"]\n'
    rows, _ = verdicts(tmp_path, text, Run(replayed={"async": "broken"}))
    assert told(rows) == ["fixed", "known"]
    text = ENTRY + 'faces = ["async"]\n'
    rows, _ = verdicts(tmp_path, text, Run(judged={"sync": "broken", "async": "broken"}))
    assert told(rows) == ["broken", "known"]


def test_another_breach_of_the_same_law_is_new(tmp_path: Path) -> None:
    text = ENTRY + f'program = "{keep(tmp_path)}"\n'
    rows, _ = verdicts(tmp_path, text, Run(judged={"sync": "broken"}))
    assert told(rows) == ["broken", "fixed"]
    assert "not what lineage-known.toml:2 knows" in rows["sync"].reason


def test_an_entry_without_a_program_is_judged(tmp_path: Path) -> None:
    rows, _ = verdicts(tmp_path, ENTRY, Run(judged={"sync": "broken"}))
    assert told(rows) == ["known", "holds"]
    rows, _ = verdicts(tmp_path, ENTRY, Run())
    assert told(rows) == ["fixed", "fixed"]
    rows, _ = verdicts(
        tmp_path, ENTRY, Run(judged={"sync": "not-applicable", "async": "inconclusive"})
    )
    assert told(rows) == ["not-applicable", "inconclusive"]


def test_a_target_below_the_home_folder_is_found_by_its_name_in_reports(tmp_path: Path) -> None:
    name = f"{Path.home()}/savers.py:make"
    shown = failures.public(name)
    assert entry(target=shown).describes(name)
    saved = Saved(LAW, PROGRAM, name, name)
    (written,) = failures.write([saved], tmp_path)
    assert failures.read(written).id == saved.id == written.stem


def test_an_entry_may_name_the_target_as_it_was_typed(tmp_path: Path) -> None:
    text = ENTRY.replace('"acme"', '"./savers.py:make"')
    rows, ratchet = verdicts(tmp_path, text, Run(judged={"sync": "broken"}))
    assert told(rows) == ["known", "holds"]
    assert ratchet.finish(["acme"]) == []


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("until = 2026-05-31\n", "was known until 2026-05-31"),
        ('until = "2.0"\n', "installed is acme-saver 2.1"),
        ('program = "writes-00000000"\n', "there is no writes-00000000.json"),
        ('program = "../../x"\n', "there is no ../../x.json"),
        ('faces = ["sync->async"]\n', "the target has no face sync->async"),
    ],
)
def test_an_entry_that_is_stale_is_an_error_and_excuses_nothing(
    tmp_path: Path, more: str, words: str
) -> None:
    run = Run(judged={"sync": "broken"})
    about = {"versions": {"acme-saver": "2.1"}, "packages": ["acme-saver"]}
    rows, ratchet = verdicts(tmp_path, ENTRY + more, run, **about)
    assert told(rows) == ["broken", "holds"]
    (problem,) = ratchet.finish(["acme"])
    assert words in problem
    assert problem.startswith(f"{known.NAME}:2: {LAW} of acme ")


def test_an_entry_that_matches_nothing_is_an_error(tmp_path: Path) -> None:
    _, ratchet = verdicts(tmp_path, ENTRY.replace(LAW, "writes.round-tripp"), Run())
    (problem,) = ratchet.finish(["acme"])
    assert "matches nothing" in problem
    assert f"did you mean {LAW}" in problem
    _, ratchet = verdicts(tmp_path, ENTRY.replace('"acme"', '"acmee"'), Run())
    assert ratchet.finish(["acme"], narrowed=True) == []
    (problem,) = ratchet.finish(["acme"])
    assert "no target of this run is called 'acmee'; did you mean acme?" in problem
    for elsewhere in ("sqlite", "pkg.mod:make"):
        _, ratchet = verdicts(tmp_path, ENTRY.replace('"acme"', f'"{elsewhere}"'), Run())
        assert ratchet.finish(["acme"]) == []


def test_a_program_of_another_law_is_an_error(tmp_path: Path) -> None:
    id = keep(tmp_path, law="writes.exactly-once")
    _, ratchet = verdicts(tmp_path, ENTRY + f'program = "{id}"\n', Run())
    assert "is about writes.exactly-once" in ratchet.problems[0]


def test_laws_that_came_later_are_unreviewed_and_advisory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dataclasses

    monkeypatch.setitem(laws._REGISTRY, LAW, dataclasses.replace(laws.get(LAW), since="0.2.0"))
    run = Run(judged={"sync": "broken"})
    rows, ratchet = verdicts(tmp_path, 'suite = "0.1.0"\n', run)
    assert ratchet.unreviewed(laws.all_laws("saver")) == [LAW]
    assert rows["sync"].advisory == "new in 0.2.0 and not reviewed"
    report = TargetReport("acme", rows=list(rows.values()))
    assert exit_code([report]) == 0
    assert exit_code([report], fail_on="any") == 1
    for text in ('suite = "0.2"\n', ""):
        rows, ratchet = verdicts(tmp_path, text, run)
        assert ratchet.unreviewed(laws.all_laws("saver")) == []
        assert exit_code([TargetReport("acme", rows=list(rows.values()))]) == 1


@pytest.mark.parametrize(
    ("verdict", "codes"),
    [("broken", (1, 1, 0)), ("known", (0, 1, 0)), ("fixed", (1, 1, 0)), ("holds", (0, 0, 0))],
)
def test_what_fails_a_run(verdict: str, codes: tuple[int, ...]) -> None:
    rows = [
        Row(LAW, "sync", "acme", "MUST", verdict, "writes"),
        Row(LAW, "async", "acme", "MUST", "holds", "w"),
    ]
    report = TargetReport("acme", rows=rows)
    assert tuple(exit_code([report], fail_on=which) for which in known.FAIL_ON) == codes
    assert exit_code([report], fail_on="never", problems=["stale"]) == 2


# -- editing -----------------------------------------------------------------------------------------

OWNED = """\
# Our known failures. Ask Ada before adding.
suite = "0.1.0"  # reviewed in May

# this one is upstream's
[[known]]   # first
target = 'acme'
law = "writes.round-trip"
kind = "bug"
reason = '''
[[known]]
is only text here'''
until   =   2027-06-30

# and this one is ours
[[known]]
target = "acme"
law = "put.is-readable"
kind = "unsupported"
reason = "later"

# the end
"""


def test_adding_keeps_what_is_there(tmp_path: Path) -> None:
    path = file(tmp_path, OWNED.replace("[[known]]\nis only", "this is only"))
    before = path.read_text()
    hostile = 'quote " back \\ line\nreturn\r tab\t nul\x00 del\x7f \U0001f600 lone\ud800'
    known_edit.add(path, [entry(law="list.limit", reason=hostile, faces=("sync", "async"))])
    assert path.read_text(encoding="utf-8").startswith(before)
    added = known.read(path).entries[-1]
    assert added.reason == hostile.replace("\ud800", "\ufffd")
    assert added.faces == ("sync", "async")


def test_removing_takes_an_entry_with_its_own_comment(tmp_path: Path) -> None:
    text = OWNED.replace("[[known]]\nis only", "this is only")
    path = file(tmp_path, text)
    first, second = known.read(path).entries
    known_edit.remove(path, [first])
    left = path.read_text()
    assert left.splitlines()[:4] == [*OWNED.splitlines()[:3], "# and this one is ours"]
    assert "upstream" not in left
    assert left.endswith('reason = "later"\n\n# the end\n')
    path.write_text(text)
    known_edit.remove(path, [second])
    left = path.read_text()
    assert "this one is ours" not in left
    assert left.endswith("until   =   2027-06-30\n\n# the end\n")
    known_edit.remove(path, known.read(path).entries)
    assert known.read(path).entries == []
    assert path.read_text().startswith("# Our known failures. Ask Ada before adding.\n")


def test_a_file_that_cannot_be_changed_safely_is_left_alone(tmp_path: Path) -> None:
    path = file(tmp_path, OWNED)
    before = path.read_bytes()
    with pytest.raises(KnownError, match="by hand"):
        known_edit.remove(path, [known.read(path).entries[0]])
    inline = 'known = [{target = "a", law = "b.c", kind = "bug", reason = "r"}]\n'
    path.write_text(inline)
    for change in (known_edit.add, known_edit.remove):
        with pytest.raises(KnownError, match=r"by hand|no TOML"):
            change(path, [known.read(path).entries[0]])
    assert path.read_text() == inline
    path.write_bytes(before)


def test_line_ends_and_byte_order_marks_survive(tmp_path: Path) -> None:
    path = tmp_path / known.NAME
    path.write_bytes(b"\xef\xbb\xbf# ours\r\n" + ENTRY.replace("\n", "\r\n").encode())
    known_edit.add(path, [entry(law="list.limit")])
    data = path.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf# ours\r\n")
    assert b"\n" not in data.replace(b"\r\n", b"")
    known_edit.remove(path, known.read(path).entries[:1])
    assert [e.law for e in known.read(path).entries] == ["list.limit"]


def test_a_new_file_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / known.NAME
    known_edit.add(path, [entry()])
    assert path.read_text().startswith("# Known failures")
    known_edit.remove(path, known.read(path).entries)
    assert path.read_text() == known_edit.HEADER.format(suite=known.read(path).suite)


# -- the commands ------------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "savers.py").write_text(SAVERS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


KEEPS = """\
class LosesWrites(InMemorySaver):
    pass


class Unused(InMemorySaver):
"""
CHECK = ("check", "./savers.py:LosesWrites", "--laws", LAW, "--face", "sync", "--profile", "quick")


def test_the_life_of_a_known_failure(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = str(here / "run.jsonl")
    assert main([*CHECK, "--report", report]) == 1
    add = (
        "known",
        "add",
        "--from",
        report,
        "--kind",
        "bug",
        "--reason",
        "writes are lost",
        "--link",
        "https://x/1",
    )
    assert main(list(add)) == 0
    assert main(list(add)) == 0
    assert "is known already" in capsys.readouterr().err
    (made,) = known.read(here / known.NAME).entries
    assert (made.target, made.law) == ("./savers.py:LosesWrites", LAW)
    assert (here / ".lineage" / "known" / f"{made.program}.json").is_file()

    assert main([*CHECK, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["verdict"] for row in document["laws"]] == ["known"]
    assert document["known"]["problems"] == []
    assert main([*CHECK, "--fail-on", "any"]) == 1
    assert main(["known", "prune"]) == 0
    assert len(known.read(here / known.NAME).entries) == 1

    (here / "savers.py").write_text(SAVERS.replace("class LosesWrites(InMemorySaver):", KEEPS))
    assert main([*CHECK, "--report", report]) == 1
    assert "fixed" in capsys.readouterr().out
    assert main(["known", "prune", "--dry-run"]) == 0
    assert "would take out" in capsys.readouterr().out
    assert main(["known", "prune", "--from", report]) == 0
    assert known.read(here / known.NAME).entries == []
    assert not list((here / ".lineage" / "known").glob("*.json"))
    assert main([*CHECK]) == 0


def test_list_says_what_is_wrong(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file(here, ENTRY + "until = 2020-01-01\n" + ENTRY.replace('"acme"', '"other"'))
    assert main(["known", "list"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "was known until 2020-01-01" in out
    assert "2 known failures" in out
    assert main(["known", "list", "--format", "json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["known"]) == 2
    assert main(["known", "list", "--format", "markdown"]) == 1
    assert "| <code>other</code> |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["list", "--known", "absent.toml"], "cannot be read"),
        (["add", "--kind", "bug", "--reason", "x"], "name saved programs"),
        (["add", "writes-0", "--kind", "bug", "--reason", "x"], "no saved program"),
        (["add", "--from", "absent.jsonl", "--kind", "bug", "--reason", "x"], "cannot be read"),
        (["prune", "--known", "absent.toml"], "cannot be read"),
    ],
)
def test_wrong_usage_is_one_message(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["known", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_add_refuses_an_end_that_is_none(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    id = keep(here)
    arguments = ["known", "add", id, "--kind", "bug", "--reason", "x"]
    assert main([*arguments, "--until", "soon"]) == 2
    assert "is no date" in capsys.readouterr().err
    assert main([*arguments, "--reason", " "]) == 2
    assert not (here / known.NAME).exists()
    assert main([*arguments, "--until", "2099-01-01"]) == 0


def test_check_refuses_a_file_that_is_wrong(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file(here, ENTRY + "color = 1\n")
    assert main([*CHECK]) == 2
    assert "has no 'color'" in capsys.readouterr().err
    assert main([*CHECK, "--known", "absent.toml"]) == 2


# -- pytest ------------------------------------------------------------------------------------------


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(pytester, monkeypatch)


def losing(law: str, face: str) -> tuple[str, str]:
    return ("broken", "as seen") if face == "sync" else ("holds", "")


Tell = Callable[[str, str], tuple[str, str]]


@pytest.mark.parametrize(
    ("arguments", "tell", "outcome"),
    [
        ([], losing, {"xfailed": 1, "passed": 1}),
        (["--lineage-fail-on", "any"], losing, {"failed": 1, "passed": 1}),
        ([], lambda law, face: ("holds", ""), {"failed": 2}),
        (["--lineage-fail-on", "never"], lambda law, face: ("holds", ""), {"xfailed": 2}),
    ],
)
def test_pytest_knows(
    project: Project, arguments: list[str], tell: Tell, outcome: dict[str, int]
) -> None:
    project.fake(tell)
    project.declare()
    project.write("moved.toml", ENTRY)
    result = project.run("--lineage-laws", LAW, "--lineage-known", "moved.toml", *arguments)
    result.assert_outcomes(**outcome)
    assert result.ret == (1 if "failed" in outcome else 0)


def test_pytest_says_what_is_stale_and_leaves_programs(project: Project) -> None:
    project.fake(losing)
    project.declare()
    project.write(known.NAME, ENTRY + "until = 2020-01-01\n")
    result = project.run("--lineage-laws", LAW, "--lineage-report", "run.jsonl")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [f"error: {known.NAME}:2: {LAW} of acme was known until 2020-01-01*"]
    )
    header = json.loads((project.path / "run.jsonl").read_text().splitlines()[0])
    assert header["known"]["problems"]
    (left,) = (project.path / ".lineage" / "failures").glob("*.json")
    assert failures.read(left).law == LAW


def test_pytest_refuses_a_file_that_is_wrong(project: Project) -> None:
    project.fake()
    project.declare()
    project.write(known.NAME, ENTRY + "color = 1\n")
    result = project.run("--lineage-laws", LAW)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*an entry has no 'color'*"])
    assert project.run("--lineage-known", "absent.toml").ret == pytest.ExitCode.USAGE_ERROR
