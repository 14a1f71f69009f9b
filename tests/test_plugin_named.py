"""Targets that are named, and the options: flags, environment, ini keys, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_lineage.plugin import options
from tests.plugin_kit import Project, module

ONE = ("--lineage-laws", "put.is-readable")
SYNC = ("--lineage-face", "sync")
MEMORY = "lineage::memory::put.is-readable[sync]"
SQLITE = "lineage::sqlite::put.is-readable[sync]"
USAGE = pytest.ExitCode.USAGE_ERROR


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(pytester, monkeypatch)
    made.fake()
    return made


# -- named targets -----------------------------------------------------------------------------------


def test_named_targets_need_no_test_module(project: Project) -> None:
    result = project.run(
        *ONE,
        *SYNC,
        "-v",
        "--lineage-target",
        "memory",
        "--lineage-target=sqlite",
        "--lineage-target",
        "memory",
    )
    result.assert_outcomes(passed=2)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["lineage::memory::put.is-readable[[]sync[]] PASSED*", "lineage::sqlite::*"]
    )


def test_a_named_target_on_a_real_saver(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(pytester, monkeypatch)
    project.write("test_a.py", "def test_a(): pass\n")
    result = project.run(*ONE, "--lineage-target", "savers.py:Forgets", *SYNC)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["rerun    pytest *lineage::savers.py:Forgets::put.is-readable[[]sync[]]*"]
    )


def test_named_targets_come_after_the_tests(project: Project) -> None:
    project.write("test_a.py", "def test_a(): pass\n")
    assert project.ids(*ONE, *SYNC, "--lineage-target", "memory") == ["test_a.py::test_a", MEMORY]
    assert project.ids(*ONE, *SYNC, "--lineage-target", "memory", "test_a.py") == [
        "test_a.py::test_a",
        MEMORY,
    ]
    assert project.ids(*ONE, *SYNC, "--lineage-target", "memory", "-k", "test_a") == [
        "test_a.py::test_a"
    ]


def test_an_id_picks_items_and_names_their_target(project: Project) -> None:
    project.write("test_a.py", "def test_a(): pass\n")
    assert project.ids(MEMORY) == [MEMORY]
    assert project.ids(MEMORY, "--lineage-target", "sqlite") == [MEMORY]
    assert project.ids(MEMORY, SQLITE, "test_a.py") == ["test_a.py::test_a", MEMORY, SQLITE]
    assert len(project.ids("lineage::memory::put.is-readable")) == 2
    assert project.ids("lineage::memory", *ONE, *SYNC) == [MEMORY]


def test_an_id_that_exists_nowhere_is_refused(project: Project) -> None:
    result = project.run("lineage::memory::put.is-readabl[sync]")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(
        ["ERROR: *no law is called 'put.is-readabl'; did you mean put.is-readable*"]
    )
    assert project.run("lineage::memory::put.is-readable[sink]").ret == USAGE
    result = project.run("lineage::memory::put.is-readable[sync->async]")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["not found: lineage::memory::put.is-readable[[]sync->async[]] (no such*"]
    )


def test_an_ini_file_names_targets_for_runs_that_are_not_narrowed(project: Project) -> None:
    project.ini(
        "lineage_target =\n    memory\nlineage_laws = put.is-readable\nlineage_face = sync\n"
    )
    project.write("tests/test_a.py", "def test_a(): pass\n")
    plain = "tests/test_a.py::test_a"
    assert project.ids() == [plain, MEMORY]
    assert project.ids("tests") == [plain, MEMORY]
    assert project.ids("tests/test_a.py") == [plain]
    assert project.ids(plain) == [plain]
    assert project.ids(plain, MEMORY) == [plain, MEMORY]


def test_a_path_in_an_ini_file_is_relative_to_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.ini(
        "lineage_target = ./savers.py:Sound\nlineage_laws = put.is-readable\nlineage_face = sync\n"
    )
    folder = project.path / "below"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert project.ids() == ["lineage::./savers.py:Sound::put.is-readable[sync]"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lineage-target", "sqlit"], "no target is called 'sqlit'; did you mean sqlite*"),
        (["--lineage-target", "./none.py:x"], "*there is no file ./none.py"),
        (
            ["--lineage-laws", "put.is-readabl"],
            "--lineage-laws: no law is called 'put.is-readabl'; did you mean*",
        ),
        (["--lineage-face", "sync,both"], "--lineage-face: 'both' is none of sync, async, *"),
        (
            ["--lineage-profile", "fast"],
            "--lineage-profile: 'fast' is none of quick, default, deep",
        ),
        (["--lineage-kind", "cache"], "--lineage-kind: 'cache' is none of saver*"),
        (
            ["--lineage-target", "memory", "--lineage-over", "sqlit"],
            "--lineage-over: no target is called*",
        ),
        (
            ["--lineage-op-limit", "soon"],
            "--lineage-op-limit: 'soon' is no number of seconds above 0",
        ),
        (
            ["--lineage-time-limit", "0"],
            "--lineage-time-limit: '0' is no number of seconds above 0",
        ),
        (["--lineage-report", "."], "--lineage-report: .: cannot be written"),
        (["-o", "lineage_cov=perhaps"], "lineage_cov: *perhaps*"),
    ],
)
def test_wrong_values_are_refused_in_one_line(
    project: Project, arguments: list[str], message: str
) -> None:
    project.declare()
    result = project.run(*arguments)
    assert result.ret == USAGE
    result.stderr.fnmatch_lines([f"ERROR: *{message}"])
    assert len([line for line in result.errlines if line.strip()]) == 1


def test_a_wrong_law_in_an_ini_file_shows_when_a_target_does(project: Project) -> None:
    project.ini("lineage_laws = nonsense.*")
    project.write("test_a.py", "def test_a(): pass\n")
    assert project.run().ret == 0
    project.declare()
    result = project.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no law * 'nonsense.[*]'*"])


def test_two_targets_that_cannot_be_told_apart(project: Project) -> None:
    project.write("test_one.py", module("acme", "Sound"))
    project.write("test_two.py", module("acme", "Sound"))
    result = project.run(*ONE, *SYNC)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        ["test_one.py::acme (quick; sync): 1 holds", "test_two.py::acme (quick;*"]
    )


# -- where a value comes from ------------------------------------------------------------------------


def read(project: Project, *arguments: str) -> options.Settings:
    config = project.pytester.parseconfig(*arguments)
    return options.read(config)


@pytest.mark.parametrize("option", options.TABLE, ids=lambda option: option.name)
def test_flag_beats_environment_beats_ini_beats_default(
    project: Project, monkeypatch: pytest.MonkeyPatch, option: options.Option
) -> None:
    samples: dict[str, list[Any]] = {
        "targets": ["a:x", "b:x", "c:x"], "words": ["put.*", "list.*", "fork.*"], "seconds": [1, 2, 3],
        "text": ["a", "b", "c"],
        "file": ["a.jsonl", "b.jsonl", "c.jsonl"], "switch": ["true", "false", "true"],
    }  # fmt: skip
    chosen = {
        "face": options.FACES,
        "profile": options.PROFILES,
        "kind": ("saver", "saver", "saver"),
        "fail-on": ("new", "any", "never"),
    }
    for name in samples["file"] if option.name == "known" else ():
        project.write(name, "")
    values = [str(value) for value in chosen.get(option.name) or samples[option.kind]]
    field = "targets" if option.name == "target" else option.key.removeprefix("lineage_")

    def found(*arguments: str) -> str:
        value = getattr(read(project, *arguments), field)
        if option.kind == "targets":
            return ",".join(named.text for named in value)
        if option.kind == "words":
            return ",".join(value)
        if option.kind == "seconds" and value is not None:
            return f"{value:g}"
        return value.name if option.kind == "file" and value is not None else str(value).lower()

    assert found() == (
        ",".join(option.default) if option.default == () else str(option.default).lower()
    ).replace("5.0", "5")
    project.ini(f"{option.key} = {values[0]}")
    assert found() == values[0]
    monkeypatch.setenv(option.variable, values[1])
    assert found() == values[1]
    flag = [option.flag] if option.kind == "switch" else [option.flag, values[2]]
    assert found(*flag) == values[2]


def test_lists_in_the_environment_are_separated_by_commas(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_TARGET", "memory, sqlite,")
    assert [named.text for named in read(project).targets] == ["memory", "sqlite"]
    monkeypatch.setenv("LINEAGE_TARGET", "")
    assert read(project).targets == ()


def test_every_option_is_in_the_help(project: Project) -> None:
    text = project.run("--help").stdout.str()
    for option in options.TABLE:
        assert option.flag in text
        assert option.key in text
