"""A bump for people: on a terminal and as markdown. Only what differs."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_lineage.environments.bump import Result
from pytest_lineage.environments.fingerprint import shown
from pytest_lineage.environments.handover import MEANINGS, Loss
from pytest_lineage.report import diffing
from pytest_lineage.report.gist import many
from pytest_lineage.report.markdown import code, escape
from pytest_lineage.report.style import Style, clip, safe

MOST = 60
"""Differences of one sort that are listed."""

COLORS = {"new": "red", "run": "cyan", "not-run": "yellow", "fixed": "green"}
NOTABLE = 0.1
"""From which share on a change of storage is a difference worth a line."""


def verdict(result: Result) -> str:
    """The whole bump in a line."""
    new, old = result.sides["new"].name, result.sides["old"].name
    if result.regressions:
        return (
            f"REGRESSION — {old} → {new}: {many(len(result.regressions), 'reason')} not to upgrade"
        )
    if result.quiet:
        return f"NO CHANGE — {old} → {new}: nothing that was asked behaves otherwise"
    if result.handover.losses:
        plans = ", ".join(dict.fromkeys(loss.plan for loss in result.handover.losses))
        return f"NO REGRESSION, BUT NO WAY BACK — {old} → {new}: conversations lose something ({plans})"
    return f"NO REGRESSION — {old} → {new}: something behaves otherwise, nothing that must hold is broken"


def packages(result: Result) -> list[str]:
    """What really changes, one package each."""
    return [
        f"{name} {old} → {new}"
        if old and new
        else f"{name} {new} (new)"
        if new
        else f"{name} {old} (gone)"
        for name, old, new in result.packages
    ]


def laws(result: Result) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Kind of change, its words, and the laws with their reasons."""
    for kind, words in diffing.KINDS:
        found = [
            (f"{change.level} {change.law}[{', '.join(change.faces)}]"
             + (f" of {change.target}" if sort != result.settings.kind else ""),
             change.reason if change.after in diffing.BAD else change.sentence)
            for sort, difference in result.laws.items()
            for change in difference.of(kind)
        ]  # fmt: skip
        if found and kind != "still":
            yield kind, words, found


def compared(result: Result) -> str:
    """What was compared, so that silence can be told from blindness."""
    parts = [f"laws of {', '.join(result.laws)}"] if result.laws else []
    parts += [f"{result.asked} facts"] if result.asked else []
    if result.handover.played:
        parts.append(
            f"{many(result.handover.played, 'conversation')} handed over in {len(MEANINGS)} ways"
        )
    return "compared: " + "; ".join(parts or ["nothing"])


def remarks(result: Result) -> list[str]:
    """Notes, what was left out, storage and time."""
    found = list(result.notes)
    if result.handover.reason:
        found.append(f"no handover: {result.handover.reason}")
    reasons: dict[str, list[str]] = {}
    for story, reason in result.handover.left_out.items():
        reasons.setdefault(reason, []).append(story)
    found += [
        f"handover of {', '.join(stories)} left out: {reason}"
        for reason, stories in reasons.items()
    ]
    if result.unsteady:
        found.append(f"differed once and not again, not counted: {', '.join(result.unsteady)}")
    if len(result.costs) == 2:
        old, new = result.costs["old"], result.costs["new"]
        if abs(new["bytes"] - old["bytes"]) > NOTABLE * max(old["bytes"], 1):
            found.append(
                f"storage of the same conversations: {old['bytes']:,.0f} → {new['bytes']:,.0f} bytes"
            )
        found.append(
            f"time for the same conversations: {old['seconds']:.1f} → {new['seconds']:.1f} s"
        )
    return found


def loss_lines(loss: Loss) -> list[str]:
    """A loss in a few lines."""
    return [
        f"{loss.story}, {loss.plan}: {loss.sentence}",
        f"after stage {loss.stage} expected {shown(loss.expected, 160)}",
        f"got {shown(loss.got, 160)}; {MEANINGS[loss.plan]}",
    ]


