"""The HTML page: whole, safe, small, quick, and the same in a real browser."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from lineage_conformance import law as laws
from pytest_lineage.cli import main
from pytest_lineage.report import drawing, html, jsonl
from pytest_lineage.report.evidence import operations
from tests.golden import samples

EVERY = {**samples.ALL, "hostile": samples.hostile}
VOID = {"meta", "input", "br", "circle", "path", "link", "img", "hr"}
BROWSER = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)


class Page(HTMLParser):
    """What a page holds: elements that close, ids, links, and text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        if found.get("id"):
            self.ids.append(str(found["id"]))
        if found.get("href"):
            self.links.append(str(found["href"]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if self.open[-1:] not in (["style"], ["script"]):
            self.text.append(data)


def many(targets: int = 20, *, broken: int = 7) -> dict[str, Any]:
    """A report of many targets on every law of kind saver, each n-th of them broken."""
    rows, described = [], []
    for number in range(targets):
        name = f"saver-{number:02}"
        described.append(samples.target(name))
        for position, law in enumerate(laws.all_laws("saver")):
            bad = broken and (position + number) % broken == 0
            for face in samples.FACES:
                fields: dict[str, Any] = (
                    {"verdict": "not-applicable", "reason": "has no half"}
                    if position % 9 == 4
                    else {}
                )
                if bad:
                    fields = {
                        "verdict": "broken", "reason": "get:pending_writes: expected [], got []",
                        "evidence": samples.evidence(samples.FORK, (3, "get:channel_values.a", "left", "right")),
                        "program_id": "fork-12345678",
                    }  # fmt: skip
                rows.append(
                    samples.row(
                        law.id, face, name, level=law.level.value, sentence=law.sentence, source=law.source,
                        meaning=law.meaning, reports=list(law.reports), **fields,
                    )
                )  # fmt: skip
    return samples.document(described, rows, 1)


@pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)
def test_a_page_is_whole_and_needs_nothing_from_elsewhere(
    make: Callable[[], dict[str, Any]],
) -> None:
    text = html.render(make())
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    local = [link[1:] for link in page.links if link.startswith("#")]
    assert set(local) <= set(page.ids)
    assert all(link.startswith(("#", "https://github.com/")) for link in page.links)
    assert not re.search(r"<(link|img|iframe|object|embed|base)\b|@import|url\(|\bsrc=", text)
    assert [tag for tag, _ in page.tags].count("script") == 1


def test_the_only_script_that_may_run_is_ours() -> None:
    text = html.render(samples.hostile())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy.group(1)
    assert "default-src 'none'" in policy.group(1)


def test_nothing_hostile_gets_out_of_its_place() -> None:
    text = html.render(samples.hostile())
    assert "<b>&amp;amp;" not in text
    assert "\x1b" not in text
    assert "\x00" not in text
    assert "\u202e" not in text
    text.encode("utf-8")
    assert len(text) < 60_000
    attributes = [value for _, found in Page(text).tags for value in found]
    assert not [name for name in attributes if name.startswith("on")]


@pytest.mark.parametrize(
    ("where", "wrong"),
    [
        ("laws", {"reason": 3}), ("laws", {"sentence": None}), ("laws", {"meaning": ["<script>"]}),
        ("laws", {"seconds": "soon"}), ("laws", {"reports": "x"}), ("laws", {"evidence": [1]}),
        ("laws", {"evidence": {"program": 1}}), ("laws", {"evidence": {"program": {}, "stack": 5}}),
        ("laws", {"evidence": {"program": {}, "differences": [{"op": "x", "at": 5}]}}),
        ("targets", {"seconds": "x"}), ("targets", {"error": 5}), ("targets", {"absent": ["x"]}),
    ],
)  # fmt: skip
def test_a_report_with_values_of_other_types_is_refused_by_every_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], where: str, wrong: dict[str, Any]
) -> None:
    document = samples.broken()
    document[where][0].update(wrong)
    jsonl.write(tmp_path / "run.jsonl", document)
    for way in ("show", "html", "markdown", "junit", "badge", "annotations"):
        assert main(["report", way, str(tmp_path / "run.jsonl")]) == 2
        assert "is damaged" in capsys.readouterr().err


def test_programs_of_other_kinds_are_shown() -> None:
    document = samples.broken()
    for row in document["laws"]:
        if row.get("evidence"):
            row["evidence"]["program"] = {
                "format": 1,
                "graph": {"tasks": ["<a>", None]},
                "ops": [1, {"op": "z"}],
            }
    assert "tasks" in html.render(document)
    Page(html.render(document))


def test_every_failure_every_law_and_every_target_is_there() -> None:
    page = Page(html.render(samples.broken()))
    text = " ".join(page.text)
    for row in samples.broken()["laws"]:
        assert row["law"] in text
    assert "acme" in text
    assert "BROKEN" in text
    assert "pytest-lineage check acme --laws fork.siblings-keep-their-values --face sync" in text
    assert "https://github.com/acme/saver/issues/12" in page.links
    kinds = [found.get("class") for tag, found in page.tags if tag == "details"]
    assert kinds.count("fail MUST") == 2
    assert kinds.count("fail SHOULD") == 1


def test_screen_readers_are_told_what_marks_mean() -> None:
    page = Page(html.render(samples.broken()))
    scopes = [found.get("scope") for tag, found in page.tags if tag == "th"]
    assert all(scopes)
    assert [tag for tag, _ in page.tags].count("caption") == 2
    assert any(found.get("role") == "status" for _, found in page.tags)
    drawn = [found for tag, found in page.tags if tag == "svg"]
    assert drawn
    assert all(
        found["role"] == "img" and str(found["aria-label"]).startswith("Lineage: ")
        for found in drawn
    )
    assert dict(page.tags)["html"] == {"lang": "en"}
    labelled = [tag for tag, _ in page.tags if tag in ("input", "select")]
    assert [tag for tag, _ in page.tags].count("label") == len(labelled)


