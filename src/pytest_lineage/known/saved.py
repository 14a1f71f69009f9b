"""Programs on disk: what a broken law leaves behind, so that anybody can run it again.

Each is one JSON file, named by a short id made of the law, the target and the program: the same failure
has the same id on every machine and in every run. ``.lineage/failures/`` holds what runs leave and is not
for version control; ``.lineage/known/`` holds what a known-failures file refers to, and is.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    from pytest_lineage.run.rows import Row

FORMAT = 1
"""Version of the file format; a reader refuses a larger one."""

HOME = ".lineage"
FOLDER = "failures"
"""What runs leave, below `HOME`."""
KEPT = "known"
"""What the known-failures file refers to, below `HOME`."""

MOST_BYTES = 4_000_000
"""A larger file is no program of ours."""

BAD = ("broken", "hangs")
_ID = re.compile(r"[a-z0-9_]+-[0-9a-f]{1,8}")
_IGNORE = """\
# Written by pytest-lineage. What is below known/ belongs into version control.
*
!.gitignore
!known/
!known/**
"""


class FailureError(Exception):
    """A saved program cannot be found or read. The message says which, why, and what to do."""


@dataclass(frozen=True)
class Saved:
    """A program with the law it breaks and where it did so."""

    law: str
    program: Mapping[str, Any]
    target: str
    """The text that names the target; a file in it is relative to the folder that holds ``.lineage``."""
    name: str
    """The target's name in reports."""
    kind: str = "saver"
    over: str = ""
    faces: tuple[str, ...] = ("sync",)
    """Faces on which it was seen, the first one first."""
    path: tuple[str, ...] = ()
    """Folders to search when the target is imported, as `target`."""
    verdict: str = "broken"
    level: str = "MUST"
    sentence: str = ""
    reason: str = ""
    differences: Sequence[Mapping[str, Any]] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    """Installed packages of the run that saw it."""

    @property
    def id(self) -> str:
        """The group of the law and eight hex digits."""
        return identify(self.law, self.name, self.program)

    def to_json(self) -> dict[str, Any]:
        """The file's content."""
        return {
            "format": FORMAT,
            "id": self.id,
            "law": self.law,
            "level": self.level,
            "sentence": self.sentence,
            "target": {
                "name": self.name, "text": self.target, "kind": self.kind, "over": self.over,
                "path": list(self.path),
            },
            "faces": list(self.faces),
            "verdict": self.verdict,
            "reason": self.reason,
            "program": dict(self.program),
            "differences": [dict(item) for item in self.differences],
            "versions": dict(self.versions),
        }  # fmt: skip

    def row(self, face: str | None = None) -> dict[str, Any]:
        """The failure as a row of a report, for writers that read those."""
        return {
            "law": self.law, "face": face or self.faces[0], "target": self.name, "level": self.level,
            "verdict": self.verdict, "group": self.law.partition(".")[0], "sentence": self.sentence,
            "reason": self.reason, "program_id": self.id,
            "evidence": {"program": dict(self.program), "differences": list(self.differences)},
        }  # fmt: skip


def identify(law: str, target: str, program: Mapping[str, Any]) -> str:
    """The id of a failure. Where a program came from (`origin`) does not count."""
    target = public(target)
    kept = {key: value for key, value in program.items() if key not in ("origin", "format")}
    text = json.dumps([law, target, kept], sort_keys=True, default=repr)
    digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
    return f"{law.partition('.')[0]}-{digest[:8]}"


def public(text: str) -> str:
    """A target's name as files and reports hold it: without passwords and home path."""
    from pytest_lineage.report import model

    return str(model.redact(text))


def collect(rows: Iterable[Row], about: Mapping[str, Any], base: Path) -> list[Saved]:
    """What the broken rows of one target leave: one for each law and program. Sets each row's `program_id`.

    `about` describes the target (``text``, ``kind``, ``over``, ``import_path``, ``versions``); paths in it
    become relative to `base`.
    """
    found: dict[str, Saved] = {}
    for row in rows:
        if row.verdict not in BAD or not row.evidence or "program" not in row.evidence:
            continue
        program = row.evidence["program"]
        row.program_id = id = identify(row.law, row.target, program)
        if id in found:
            if row.face not in found[id].faces:
                found[id] = replace(found[id], faces=(*found[id].faces, row.face))
            continue
        found[id] = Saved(
            row.law, program, _relative(str(about.get("text") or row.target), base), row.target,
            str(about.get("kind") or "saver"), str(about.get("over_text") or ""), (row.face,),
            tuple(_relative(entry, base) for entry in about.get("import_path", ())),
            row.verdict, row.level, row.sentence, row.reason, row.evidence.get("differences") or (),
            about.get("versions") or {},
        )  # fmt: skip
    return list(found.values())


def write(saved: Iterable[Saved], base: Path, folder: str = FOLDER) -> list[Path]:
    """Write programs below `base`; the files. Raises `OSError`."""
    files = []
    for item in saved:
        home = base / HOME
        (home / folder).mkdir(parents=True, exist_ok=True)
        ignore = home / ".gitignore"
        if not ignore.exists():
            ignore.write_text(_IGNORE, encoding="utf-8")
        file = home / folder / f"{item.id}.json"
        _replace(
            file, json.dumps(_redacted(item), indent=1, ensure_ascii=True, default=repr) + "\n"
        )
        files.append(file)
    return files


def _redacted(item: Saved) -> dict[str, Any]:
    """The file without secrets. The program itself is ours, and cut short it would be another one."""
    from pytest_lineage.report import model

    data = item.to_json()
    return {
        **model.redact({k: v for k, v in data.items() if k != "program"}),
        "program": data["program"],
    }


def _replace(file: Path, text: str) -> None:
    """Write a file so that no reader, in this or another process, sees half of it."""
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    part.write_text(text, encoding="utf-8", newline="\n")
    os.replace(part, file)


def _relative(text: str, base: Path) -> str:
    """A path, or a file and what is in it, seen from `base` where it lies below."""
    path, colon, rest = text.rpartition(":")
    if not colon or not path.endswith(".py"):
        path, colon, rest = text, "", ""
    try:
        inside = Path(path).relative_to(base).as_posix()
    except ValueError:
        return text
    return f"./{inside}{colon}{rest}" if colon else inside


# -- reading -----------------------------------------------------------------------------------------


def find(text: str, start: Path | None = None) -> Path:
    """The file that an id, the start of one, or a path names. Raises `FailureError`."""
    file = Path(text)
    if text.endswith(".json") or os.sep in text or "/" in text:
        if not file.is_file():
            raise FailureError(f"{text}: there is no such file")
        return file
    if not _ID.fullmatch(text):
        raise FailureError(
            f"{text!r} is neither the id of a saved program (fork-1a2b3c4d) nor a file"
        )
    start = start or Path.cwd()
    known: dict[str, Path] = {}
    for home in (folder / HOME for folder in (start, *start.parents)):
        for name in (FOLDER, KEPT):
            known.update({f.stem: f for f in sorted((home / name).glob("*.json"))})
        if known:
            break
    found = [id for id in known if id == text] or [id for id in known if id.startswith(text)]
    if len(found) == 1:
        return known[found[0]]
    if found:
        raise FailureError(
            f"{text!r} is the start of {', '.join(sorted(found)[:5])}; give more of it"
        )
    near = difflib.get_close_matches(text, known, 3, 0.4)
    hint = f"did you mean {', '.join(near)}?" if near else "`pytest-lineage check` writes them"
    raise FailureError(
        f"there is no saved program {text!r} in {HOME}/{FOLDER} or {HOME}/{KEPT}; {hint}"
    )


def read(path: str | Path) -> Saved:
    """Read a program. Raises `FailureError` that says what is wrong with the file."""
    path = Path(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise FailureError(
                f"{path}: is larger than {MOST_BYTES} bytes, so it is no saved program"
            )
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FailureError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise FailureError(f"{path}: is no text, so it is no saved program") from None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        ended = getattr(error, "pos", 0) >= len(text.rstrip()) or "Unterminated" in str(error)
        cut = "cut short" if ended else "damaged"
        raise FailureError(f"{path}: is no JSON; the file is {cut}, or no saved program") from None
    return _checked(path, data)


def _checked(path: Path, data: Any) -> Saved:
    if not isinstance(data, dict) or "law" not in data or "program" not in data:
        raise FailureError(f"{path}: is no saved program: it names no law and program")
    version = data.get("format")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise FailureError(f"{path}: is no saved program: its format is {version!r:.60}")
    if version > FORMAT:
        raise FailureError(
            f"{path}: has format {version}, newer than {FORMAT}, the newest that this version reads; "
            "upgrade pytest-lineage"
        )
    target = data.get("target")
    faces = data.get("faces")
    target = target if isinstance(target, dict) else {}
    texts = isinstance(data["law"], str) and isinstance(target.get("text"), str)
    if not texts or not isinstance(data["program"], dict) or not _are_texts(faces) or not faces:
        raise FailureError(
            f"{path}: is damaged: law, target, faces or program is of the wrong type"
        )
    differences = data.get("differences")
    differences = (
        [d for d in differences if isinstance(d, dict)] if isinstance(differences, list) else []
    )
    versions = data.get("versions")
    path_entries = target.get("path")
    return Saved(
        data["law"], data["program"], target["text"], str(target.get("name") or target["text"]),
        str(target.get("kind") or "saver"), str(target.get("over") or ""), tuple(faces),
        tuple(path_entries) if _are_texts(path_entries) else (), str(data.get("verdict", "broken")),
        str(data.get("level", "MUST")), str(data.get("sentence", "")), str(data.get("reason", "")),
        differences, {str(k): str(v) for k, v in versions.items()} if isinstance(versions, dict) else {},
    )  # fmt: skip


def _are_texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def located(saved: Saved, file: Path) -> Saved:
    """The program with paths that can be opened from here: relative ones start where ``.lineage`` lies."""
    parents = file.resolve().parents
    base = parents[2] if len(parents) > 2 and parents[1].name == HOME else Path.cwd()

    def here(text: str) -> str:
        where, colon, rest = text.rpartition(":")
        if colon and where.endswith(".py"):
            file = Path(where).expanduser()
            return text if file.is_absolute() or file.is_file() else f"{base / file}:{rest}"
        return text

    entries = tuple(str(base / Path(entry).expanduser()) for entry in saved.path)
    return replace(saved, target=here(saved.target), over=here(saved.over), path=entries)


def load(text: str) -> Saved:
    """The program that an id or a path names, ready to run from here. Raises `FailureError`."""
    file = find(text)
    return located(read(file), file)
