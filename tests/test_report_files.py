"""JSON lines, JSON Schema and JUnit: what is written is valid, and what is read is trusted or refused."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_lineage.report import jsonl, junit, markdown, model, terminal
from pytest_lineage.report.jsonl import ReportError
from tests.golden import samples

EVERY = {**samples.ALL, "hostile": samples.hostile}
MAKE = pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((jsonl.SCHEMAS / f"{name}.schema.json").read_text("utf-8"))
    return found


def faults(schema: dict[str, Any], value: Any) -> list[str]:
    """What a JSON Schema has against a value: by `jsonschema` where it is installed, else by a small reader."""
    try:
        import jsonschema
    except ImportError:
        return list(small_faults(schema, schema, value, "$"))
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(value)]


KINDS = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}


def small_faults(root: dict[str, Any], rule: dict[str, Any], value: Any, at: str) -> list[str]:
    """The keywords that our schemas use, and no more."""
    found: list[str] = []
    if "$ref" in rule:
        name = rule["$ref"].removeprefix("#/$defs/")
        found += small_faults(root, root["$defs"][name], value, at)
    if "type" in rule:
        kind = KINDS[rule["type"]]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            return [*found, f"{at} is no {rule['type']}"]
    if "const" in rule and value != rule["const"]:
        found.append(f"{at} is not {rule['const']!r}")
    if "enum" in rule and value not in rule["enum"]:
        found.append(f"{at} is none of {rule['enum']}")
    if "minimum" in rule and value < rule["minimum"]:
        found.append(f"{at} is too small")
    if "pattern" in rule and not re.search(rule["pattern"], value):
        found.append(f"{at} does not match")
    if "oneOf" in rule:
        fits = [r for r in rule["oneOf"] if not small_faults(root, r, value, at)]
        found += [] if len(fits) == 1 else [f"{at} fits {len(fits)} of oneOf"]
    if isinstance(value, dict):
        found += [f"{at} lacks {key}" for key in rule.get("required", []) if key not in value]
        for key, item in value.items():
            more = rule.get("properties", {}).get(key, rule.get("additionalProperties"))
            found += small_faults(root, more, item, f"{at}.{key}") if more else []
    if isinstance(value, list) and "items" in rule:
        for number, item in enumerate(value):
            found += small_faults(root, rule["items"], item, f"{at}[{number}]")
    return found


@MAKE
def test_document_is_valid(make: Callable[[], dict[str, Any]]) -> None:
    document = json.loads(model.dumps(make()))
    assert faults(schema("report"), document) == []
    assert small_faults(schema("report"), schema("report"), document, "$") == []


@MAKE
def test_every_line_is_valid_and_reads_back(
    make: Callable[[], dict[str, Any]], tmp_path: Path
) -> None:
    document, file = make(), tmp_path / "run.jsonl"
    jsonl.write(file, document)
    lines = [json.loads(line) for line in file.read_text("ascii").splitlines()]
    rule = schema("lines")
    for line in lines:
        assert faults(rule, line) == []
        assert small_faults(rule, rule, line, "$") == []
    assert [line["event"] for line in lines] == [
        "header", *["verdict"] * len(document["laws"]), "footer",
    ]  # fmt: skip
    assert jsonl.read(file) == json.loads(model.dumps(document))


def test_a_real_run_is_valid(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    command = [sys.executable, "-m", "pytest_lineage", "check", "memory", "--profile", "quick"]
    command += ["--laws", "put,graph_resume,serde.refused-writes-leave-none", "--format", "json"]
    command += ["--report", str(file), "--junit", str(tmp_path / "run.xml")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    document = json.loads(done.stdout)
    assert faults(schema("report"), document) == []
    assert document["exit_code"] == done.returncode
    lines = [json.loads(line) for line in file.read_text("ascii").splitlines()]
    assert [faults(schema("lines"), line) for line in lines if faults(schema("lines"), line)] == []
    assert jsonl.read(file) == document
    assert len(list(ET.parse(tmp_path / "run.xml").iter("testcase"))) == len(document["laws"])
    assert terminal.render(document, width=80)
    assert markdown.render(document)


def test_schemas_agree_and_refuse() -> None:
    report, lines = schema("report"), schema("lines")
    for name, definition in report["$defs"].items():
        assert lines["$defs"][name] == definition, name
    for change in ({"format": 2}, {"exit_code": 9}, {"laws": [{"law": "x"}]}, {"targets": None}):
        assert faults(report, {**samples.good(), **change})
        assert small_faults(report, report, {**samples.good(), **change}, "$")
    assert faults(lines, {"event": "else"})


def test_json_of_check_is_read_too(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text(model.dumps(samples.broken()), encoding="utf-8")
    assert jsonl.read(file) == samples.broken()


def test_old_reports_are_read() -> None:
    """Samples written by every version that had this format; never change them, add to them."""
    kept = sorted((Path(__file__).parent / "golden" / "reports").glob("*.jsonl"))
    assert kept
    for file in kept:
        assert jsonl.read(file)["laws"]


def lines_of(document: dict[str, Any], tmp_path: Path) -> list[str]:
    file = tmp_path / "whole.jsonl"
    jsonl.write(file, document)
    return file.read_text("ascii").splitlines(keepends=True)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda lines: [], "is empty"),
        (lambda lines: [" \n"], "is empty"),
        (lambda lines: lines[:-1], "cut short: 35 verdicts and no footer"),
        (lambda lines: [*lines[:9], lines[9][:40]], "cut short in the middle of line 10"),
        (lambda lines: [*lines[:3], "garbage\n", *lines[3:]], "line 4 is no JSON"),
        (lambda lines: [*lines[:3], "[1]\n", *lines[3:]], "line 4 is no JSON object"),
        (lambda lines: [*lines[:3], *lines[4:]], "holds 34 verdicts, its footer counts 35"),
        (lambda lines: lines[1:], "line 1 is not a header"),
        (lambda lines: ["hello\n"], "line 1 is no JSON"),
        (lambda lines: [lines[0].replace('"format": 1', '"format": 2'), *lines[1:]], "newer than 1"),
        (lambda lines: [lines[0].replace('"format": 1', '"format": "x"'), *lines[1:]], "its format is 'x'"),
        (lambda lines: [lines[0].replace('"targets"', '"tar"'), *lines[1:]], "'targets' is missing"),
        (lambda lines: [lines[0], lines[1].replace('"law"', '"l"'), *lines[2:]], "verdict 1 lacks"),
        (lambda lines: ["[" * 100_000 + "\n"], "line 1 is no JSON"),
        (lambda lines: ['{"laws": [], "format": 7}'], "newer than 1"),
    ],
)  # fmt: skip
def test_what_cannot_be_trusted_is_refused(
    damage: Callable[[list[str]], list[str]], words: str, tmp_path: Path
) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text("".join(damage(lines_of(samples.broken(), tmp_path))), encoding="ascii")
    with pytest.raises(ReportError) as raised:
        jsonl.read(file)
    assert words in str(raised.value)
    assert str(raised.value).startswith(f"{file}: ")
    assert "\n" not in str(raised.value)


def test_what_is_no_text_or_no_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bytes"
    file.write_bytes(b'{"event": "\xff"}')
    with pytest.raises(ReportError, match="byte 11 is not UTF-8"):
        jsonl.read(file)
    with pytest.raises(ReportError, match="cannot be read"):
        jsonl.read(tmp_path / "absent")


def test_cut_anywhere_never_passes_for_whole(tmp_path: Path) -> None:
    text = "".join(lines_of(samples.good(), tmp_path))
    file = tmp_path / "cut.jsonl"
    for length in range(0, len(text) - 2, 97):
        file.write_text(text[:length], encoding="ascii")
        with pytest.raises(ReportError):
            jsonl.read(file)


def suites(document: dict[str, Any], tmp_path: Path) -> ET.Element:
    file = tmp_path / "run.xml"
    junit.write(file, document)
    return ET.fromstring(file.read_bytes())


def test_junit_tells_target_law_and_face(tmp_path: Path) -> None:
    root = suites(samples.broken(), tmp_path)
    assert [suite.get("name") for suite in root] == ["acme"]
    cases = {case.get("name"): case for case in root.iter("testcase")}
    assert len(cases) == len(samples.broken()["laws"])
    case = cases["fork.siblings-keep-their-values[async]"]
    assert case.get("classname") == "acme.fork"
    assert {p.get("name"): p.get("value") for p in case.iter("property")} == {
        "law": "fork.siblings-keep-their-values",
        "target": "acme",
        "face": "async",
        "level": "MUST",
        "verdict": "broken",
    }
    failure = case.find("failure")
    assert failure is not None
    assert failure.text is not None
    assert "--face async" in failure.text
    assert cases["concurrency.answers-while-listing[sync]"].find("failure") is not None
    follows = cases["fork.branches-are-independent[sync]"].find("failure")
    assert follows is not None
    assert "follows from fork.siblings-keep-their-values" in str(follows.get("message"))


def test_junit_does_not_fail_for_less_than_a_must(tmp_path: Path) -> None:
    root = suites(samples.broken(), tmp_path)
    cases = {case.get("name"): case for case in root.iter("testcase")}
    skipped = cases["list.limit[sync]"].find("skipped")
    assert skipped is not None
    assert str(skipped.get("message")).startswith("SHOULD broken: ")
    for name in ("delta_history.answers[sync]", "writes.first-wins[sync]"):
        assert cases[name].find("skipped") is not None
    for name in ("put.is-readable[sync]", "prune.keeps-latest[sync]"):
        assert [child.tag for child in cases[name]] == ["properties"]


@MAKE
def test_junit_counts_add_up(make: Callable[[], dict[str, Any]], tmp_path: Path) -> None:
    root = suites(make(), tmp_path)
    for element in (root, *root):
        cases = list(element.iter("testcase"))
        assert element.get("tests") == str(len(cases))
        for plural, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert element.get(plural) == str(sum(case.find(tag) is not None for case in cases))


def test_junit_of_a_target_that_cannot_be_used_is_red(tmp_path: Path) -> None:
    root = suites(samples.unusable(), tmp_path)
    errors = {suite.get("name"): suite.find("testcase/error") for suite in root}
    assert all(error is not None for error in errors.values())
    assert root.get("errors") == "3"


def test_junit_of_a_known_failures_file(tmp_path: Path) -> None:
    root = suites(samples.ratchet(), tmp_path)
    cases = {case.get("name"): case for case in root.iter("testcase")}
    assert cases["metadata.types[sync]"].find("failure") is None
    skipped = cases["metadata.types[sync]"].find("skipped")
    assert skipped is not None
    assert str(skipped.get("message")).startswith("MUST, advisory broken")
    assert cases["entry 1"].find("error") is not None


def test_junit_holds_nothing_that_xml_cannot(tmp_path: Path) -> None:
    root = suites(samples.hostile(), tmp_path)
    text = ET.tostring(root, encoding="unicode")
    assert "\x1b" not in text
    assert "\x00" not in text
    assert "\ud800" not in text
    assert junit.clean("a\x00b\x0bc\ud800d\ufffee\t\n\U0001f600") == "abcde\t\n\U0001f600"
    assert (tmp_path / "run.xml").stat().st_size < 100_000
