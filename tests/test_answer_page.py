"""The reader for browsers, in a real one: a stream cut in mid-token, and what the page shows then."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("langgraph_sdk.client")

from starlette.applications import Starlette
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from lineage_conformance import law as laws
from lineage_reference import client, demo
from lineage_reference.final_answer import from_state
from tests.answer_sdk import state_route
from tests.loopback import cutting, served

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.slow,
    pytest.mark.skipif(not BROWSER, reason="no Chromium"),
]
if laws.get("answer.is-the-last-text").not_applicable():
    pytest.skip("final answers need langgraph 0.6", allow_module_level=True)

FINAL = re.compile(rb"GET \S*final-answer")


class Gate:
    """Holds the agent before word 3 until the page shows three, and before word 5 until it asked so many times."""

    def __init__(self, asked: int) -> None:
        self.asked = asked
        self.seen: list[bytes] = []
        self.shown, self.open = asyncio.Event(), asyncio.Event()
        if not asked:
            self.let_go()

    async def __call__(self, word: int) -> None:
        if word == 3:
            await self.shown.wait()
        if word == 5:
            await self.open.wait()

    def let_go(self) -> None:
        """Hold nothing any more."""
        self.shown.set()
        self.open.set()

    def append(self, line: bytes) -> None:
        """A request went through the proxy."""
        self.seen.append(line)
        if b"/shown" in line:
            self.shown.set()
        if sum(bool(FINAL.match(each)) for each in self.seen) >= self.asked:
            self.open.set()


async def visit(
    tmp_path: Path,
    site: demo.Demo,
    gate: Any,
    script: str,
    marker: bytes = b"\0",
    route: bool = True,
) -> Any:
    """Open the page through the proxy in a real browser, run a script in it; what `tell` was given."""
    page = (demo.HERE / "index.html").read_text(encoding="utf-8")
    probe = (
        "<script type='module'>import * as reader from './reader.js';"
        "const tell = (data) => fetch('told', {method: 'POST', body: JSON.stringify(data)});"
        f"try {{ {script} }} catch (error) {{ tell(String(error.stack)); }}</script></body>"
    )
    told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def hear(request: Any) -> Response:
        told.set_result(await request.json())
        return Response(status_code=204)

    inner = [r for r in site.app.routes if route or isinstance(r, Route)]
    app = Starlette(
        routes=[
            Route("/page", lambda _: HTMLResponse(page.replace("</body>", probe))),
            Route("/told", hear, methods=["POST"]),
            state_route(site.graph),
            *inner,
        ]
    )
    async with served(app) as port, cutting(port, marker, gate) as proxy:
        browser = await asyncio.create_subprocess_exec(
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--remote-debugging-port=0", f"--user-data-dir={tmp_path / 'profile'}",
            f"http://127.0.0.1:{proxy}/page",
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            return await asyncio.wait_for(told, 60)
        finally:
            gate.let_go()
            browser.terminate()
            await browser.wait()


ASK = """
const watch = new MutationObserver(() => {
  if (document.querySelector(".text")?.textContent === "The answer is") { fetch("shown"); watch.disconnect(); }
});
watch.observe(document.querySelector("#answers"), {childList: true, subtree: true});
const slept = [];
const clock = {now: () => 0, sleep: async (seconds) => { slept.push(seconds); }};
tell({log: await ask('what?', false, {clock}), slept, box: document.querySelector('article').innerText});
"""


@pytest.mark.parametrize("route", [True, False], ids=["route", "raw state"])
async def test_a_stream_cut_in_mid_token_is_recovered_in_the_page(
    tmp_path: Path, route: bool
) -> None:
    gate = Gate(asked=3 if route else 1)
    told = await visit(tmp_path, demo.Demo(pause=gate), gate, ASK, b"forty", route)
    log = told["log"]
    streamed = [shown for shown in log if shown["status"] == "streaming"]
    assert streamed[-1]["text"] == "The answer is"  # the event that was cut is not shown
    assert all(shown["text"] for shown in log), "shown text was replaced by nothing"
    assert log[-1] == {"text": demo.ANSWER, "status": "complete", "recovered": True, "message": ""}
    assert "recovered" in told["box"]
    assert told["slept"][:3] == [1, 2, 4] or not route
    asked = [line for line in gate.seen if FINAL.match(line)]
    assert len(asked) >= 4 if route else len(asked) == 1
    assert any(b"/state" in line for line in gate.seen) is not route


async def test_a_stream_that_ends_asks_nothing(tmp_path: Path) -> None:
    gate = Gate(asked=0)
    told = await visit(tmp_path, demo.Demo(pause=gate), gate, ASK)
    assert told["log"][-1]["status"] == "complete"
    assert told["log"][-1]["text"] == demo.ANSWER
    assert not any(shown["recovered"] for shown in told["log"])
    assert not [line for line in gate.seen if FINAL.match(line)]


async def test_the_page_gives_up_and_keeps_what_it_has(tmp_path: Path) -> None:
    gate = Gate(asked=10_000)
    script = """
    let time = 0; const slept = [];
    const clock = {now: () => time, sleep: async (seconds) => { time += seconds; slept.push(seconds); }};
    const log = [];
    const request = {method: "POST", body: JSON.stringify({question: "q", cut: false})};
    for await (const shown of reader.follow("run/t", request, {thread: "t", before: "", clock})) {
      log.push(shown);
      if (log.length === 3) fetch("shown");
    }
    const lost = [];
    for await (const shown of reader.recover("half a", {thread: "nobody", clock})) lost.push(shown);
    tell({log, slept, time, lost});
    """
    told = await visit(tmp_path, demo.Demo(pause=gate), gate, script, b"forty")
    assert told["log"][-1]["status"] == "gave_up"
    assert told["log"][-1]["text"] == "The answer is"
    assert told["slept"][:5] == [1, 2, 4, 5, 5]
    assert 235 < told["time"] <= 240
    assert [shown["status"] for shown in told["lost"]] == ["lost"]
    assert told["lost"][0]["text"] == "half a"
    assert told["lost"][0]["message"] == client.LOST


def _states() -> list[dict[str, Any]]:
    human, ai = {"type": "human", "content": "q"}, {"type": "ai", "content": "a"}
    blocks = [
        {"type": "reasoning", "text": "no"},
        {"type": "text", "text": "b"},
        "c",
        {"type": "tool_use"},
    ]
    shapes: list[dict[str, Any]] = [
        {}, {"values": {"messages": [human]}}, {"values": {"messages": [human, ai]}},
        {"values": {"messages": [human, ai, human]}},
        {"values": {"messages": [human, ai, {"role": "assistant", "content": blocks}]}},
        {"values": {"messages": [human, ai, {"type": "ai", "content": " "}]}},
        {"values": {"messages": [human, ai]}, "next": ["tools"]},
        {"values": {"messages": [human, ai]}, "tasks": [{"id": "1", "interrupts": [{"value": 1}]}]},
        {"values": {"messages": [human, ai]}, "interrupts": [{"value": 1}]},
        {"values": {"messages": [human, ai]}, "tasks": [{"error": "CancelledError()"}]},
        {"values": {"messages": [human, ai]}, "tasks": [{"error": "CancelledError()"}, {"error": "E"}]},
        {"values": {"messages": [human, ai]}, "tasks": [{"id": "1", "interrupts": []}]},
        {"values": {"messages": [human, ai]}, "metadata": {"source": "fork"}},
    ]  # fmt: skip
    for number, shape in enumerate(shapes):
        shape.setdefault("created_at", f"2024-01-01T00:00:{number:02}+00:00")
        shape.setdefault("checkpoint", {"checkpoint_id": f"b{number}"})
    return shapes


async def test_the_page_reads_raw_states_as_the_python_reader_does(tmp_path: Path) -> None:
    cases = [(state, before) for state in _states() for before in (None, "", "a", "z")]
    script = f"tell({json.dumps(cases)}.map(([state, before]) => reader.fromState(state, before)));"
    told = await visit(tmp_path, demo.Demo(), Gate(0), script)
    for (state, before), found in zip(cases, told, strict=True):
        assert found == from_state(state, before=before).to_json(), (state, before)
