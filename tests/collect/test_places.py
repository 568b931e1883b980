"""Call places: lines of the user's own tests that call an api."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz_core.collect.files import FilePlace, FilePlaces

CODE = """import torch

def test_plain():
    x = torch.zeros(2)
    assert torch.nn.functional.relu(x).sum() == 0

class TestLoss:
    def test_mean(self):
        loss = torch.nn.MSELoss()
        loss(torch.ones(2), torch.ones(2))
"""


@pytest.fixture
def places(tmp_path: Path) -> FilePlaces:
    tests = tmp_path / "project" / "tests" / "unit"
    tests.mkdir(parents=True)
    (tests / "test_it.py").write_text(CODE)
    (tests / "test_broken.py").write_text("def broken(:\n")
    return FilePlaces([tmp_path / "project" / "tests"], tmp_path / "project")


@pytest.mark.parametrize(
    ("name", "api", "line"),
    [
        ("tests/unit/test_it.py::test_plain", "torch.nn.functional.relu", 5),
        ("tests/unit/test_it.py::test_plain", "torch.zeros", 4),
        ("tests/unit/test_it.py::TestLoss::test_mean", "torch.nn.MSELoss", 9),
        ("tests/unit/test_it.py::TestLoss::test_mean[cpu-0]", "torch.ones", 10),
        ("tests/unit/test_it.py::test_plain", "torch.called_by_a_helper", 3),
        ("tests/unit/test_it.py::test_gone", "torch.zeros", 1),
        ("tests/unit/test_it.py", "torch.ones", 10),
        ("tests/unit/test_broken.py::test_x", "torch.ones", 1),
    ],
)
def test_the_line_is_that_of_the_call_or_of_what_is_around_it(
    places: FilePlaces, name: str, api: str, line: int
) -> None:
    assert places.of(name, api) == FilePlace(name.partition("::")[0], line, name)


@pytest.mark.parametrize("name", ["torch.zeros", "tests/unit/test_other.py", "tests/../../../etc/passwd", "x/y.py"])
def test_what_is_not_in_the_users_files_has_no_place(places: FilePlaces, name: str) -> None:
    assert places.of(name, "torch.zeros") is None


def test_a_file_beside_the_repository_has_no_place(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text(CODE)
    assert FilePlaces([tmp_path / "tests"], tmp_path / "project").of("tests/test_it.py", "torch.ones") is None
