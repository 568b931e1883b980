"""Changed helper files: a seed counts as changed if and only if it needs the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz_core.collect.sources import Request, collect

FILES = {
    "conftest.py": "import pytest\n",
    "unit/test_plain.py": "import torch\n\ndef test(): torch.ones(2)\n",
    "unit/test_helped.py": "import json\nfrom helpers.shapes import small\n\ndef test(): open('values.json')\n",
    "unit/values.json": "[1]",
    "unit/helpers/__init__.py": "",
    "unit/helpers/shapes.py": "from . import sizes\nfrom .deep import *\nsmall = sizes.TWO\n",
    "unit/helpers/sizes.py": "TWO = 2\n",
    "unit/helpers/deep.py": "import broken\n",
    "unit/broken.py": "def (:\n",
    "unit/unused.py": "x = 1\n",
    "other/test_else.py": "import torch\n",
}
HELPED = {"unit/test_helped.py"}
ALL = {"unit/test_plain.py", "unit/test_helped.py", "other/test_else.py"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "tests"


def digests(root: Path) -> dict[str, str]:
    return {seed.relative: seed.digest for seed in collect(Request("torch", tests_dirs=[root]), ["tests"])}


@pytest.mark.parametrize(
    ("changed", "seeds"),
    [
        ("unit/helpers/shapes.py", HELPED),
        ("unit/helpers/sizes.py", HELPED),
        ("unit/helpers/deep.py", HELPED),
        ("unit/helpers/__init__.py", HELPED),
        ("unit/broken.py", HELPED),
        ("unit/values.json", HELPED),
        ("unit/unused.py", set()),
        ("conftest.py", ALL),
        ("unit/conftest.py", {"unit/test_plain.py", "unit/test_helped.py"}),
        ("other/test_else.py", {"other/test_else.py"}),
    ],
)
def test_exactly_the_dependants_of_a_changed_file_change(root: Path, changed: str, seeds: set[str]) -> None:
    before = digests(root)
    with (root / changed).open("a") as file:
        file.write("\n# changed\n")
    after = digests(root)
    assert before.keys() == after.keys() == ALL
    assert {name for name in ALL if before[name] != after[name]} == seeds


def test_where_the_root_lies_does_not_count(root: Path, tmp_path: Path) -> None:
    before = digests(root)
    (tmp_path / "moved").mkdir()
    assert digests(root.rename(tmp_path / "moved" / "tests")) == before


def test_a_program_has_helpers_too_and_one_without_keeps_its_digest(tmp_path: Path) -> None:
    (tmp_path / "layers.py").write_text("WIDTH = 3\n")
    (tmp_path / "train.py").write_text("from layers import WIDTH\nprint(WIDTH)\n")
    (tmp_path / "plain.py").write_text("import layer\nprint(1)\n")

    def programs() -> dict[str, tuple[str, str]]:
        request = Request("none", models_dirs=[tmp_path])
        return {seed.relative: (seed.digest, seed.needs) for seed in collect(request, ["models"])}

    before = programs()
    assert before["plain.py"][1] == "" != before["train.py"][1]
    (tmp_path / "layers.py").write_text("WIDTH = 4\n")
    after = programs()
    assert {name for name in before if before[name] != after[name]} == {"train.py"}


def test_the_rest_of_the_project_counts_and_nothing_else(root: Path) -> None:
    project = root.parent
    for name in ("pack/__init__.py", "pack/parts.py", "src/deep/__init__.py", "torch/__init__.py", "numpy.txt"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("x = 1\n")
    (root / "test_project.py").write_text(
        "import torch, numpy\nfrom pack import parts\nimport deep\nopen('../numpy.txt')\n"
    )
    seeds = {"pack/__init__.py": True, "pack/parts.py": True, "src/deep/__init__.py": True, "conftest.py": True,
             "torch/__init__.py": False, "numpy.txt": False}  # fmt: skip
    for name, counts in seeds.items():
        before = digests(root)
        (project / name).write_text("x = 2\n")
        assert (digests(root)["test_project.py"] != before["test_project.py"]) == counts, name


def test_what_every_test_names_and_nobody_has_is_no_helper(root: Path) -> None:
    (root / "test_strange.py").write_text(
        "from ........... import far\nimport nowhere.at.all\nopen('.')\nopen('a.b')\n"
    )
    (root / "conftest.py").unlink()
    (seed,) = [s for s in collect(Request("torch", tests_dirs=[root]), ["tests"]) if s.relative == "test_strange.py"]
    assert seed.needs == ""


def test_of_tests_inside_a_wheel_other_wheels_are_no_helpers(tmp_path: Path) -> None:
    installed = tmp_path / "site-packages"
    for name, text in {"keras/own_test.py": "import numpy\n", "numpy/__init__.py": "", "conftest.py": ""}.items():
        (installed / name).parent.mkdir(parents=True, exist_ok=True)
        (installed / name).write_text(text)
    (seed,) = collect(Request("tensorflow", packages={"keras": installed / "keras"}), ["tests"])
    assert seed.needs == ""
