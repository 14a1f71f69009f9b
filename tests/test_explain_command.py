"""`pytest-lineage explain`: every law, and a page for each kind that leaves nothing out."""

from __future__ import annotations

import ast
import builtins
import json
from collections.abc import Iterator

import pytest

from lineage_conformance import kinds, page
from lineage_conformance import law as laws
from lineage_conformance.handles import HALVES
from lineage_conformance.kinds import KINDS
from lineage_conformance.kinds.transfer import terms as transfer_terms
from pytest_lineage.cli import main

IDS = [item.id for item in laws.all_laws()]
TYPES = {
    "Any",
    "Callable",
    "Iterator",
    "AsyncIterator",
    "Mapping",
    "Sequence",
    "Protocol",
    "field",
    "dataclass",
}


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(["explain", *arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("group", sorted({id.partition(".")[0] for id in IDS}))
def test_every_law_is_explained(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    for id in IDS:
        if id.partition(".")[0] != group:
            continue
        item, text = laws.get(id), said(capsys, id)
        assert text.startswith(f"{id}  ({item.level.value}, kind {item.kind})")
        assert " ".join(item.sentence.split()) in " ".join(text.split())
        assert text.count("\nprogram ") == len(item.programs)
        assert json.loads(said(capsys, id, "--format", "json"))["id"] == id


def test_a_program_of_its_own_form_says_how_it_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "delta_blobs.flag-by-thread")
    assert "mode(mode='shadow', threads=['t'])" in text
    assert "``mode``: the flag becomes `mode`" in text
    assert "where a turn is cut" in said(capsys, "rollback.restores-next").lower()
    assert "how to read them" not in said(capsys, "put.is-readable")
    assert "one Send each" in said(capsys, "graph_resume.order-is-kept")


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_prints_every_name_that_it_mentions(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said(capsys, "--kind", kind)
    tree = ast.parse(text)  # the page is Python, and can be started from
    defined = set(_defined(tree))
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    assert used - defined - TYPES - set(vars(builtins)) == set()
    record = kinds.get(kind)
    for half in HALVES:
        for name in (*record.required(half), *record.optional(half)):
            assert f"def {name}(" in text
        for name in record.optional(half):
            assert '"""Optional.' in text.partition(f"def {name}(")[2].partition("def ")[0]
    assert "`store.path`" in text
    assert "list(None," in text
    for item in laws.all_laws(kind):
        assert item.id in text


def test_codes_and_states_of_a_transfer_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "--kind", "transfer")
    words = [*transfer_terms.CODES, *transfer_terms.STATUSES, *transfer_terms.TYPES,
             *transfer_terms.RESOLUTIONS, *transfer_terms.CREATORS]  # fmt: skip
    assert [word for word in words if f'"{word}"' not in text] == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_as_json(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(said(capsys, "--kind", kind, "--format", "json"))
    assert data["page"] == page.page(kinds.get(kind))
    assert set(data["sync"]["required"]).isdisjoint(data["sync"]["optional"])
    assert data["laws"]


def _defined(tree: ast.Module) -> Iterator[str]:
    for item in tree.body:
        if isinstance(item, ast.ClassDef):
            yield item.name
            for inner in ast.walk(item):
                if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    yield inner.name  # `list` of a saver, named by the type of another method
        elif isinstance(item, ast.Assign):
            yield from (target.id for target in item.targets if isinstance(target, ast.Name))
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            yield item.target.id
