"""The page that `show` writes: whole, without scripts, for keyboards and screen readers, in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lineage_conformance import contract
from pytest_lineage.show import folding, page
from pytest_lineage.show.thread import Thread, build
from tests import show_kit as kit
from tests.test_html import BROWSER, Page


def rendered(thread: Thread, values: bool = False) -> str:
    return page.render(thread, folding.fold(thread), "thread <x> of y", values)


def damaged() -> Thread:
    """A fork, a waiting interrupt, a failure and a doubt among three hundred checkpoints."""
    rows = kit.chain(300)
    stop = {
        "task": "w",
        "channel": "__interrupt__",
        "size": 1,
        "interrupts": [{"id": "i", "preview": "'go on?'"}],
    }
    rows[0]["writes"] = [stop, {"task": "f", "channel": "__error__", "size": 1, "preview": "boom"}]
    rows[100]["versions"] = {"a": 199}
    rows += [kit.row(400, 150, source="update"), kit.row(401, 400)]
    return build("x", rows)


def test_a_page_is_whole_and_needs_nothing_from_elsewhere() -> None:
    for thread in (damaged(), build("x", kit.chain(1))):
        text = rendered(thread)
        found = Page(text)
        assert len(found.ids) == len(set(found.ids))
        assert {link[1:] for link in found.links} <= set(found.ids)
        assert all(link.startswith("#") for link in found.links)
        assert not re.search(
            r"<(script|link|img|iframe|object|embed|base)\b|@import|url\(|\bsrc=", text
        )
        assert "default-src 'none'" in text
        assert text.count("<h1>") == 1


def test_what_is_open_comes_first_with_links_to_it() -> None:
    text = rendered(damaged())
    top, _, tree = text.partition('<div id="tree">')
    assert "WAITS at interrupt" in top
    assert "FAILED: boom" in top
    assert "committed or not is unknown" in top
    links = re.findall(r'href="#(c[\d-]+)"', top)
    assert links
    assert all(f'id="{link}"' in tree for link in links)
    assert "<p>Nothing.</p>" in rendered(build("x", kit.chain(1)))


def test_screen_readers_get_the_tree_as_a_list_and_no_drawing() -> None:
    found = Page(rendered(damaged()))
    drawn = [attributes for tag, attributes in found.tags if tag == "svg"]
    assert drawn
    assert all(attributes["aria-hidden"] == "true" for attributes in drawn)
    lists = [attributes for tag, attributes in found.tags if tag == "ol"]
    assert [attributes["aria-labelledby"] for attributes in lists] == ["s0"]
    assert ", begins a branch" in found.text
    assert dict(found.tags)["html"] == {"lang": "en"}


def test_a_page_of_a_long_thread_is_small() -> None:
    assert len(rendered(build("x", kit.chain(10_000)))) < 40_000


# -- a real browser -------------------------------------------------------------------------------------


def browsed(tmp_path: Path, text: str, script: str, width: int) -> str:
    """What a script that is added to the page wrote into its title."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    made = text.replace(policy, f"{policy}; script-src 'unsafe-inline'", 1)
    made = made.replace("</body>", f"<script>{script}</script></body>")
    file = tmp_path / "page.html"
    file.write_text(made, encoding="utf-8")
    # A headless window is never narrower than 500 pixels: a phone is a frame in it.
    frame = tmp_path / "frame.html"
    frame.write_text(
        f'<iframe src="page.html" style="width:{width}px;height:900px;border:0"></iframe>'
        "<script>addEventListener('message', (e) => { document.title = e.data; });</script>"
    )
    done = subprocess.run(
        [
            str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--virtual-time-budget=3000", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", frame.as_uri(),
        ],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    found = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert found is not None, done.stderr[-2000:]
    return found.group(1)


SCRIPT = """
for (const item of document.querySelectorAll("details")) item.open = true;
const wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
const rows = [...document.querySelectorAll(".lanes > li")];
const gaps = rows.filter((row) => row.querySelector("svg").getBoundingClientRect().height <
                                  row.getBoundingClientRect().height - 1).length;
const dots = [...document.querySelectorAll("circle")].filter((dot) => {
  const box = dot.getBoundingClientRect(), row = dot.closest("li").getBoundingClientRect();
  return box.left < row.left - 1 || box.bottom > row.bottom + 1 || box.width < 5;
}).length;
const text = document.querySelector(".it p").getBoundingClientRect();
parent.postMessage([wide, gaps, dots, rows.length > 10, text.width > 100].join(" "), "*");
"""


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium")
@pytest.mark.parametrize("width", [360, 1200])
def test_lanes_fill_their_rows_and_nothing_is_wider_than_the_page(
    tmp_path: Path, width: int
) -> None:
    assert shutil.which(str(BROWSER))
    told = browsed(tmp_path, rendered(damaged()), SCRIPT, width)
    assert told == "false 0 0 true true"


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium")
@pytest.mark.skipif(
    contract.unmet("langgraph>=0.6") is not None, reason="graphs need langgraph 0.6"
)
def test_a_real_thread_with_long_values_fits_a_phone(tmp_path: Path) -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    saver = InMemorySaver()
    graph = kit.agent(saver, fails=False)
    graph.invoke({"messages": ["x" * 5000]}, kit.config("x"))
    told = browsed(tmp_path, rendered(kit.read(saver, "x", values=True), True), SCRIPT, 360)
    assert told.startswith("false 0 0")
