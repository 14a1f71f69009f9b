"""What is shipped: the wheel, the sdist that builds it, the metadata, and what an import costs."""

from __future__ import annotations

import ast
import email
import importlib.util
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from configparser import ConfigParser
from email.message import Message
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
ROOMS = {
    "pytest_lineage": ROOT / "src",
    "lineage_conformance": ROOT / "conformance",
    "lineage_reference": ROOT / "reference",
}

needs_tree = pytest.mark.skipif(
    not (ROOT / "src" / "pytest_lineage").is_dir(),
    reason="the source tree is out of the way: nothing to build or to read",
)
needs_hatchling = pytest.mark.skipif(
    importlib.util.find_spec("hatchling") is None, reason="hatchling is not installed"
)


def build(kind: str, tree: Path, into: Path) -> Path:
    """Build a `wheel` or an `sdist` of *tree* without a network, and return the file."""
    call = f"import hatchling.build as b, sys; print(b.build_{kind}(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", call, str(into)], cwd=tree, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return into / done.stdout.split()[-1]


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def members(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def metadata(wheel: Path) -> Message:
    (text,) = (body for name, body in members(wheel).items() if name.endswith("/METADATA"))
    return email.message_from_bytes(text)


def floors(requirements: list[str]) -> dict[str, str]:
    """The lower bound of each requirement, by canonical name; `psycopg[binary]` counts as both."""
    found = {}
    for requirement in map(Requirement, requirements):
        if requirement.name == "pytest-lineage":
            continue
        (floor,) = (s.version for s in requirement.specifier if s.operator in (">=", "=="))
        found[canonicalize_name(requirement.name)] = floor
        if requirement.name == "psycopg":
            found["psycopg-binary"] = floor
    return found


def same_version(one: str, other: str) -> bool:
    trimmed = [re.sub(r"(\.0)+$", "", version) for version in (one, other)]
    return trimmed[0] == trimmed[1]


@needs_tree
@needs_hatchling
class TestWheel:
    def test_it_holds_the_three_packages_and_nothing_else(self, wheel: Path) -> None:
        tops = {name.split("/")[0] for name in members(wheel)}
        assert tops == {*ROOMS, "pytest_lineage-0.1.0.dist-info"}

    @pytest.mark.parametrize("package", ROOMS)
    def test_each_package_is_typed(self, wheel: Path, package: str) -> None:
        assert f"{package}/py.typed" in members(wheel)

    @pytest.mark.parametrize("package", ROOMS)
    def test_every_module_and_data_file_is_in(self, wheel: Path, package: str) -> None:
        room = ROOMS[package]
        wanted = {
            path.relative_to(room).as_posix()
            for path in (room / package).rglob("*")
            if path.is_file() and path.suffix in {".py", ".toml", ".json", ".jsonl", ".sql"}
        }
        assert wanted
        assert wanted <= set(members(wheel))

    def test_no_test_is_in(self, wheel: Path) -> None:
        odd = [
            name
            for name in members(wheel)
            if re.search(r"(^|/)(tests?/|test_[^/]*\.py$|conftest\.py$|__pycache__)", name)
        ]
        assert odd == []

    def test_entry_points(self, wheel: Path) -> None:
        (text,) = (
            body for name, body in members(wheel).items() if name.endswith("/entry_points.txt")
        )
        points = ConfigParser()
        points.read_string(text.decode())
        assert {section: dict(points[section]) for section in points.sections()} == {
            "console_scripts": {"pytest-lineage": "pytest_lineage.cli:main"},
            "pytest11": {"lineage": "pytest_lineage.plugin"},
        }

    def test_metadata(self, wheel: Path) -> None:
        meta = metadata(wheel)
        assert meta["Name"] == "pytest-lineage"
        assert meta["Requires-Python"] == ">=3.10"
        assert meta["License-Expression"] == "MIT"
        assert any(name.endswith("/licenses/LICENSE") for name in members(wheel))
        minors = {
            c.rsplit(" ", 1)[1]
            for c in meta.get_all("Classifier", [])
            if re.search(r":: 3\.\d+$", c)
        }
        assert minors == {"3.10", "3.11", "3.12", "3.13"}

    def test_the_readme_is_the_description(self, wheel: Path) -> None:
        if not (ROOT / "README.md").exists():
            pytest.skip("there is no README.md yet")
        meta = metadata(wheel)
        assert meta["Description-Content-Type"] == "text/markdown"
        assert meta.get_payload()

    def test_core_dependencies_are_few_and_their_floors_low(self, wheel: Path) -> None:
        core = [
            text for text in metadata(wheel).get_all("Requires-Dist", []) if "extra ==" not in text
        ]
        assert floors(core) == {
            "hypothesis": "6.100",
            "langgraph": "0.2.47",
            "langgraph-checkpoint": "2.0.2",
            "pytest": "8.2",
            "tomli": "1.2.2",
        }
        (tomli,) = (r for r in map(Requirement, core) if r.name == "tomli")
        assert tomli.marker is not None
        assert not tomli.marker.evaluate({"python_version": "3.11"})
        assert tomli.marker.evaluate({"python_version": "3.10"})

    def test_extras(self, wheel: Path) -> None:
        meta = metadata(wheel)
        features = {"sqlite", "postgres", "containers", "http", "branching", "cov"}
        assert set(meta.get_all("Provides-Extra", [])) == features | {"all", "test"}
        asked: dict[str, set[str]] = {extra: set() for extra in features | {"all", "test"}}
        for requirement in map(Requirement, meta.get_all("Requires-Dist", [])):
            for extra, names in asked.items():
                if requirement.marker and requirement.marker.evaluate({"extra": extra}):
                    names.add(requirement.name)
        core = {"tomli"} & asked["all"]
        assert asked["all"] == core.union(*(asked[extra] for extra in features))


@needs_tree
@needs_hatchling
def test_the_sdist_builds_the_same_wheel(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        if sys.version_info >= (3, 12):
            archive.extractall(tmp_path, filter="data")
        else:
            archive.extractall(tmp_path)
    (tree,) = tmp_path.iterdir()
    assert (tree / "tests" / Path(__file__).name).is_file()
    again = build("wheel", tree, tmp_path)
    assert members(again) == members(wheel)


@needs_tree
def test_the_lowest_environment_pins_exactly_the_floors() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    declared = floors(
        [
            *project["dependencies"],
            *(text for extra in optional if extra != "test" for text in optional[extra]),
            *(text for text in optional["test"] if text.startswith("pytest-asyncio")),
        ]
    )
    tox = ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini", encoding="utf-8")
    pins = floors(re.findall(r"^lowest: (.+)$", tox["testenv"]["deps"], re.MULTILINE))
    del pins["aiosqlite"]  # not ours: the newest one does not fit the oldest saver
    assert pins.keys() == declared.keys()
    wrong = {
        name: (pins[name], declared[name])
        for name in pins
        if not same_version(pins[name], declared[name])
    }
    assert wrong == {}


@needs_tree
@pytest.mark.parametrize(
    ("package", "strangers"),
    [
        ("lineage_conformance", {"pytest_lineage", "lineage_reference"}),
        ("lineage_reference", {"pytest_lineage", "lineage_conformance"}),
    ],
)
def test_arrows_point_one_way(package: str, strangers: set[str]) -> None:
    wrong = []
    for path in (ROOMS[package] / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            wrong += [
                f"{path.name}:{node.lineno} imports {name}"
                for name in names
                if name.split(".")[0] in strangers
            ]
    assert wrong == []


def heavy_after(statement: str) -> list[str]:
    """Which of the expensive packages a fresh interpreter has loaded after *statement*."""
    code = (
        f"import sys; {statement}\n"
        "print('loaded:', *sorted({m.split('.')[0] for m in sys.modules}"
        " & {'langgraph', 'langchain_core', 'hypothesis', 'pydantic', 'numpy'}))"
    )
    # Coverage of a subprocess is none of this test's business, and would load what it loads.
    env = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.rpartition("loaded:")[2].split()


@pytest.mark.parametrize("module", ["pytest_lineage", "pytest_lineage.plugin"])
def test_an_idle_plugin_loads_neither_langgraph_nor_hypothesis(module: str) -> None:
    assert heavy_after(f"import {module}") == []


def test_loading_the_plugin_into_pytest_loads_neither_langgraph_nor_hypothesis(
    tmp_path: Path,
) -> None:
    (tmp_path / "test_one.py").write_text("def test_one(): pass\n", encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    statement = (
        "import os, pytest; os.environ['PYTEST_DISABLE_PLUGIN_AUTOLOAD'] = '1'; "
        f"code = pytest.main(['-qq', '-p', 'pytest_lineage.plugin', {str(tmp_path)!r}]); "
        "assert code == 0, code"
    )
    assert heavy_after(statement) == []


@pytest.mark.parametrize("package", ["pytest_lineage", "lineage_conformance"])
def test_version_is_the_installed_one(package: str) -> None:
    code = f"import {package}; print({package}.__version__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "0.1.0", done.stderr
