"""The documentation site: each page has a place, the generated pages are those of the code, and the build is strict."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe
import pytest
from pages import DOCS

from bench.reference import FOLDER, PAGES

ROOT = DOCS.parent
CONFIG = ROOT / "zensical.toml"
API = sorted((FOLDER / "api").glob("*.md"))


def _paths(navigation: Any) -> Iterator[str]:
    """Yields the pages of a navigation, at any depth."""
    if isinstance(navigation, str):
        yield navigation
    else:
        for each in navigation.values() if isinstance(navigation, dict) else navigation:
            yield from _paths(each)


def test_each_page_stands_once_in_the_navigation() -> None:
    """Lab notes and screens are reached from pages."""
    named = list(_paths(tomllib.loads(CONFIG.read_text())["project"]["nav"]))
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    reached = {page for page in pages if re.match(r"lab/2|screens/", page)}
    assert sorted(named) == sorted(pages - reached)


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_that_of_the_code(name: str) -> None:
    assert (FOLDER / f"{name}.md").read_text() == PAGES[name](), "write it again: python -m bench.reference"


def _undocumented(found: griffe.Object) -> Iterator[str]:
    for each in found.members.values():
        if each.is_alias or not each.is_public or re.search(r"\.__\w+__$", each.path):
            continue
        if (each.is_function or each.is_class) and not each.has_docstring:
            yield each.path
        if isinstance(each, griffe.Class):
            yield from _undocumented(each)


@pytest.mark.parametrize("page", API, ids=lambda page: page.stem)
def test_every_part_of_the_api_is_documented(page: Path) -> None:
    modules = re.findall(r"^::: (\S+)$", page.read_text(), re.MULTILINE)
    files = {module: ROOT / f"{module.replace('.', '/')}.py" for module in modules}
    read = [griffe.visit(module, file, file.read_text()) for module, file in files.items()]
    assert modules
    assert [path for each in read for path in _undocumented(each)] == []


def test_a_public_name_without_a_docstring_is_noticed() -> None:
    source = "def said(): pass\nclass Public:\n    'It is.'\n    def silent(self): pass\n    def _own(self): pass\n"
    found = list(_undocumented(griffe.visit("module", Path("module.py"), source)))
    assert found == ["module.said", "module.Public.silent"]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the pages and of the settings of the site, beside the code."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs")
    shutil.copy(CONFIG, folder)
    for name in ("fuzz_core", "nightfuzz", "bot", "reports"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def _built(checkout: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True)


@pytest.mark.slow
def test_the_site_builds_strictly_and_asks_no_other_host(checkout: Path) -> None:
    done = _built(checkout)
    assert done.returncode == 0, done.stdout + done.stderr
    made = {str(page.relative_to(checkout / "build/site")) for page in (checkout / "build/site").rglob("index.html")}
    assert {"index.html", "tutorial/index.html", "reference/api/oracles/index.html"} <= made
    for page in made:
        text = (checkout / "build/site" / page).read_text()
        assert re.findall(r'<(?:script|img)[^>]+src="?https?://|<link[^>]+stylesheet[^>]+https?://', text) == []
    assert "Return an oracle by name" in (checkout / "build/site/reference/api/oracles/index.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("link", ["nowhere.md", "tutorial.md#nowhere"])
def test_a_broken_link_stops_the_build(checkout: Path, link: str) -> None:
    home = checkout / "docs/README.md"
    before = home.read_text()
    home.write_text(f"{before}\n[broken]({link})\n")
    done = _built(checkout)
    home.write_text(before)
    assert done.returncode != 0
    assert "does not exist" in done.stdout + done.stderr
