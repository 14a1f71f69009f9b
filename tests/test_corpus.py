"""The corpus and the catalogue of defects: data that must fit the laws and each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lineage_conformance import corpus, kinds
from lineage_conformance import law as laws
from lineage_conformance.defects import FOLDER, catalogue
from lineage_conformance.kinds.saver.program import Program
from lineage_conformance.shrink import valid

ENTRIES = [
    (id, entry)
    for room in kinds.ROOMS
    for id, held in corpus.entries(room.corpus).items()
    for entry in held
]


@pytest.mark.parametrize(
    ("id", "entry"), ENTRIES, ids=[entry["origin"][:40] for _, entry in ENTRIES]
)
def test_corpus_program_is_replayed_by_its_law(id: str, entry: dict[str, object]) -> None:
    program = Program.from_json(entry)
    assert valid(program)
    assert program.origin
    assert program in laws.get(id).programs
    again = json.loads(json.dumps(program.to_json()))
    assert again == {key: value for key, value in entry.items() if key != "law"}


def test_corpus_names_the_file_that_it_cannot_read(tmp_path: Path) -> None:
    (tmp_path / "torn.json").write_text('{"law":')
    with pytest.raises(ValueError, match=r"torn\.json"):
        corpus.entries(tmp_path)


def test_corpus_refuses_a_program_without_a_law(tmp_path: Path) -> None:
    (tmp_path / "lost.json").write_text('{"law": "put.nothing", "format": 1, "ops": []}')
    with pytest.raises(ValueError, match=r"put\.nothing"):
        laws.attach(tmp_path)


def test_every_known_defect_was_told_apart() -> None:
    results = {r["id"]: r for r in json.loads((FOLDER / "results.json").read_text())["results"]}
    for defect in catalogue():
        result = results[defect.id]
        assert laws.get(defect.law).group == defect.group
        assert result["ok"], defect.id
        assert result["law"] == defect.law
        assert tuple(result["faulty"]["pins"]) == defect.faulty
        assert tuple(result["fixed"]["pins"]) == defect.fixed