def test_twenty_targets_on_all_laws_are_small_and_quick() -> None:
    document = many()
    start = time.process_time()
    text = html.render(document)
    assert time.process_time() - start < 2
    assert len(text.encode()) < 2_000_000
    Page(text)


def test_more_failures_than_fit_are_listed_in_a_line() -> None:
    document = many(broken=1)
    text = html.render(document)
    assert len(text.encode()) < 2_000_000
    assert "Left out to keep the page small" in text
    Page(text)


def test_drawings_mark_the_wrong_checkpoint() -> None:
    ops = operations({"format": 1, "ops": samples.FORK})
    text = drawing.svg(
        ops, {"op": 3, "at": "get:channel_values.a", "expected": "left", "got": "right"}
    )
    assert text.count("<circle") == 3
    assert text.count('class="m"/>') == 1
    assert "◄ wrong channel values" in text
    assert drawing.svg((), {}) == ""
    deep = [{"op": "put", "id": n, "parent": n - 1 if n > 1 else None} for n in range(1, 2000)]
    assert drawing.svg(operations({"format": 1, "ops": deep}), {}).count("<circle") == drawing.MOST


def test_the_command_writes_beside_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jsonl.write(tmp_path / "run.jsonl", samples.good())
    assert main(["report", "html", str(tmp_path / "run.jsonl")]) == 0
    assert (tmp_path / "run.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (
        main(["report", "html", str(tmp_path / "run.jsonl"), "-o", str(tmp_path / "a" / "b.html")])
        == 0
    )
    assert (tmp_path / "a" / "b.html").exists()
    (tmp_path / "run.jsonl").write_text('{"event": "header"')
    assert main(["report", "html", str(tmp_path / "run.jsonl")]) == 2
    assert "cut short" in capsys.readouterr().err


@pytest.mark.parametrize("way", ["show", "markdown", "junit", "badge", "annotations", "html"])
def test_old_reports_are_presented_every_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in (Path(__file__).parent / "golden" / "reports").glob("*.jsonl"):
        shutil.copy(file, tmp_path / "old.jsonl")
        assert main(["report", way, "old.jsonl"]) == 0


# -- a real browser ------------------------------------------------------------------------------------


@pytest.fixture
def browser(tmp_path: Path) -> Callable[..., str]:
    """Opens a page with a script added to it; what it wrote into the title."""
    if BROWSER is None:
        pytest.skip("no Chromium")

    def run(text: str, script: str, fragment: str = "") -> str:
        page = text.replace("script-src '", "script-src 'unsafe-inline' 'x-", 1)
        page = page.replace("</body>", f"<script>{script}</script></body>")
        file = tmp_path / "page.html"
        file.write_text(page, encoding="utf-8")
        done = subprocess.run(
            [
                str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--virtual-time-budget=3000", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom",
                f"{file.as_uri()}{fragment}",
            ],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        found = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
        assert found is not None, done.stderr[-2000:]
        return found.group(1)

    return run


STATE = """
const shown = (kind) => [...document.querySelectorAll(kind)].filter((e) => !e.hidden).length;
const open = () => document.querySelectorAll(".fail[open]").length;
const tell = () => [shown(".fail"), shown("#laws tr[data-v]"), open()].join(" ");
const set = (name, text) => {
  const field = document.forms[0].elements[name];
  field.value = text;
  field.dispatchEvent(new Event("input", {bubbles: true}));
  return tell();
};
"""


@pytest.mark.slow
def test_filters_work_in_a_browser(browser: Callable[..., str]) -> None:
    script = (
        STATE
        + """
    const said = [tell(), set("q", "siblings"), set("q", ""), set("level", "SHOULD"), set("level", ""),
                  set("verdict", "x"), set("verdict", ""), set("group", "put"), set("q", "no such thing")];
    document.title = said.join("|") + "|" + document.querySelector("[role=status]").textContent;
    """
    )
    told = browser(html.render(samples.broken()), script).split("|")
    assert told == [
        "3 11 0", "1 1 0", "3 11 0", "1 2 0", "3 11 0", "1 1 0", "3 11 0", "0 2 0", "0 0 0",
        "0 of 11 laws, 0 of 3 failures",
    ]  # fmt: skip


@pytest.mark.slow
def test_targets_are_filtered_and_links_open_failures(browser: Callable[..., str]) -> None:
    script = (
        STATE
        + """
    const cards = () => shown(".card") + "/" + shown("#laws thead th");
    document.title = [tell(), cards(), set("target", "1"), cards(), document.activeElement.tagName].join("|");
    """
    )
    told = browser(html.render(samples.good()), script, "#f1").split("|")
    assert told == ["1 3 1", "2/3", "1 3 1", "1/2", "SUMMARY"]


@pytest.mark.slow
def test_no_script_of_a_report_runs_and_nothing_is_wider_than_the_page(
    browser: Callable[..., str],
) -> None:
    document = samples.hostile()
    attack = "<img src=x onerror=\"document.title='hit'\"><script>document.title='hit'</script>"
    for row in document["laws"]:
        row["sentence"] = row["reason"] = row["target"] = attack
    document["targets"][0]["name"] = attack
    script = """
    for (const item of document.querySelectorAll("details")) item.open = true;
    const wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
    setTimeout(() => { if (document.title !== "hit") document.title = wide ? "wide" : "safe"; }, 500);
    """
    assert browser(html.render(document), script) == "safe"
