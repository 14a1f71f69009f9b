"""Which story a user means: by its id, its number, or the law that tells it apart."""

from __future__ import annotations

import difflib
import re
from typing import Any

from lineage_conformance import law as laws
from lineage_conformance.defects import Defect, WrongFix, catalogue, wrong_fixes
from lineage_conformance.law import Law

Story = Defect | WrongFix

_ID = re.compile(r"(?i)^([dw]?)[-_ ]?0*(\d{1,3})$")
_SOME = 6
"""Stories that are named when none was found."""


class StoryError(Exception):
    """No story, or more than one, is what the user named. The message says which there are."""


def stories() -> list[Story]:
    """Every defect, then every wrong first fix, by id."""
    return [*catalogue(), *wrong_fixes()]


def find(text: str) -> Story:
    """The story that `text` names: ``D-20``, ``d20``, ``20``, or the id of its law. Raises `StoryError`."""
    known = stories()
    match = _ID.match(text.strip())
    if match:
        wanted = f"{match[1].upper() or 'D'}-{int(match[2]):02}"
        for story in known:
            if story.id == wanted:
                return story
    by_law = [story for story in known if story.law == text.strip()]
    if len(by_law) == 1:
        return by_law[0]
    if by_law:
        raise StoryError(
            f"{text} tells several stories apart: {_named(by_law)}; name one by its id"
        )
    raise StoryError(f"no defect is called {text!r}; {_near(text, known)}")


def _near(text: str, known: list[Story]) -> str:
    """What the user may have meant: ids and laws that look alike, else titles that hold the word."""
    match = _ID.match(text.strip())
    if match:
        letter, number = match[1].upper() or "D", int(match[2])
        alike = [story for story in known if story.id[0] == letter]
        found = sorted(alike, key=lambda story: abs(int(story.id[2:]) - number))[:2]
    else:
        names = {name.lower(): story for story in known for name in (story.id, story.law)}
        found = [
            names[name] for name in difflib.get_close_matches(text.lower(), list(names), _SOME)
        ]
    if not found and len(text) > 2:
        found = [
            story
            for story in known
            if text.lower() in f"{story.title} {story.law} {story.area}".lower()
        ]
    found = list(dict.fromkeys(found))[:_SOME]
    hint = f"did you mean {_named(found)}? " if found else ""
    return f"{hint}`pytest-lineage repro --list` lists all {len(known)}"


def _named(some: list[Story]) -> str:
    return ", ".join(f"{story.id} ({story.title})" for story in some)


def law_of(story: Story) -> Law:
    """The law that tells the story apart."""
    return laws.get(story.law)


def entry(story: Story) -> dict[str, Any]:
    """A story as JSON data, as ``repro --list --format json`` lists it."""
    law = law_of(story)
    data: dict[str, Any] = {
        "id": story.id,
        "number": int(story.id[2:]),
        "kind": "defect" if isinstance(story, Defect) else "wrong fix",
        "title": story.title,
        "area": story.area,
        "story": story.story,
        "law": story.law,
        "level": law.level.value,
        "related": list(law.reports),
    }
    if isinstance(story, Defect):
        data |= {
            "target": story.target,
            "faulty": list(story.faulty),
            "fixed": list(story.fixed),
            "python": story.python,
            "upstream": story.upstream or None,
        }
    else:
        data |= {
            "fix": story.fix,
            "instead": story.instead,
            "right": story.right,
            "shows": list(story.shows),
        }
    return data