def pretty(result: Result) -> str:
    """The bump for a terminal."""
    style = Style.detect()
    lines: list[str] = []

    def title(text: str, color: str) -> None:
        lines.extend(["", style.paint(text, color, "bold")])

    lines += style.wrap("changes: " + safe(", ".join(packages(result)) or "no package"), "    ")
    for kind, words, found in laws(result):
        title(f"laws {words} ({len(found)})", COLORS.get(kind, "yellow"))
        for name, reason in found[:MOST]:
            lines += style.wrap(safe(name), "      ", "  ")
            if kind in ("new", "run") and reason:
                lines += style.wrap(safe(clip(reason, 300)), "      ", "      ")
    if result.flips:
        title(f"facts that flipped ({len(result.flips)})", "yellow")
    for flip in result.flips[:MOST]:
        pin = " (pinned)" if flip["pinned"] else ""
        lines += style.wrap(safe(f"{flip['id']}{pin}: {flip['sentence']}"), "      ", "  ")
        lines += style.wrap(safe(f"was {shown(flip['old'], 160)}"), "          ", "      ")
        lines += style.wrap(safe(f"is  {shown(flip['new'], 160)}"), "          ", "      ")
        if flip["means"]:
            lines += style.wrap(safe(flip["means"]), "      ", "      ")
    if result.handover.losses:
        title(f"conversations that end otherwise ({len(result.handover.losses)})", "red")
    for loss in result.handover.losses[:MOST]:
        first, *rest = loss_lines(loss)
        lines += style.wrap(safe(first), "      ", "  ")
        for line in rest:
            lines += style.wrap(safe(line), "          ", "      ")
    lines += ["", *style.wrap(compared(result), "    ")]
    for note in remarks(result):
        lines += style.wrap(f"note: {safe(note)}", "    ")
    color = "red" if result.regressions else "green"
    lines += [
        style.paint(line, color, "bold") for line in style.wrap(safe(verdict(result)), "    ")
    ]
    return "\n".join(style.plain(line.rstrip()) for line in lines)


def markdown(result: Result) -> str:
    """The bump for a step summary or a comment."""
    sign = "❌" if result.regressions else "✅"
    lines = [
        f"## {sign} {escape(verdict(result))}",
        "",
        f"Target {code(result.settings.target)}",
        "",
    ]
    lines += [f"- {code(text)}" for text in packages(result)]
    for kind, words, found in laws(result):
        opened = " open" if kind == "new" else ""
        lines += ["", f"<details{opened}><summary><b>laws {words}</b> ({len(found)})</summary>", ""]
        lines += [f"- {code(name)}: {escape(clip(reason, 300))}" for name, reason in found[:MOST]]
        lines += ["", "</details>"]
    if result.flips:
        lines += [
            "",
            f"<details open><summary><b>facts that flipped</b> ({len(result.flips)})</summary>",
            "",
        ]
        lines += ["| fact | was | is | what it may mean |", "|---|---|---|---|"]
        for flip in result.flips[:MOST]:
            pin = " 📌" if flip["pinned"] else ""
            cells = (f"{code(flip['id'])}{pin}<br>{escape(flip['sentence'])}", code(shown(flip["old"], 120)),
                     code(shown(flip["new"], 120)), escape(flip["means"]))  # fmt: skip
            lines.append("| " + " | ".join(cells) + " |")
        lines += ["", "</details>"]
    if result.handover.losses:
        count = len(result.handover.losses)
        lines += [
            "",
            f"<details open><summary><b>conversations that end otherwise</b> ({count})</summary>",
            "",
        ]
        for loss in result.handover.losses[:MOST]:
            first, *rest = loss_lines(loss)
            lines += [f"- {escape(first)}", *(f"  - {escape(line)}" for line in rest)]
        lines += ["", "</details>"]
    lines += ["", escape(compared(result)), ""]
    return "\n".join([*lines, *(f"- {escape(note)}" for note in remarks(result)), ""])


def commands(result: Result) -> list[str]:
    """GitHub workflow commands: one error per reason not to upgrade, one warning for flipped facts."""
    found = [
        f"::error title=pytest-lineage bump::{_message(reason)}"
        for reason in result.regressions[:9]
    ]
    if result.flips:
        ids = ", ".join(flip["id"] for flip in result.flips)
        found.append(f"::warning title=pytest-lineage bump::facts that flipped: {_message(ids)}")
    return found


def _message(text: str) -> str:
    return safe(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
