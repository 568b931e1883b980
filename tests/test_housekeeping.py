"""Order of the repository: files stay small, tables resolve, and documents name existing files and targets."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from fuzz_core.adapters.base import ADAPTERS
from fuzz_core.adapters.dialect import DIALECTS, load_plugin
from fuzz_core.collect.sources import SOURCES
from fuzz_core.oracles.contract import ORACLES

ROOT = Path(__file__).parents[1]
MAX_LINES = 400
# Folders that users and GitHub meet; each public class in them has a unique name in the whole repository.
FRONT = ("bot", "reports", "bench", "fuzz_core/cli", "fuzz_core/targets")
TABLES = {
    "oracle": ORACLES,
    "seed source": SOURCES,
    "dialect": DIALECTS,
    "adapter": ADAPTERS,
}
# Lab notes name the files of their day.
PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
    if not path.match("docs/lab/2*.md")
)
ENTRIES = [(what, name) for what, table in TABLES.items() for name in table]


def files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize(("what", "name"), ENTRIES)
def test_every_entry_of_a_plugin_table_resolves(what: str, name: str) -> None:
    made = load_plugin(TABLES[what], name, what)()
    assert getattr(made, "name", getattr(made, "library", name)) == name


def test_no_file_has_grown_out_of_hand() -> None:
    sources = files("fuzz_core", "reports", "bot")
    assert len(sources) > 100
    assert {str(path) for path in sources if len(path.read_text().splitlines()) > MAX_LINES} == set()


def test_every_module_says_what_it_is_for() -> None:
    silent = [path for path in files("fuzz_core", "reports", "bot") if path.read_text().strip()
              and not path.read_text().startswith(('"""', "#!"))]  # fmt: skip
    assert silent == []


def _public_classes(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]


def test_a_public_class_of_the_front_has_a_name_of_its_own() -> None:
    shipped = "fuzz_core/programs"  # model programs, each a module of its own
    found = [path for path in files("fuzz_core", *FRONT) if shipped not in str(path)]
    homes: dict[str, list[Path]] = {}
    for path in found:
        for name in _public_classes(path):
            homes.setdefault(name, []).append(path)
    front = set(files(*FRONT))
    assert len(homes) > 200
    assert {name: paths for name, paths in homes.items() if len(set(paths)) > 1 and front & set(paths)} == {}


def test_no_module_of_the_front_is_named_by_an_action() -> None:
    nouns = {"wording"}
    names = [path.stem for path in files(*FRONT)]
    assert len(names) > 100
    assert [name for name in names if name.endswith(("ing", "ed")) and name not in nouns] == []


def test_tests_have_names_of_their_own() -> None:
    """Two test files with the same name are one module to pytest, because the test folders are no packages."""
    names = [path.name for path in files("tests") if path.name.startswith("test_")]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("page", PAGES)
def test_files_that_documents_name_exist(page: str) -> None:
    rooms = {path.name for path in (ROOT / "fuzz_core").iterdir() if path.is_dir()}
    named = re.findall(r"`((?:\w+/)+[\w*-]+\.py)`", (ROOT / page).read_text())
    ours = [name for name in named if name.split("/")[0] in rooms | {"fuzz_core", "bot", "reports", "tests", "bench"}]
    assert [name for name in ours if not any(list(ROOT.glob(each)) for each in (name, f"fuzz_core/{name}"))] == []


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_that_documents_name_exist(page: str) -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][\w-]*):", makefile, re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z][\w-]*)", (ROOT / page).read_text(), re.MULTILINE))
    assert named <= targets


def test_make_targets_are_declared_phony() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][\w-]*):", makefile, re.MULTILINE))
    assert targets == set(re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[0].split())
    assert {"fuzz", "test", "check"} <= targets


def test_links_between_documents_lead_somewhere() -> None:
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#\s]+)", page.read_text())]
    broken = [(page.name, link) for page, link in links if "://" not in link and not (page.parent / link).exists()]
    assert broken == []


def test_the_changelog_has_a_place_for_what_comes_next() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(r"^## \[?Unreleased\]?", changelog, re.MULTILINE)
