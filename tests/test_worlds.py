"""The import rules of the project: the two worlds, and no circle of imports."""

from __future__ import annotations

import ast
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

BELOW_THE_LINE = ("adapters", "ir", "mutation", "oracles", "tracing", "worker")
ALLOWED = {"numpy", "fuzz_core"} | set(sys.stdlib_module_names)
# The files of one library may import that library. TensorFlow brings Keras.
LIBRARIES: dict[str, set[str]] = {"pytorch": {"torch"}, "tensorflow": {"tensorflow", "keras"}, "jittor": {"jittor"}}

# A seed that is a pytest test needs pytest, which every target's environment holds.
GUESTS = {"fuzz_core.tracing.runner": {"pytest"}}


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    """Imports that run. An import for a type checker alone makes no circle."""
    return grimp.build_graph(
        "fuzz_core", include_external_packages=True, exclude_type_checking_imports=True, cache_dir=None
    )


@pytest.mark.parametrize("room", BELOW_THE_LINE)
def test_a_room_below_the_line_imports_the_standard_library_and_numpy_alone(
    graph: grimp.ImportGraph, room: str
) -> None:
    name = f"fuzz_core.{room}"
    for module in {name, *graph.find_descendants(name)}:
        library = module.split(".")[2:3] if room == "adapters" else []
        allowed = ALLOWED | LIBRARIES.get("".join(library), set()) | GUESTS.get(module, set())
        found = {each.split(".")[0] for each in graph.find_modules_directly_imported_by(module)}
        assert found <= allowed, f"{module} imports {sorted(found - allowed)}"


def test_the_profile_of_a_worker_imports_no_more_than_a_target_has() -> None:
    """`bench/profile.py` runs in the target's interpreter."""
    tree = ast.parse((Path(__file__).parents[1] / "bench" / "profile.py").read_text(encoding="utf-8"))
    modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    ours = [module.split(".")[1] for module in modules if module.startswith("fuzz_core.")]
    assert ours and set(ours) <= {*BELOW_THE_LINE}
    others = [module.split(".")[0] for module in modules if not module.startswith("fuzz_core.")]
    others += [each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names]
    assert {*others} <= ALLOWED


def test_a_library_is_imported_by_its_adapter_alone(graph: grimp.ImportGraph) -> None:
    for folder, names in LIBRARIES.items():
        for name in names & graph.modules:
            importers = graph.find_modules_that_directly_import(name)
            assert importers
            assert all(each.startswith(f"fuzz_core.adapters.{folder}") for each in importers)


def test_no_module_imports_itself_in_the_end(graph: grimp.ImportGraph) -> None:
    arrows = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(arrows).prepare()  # raises CycleError, which names the circle
    assert len(arrows) > 100


def test_bot_and_reports_are_imported_below_the_package_of_the_project() -> None:
    """A user's environment may hold packages of its own that are called `bot` or `reports`."""
    root = Path(__file__).parents[1]
    files = [
        file for folder in ("bot", "reports", "fuzz_core", "bench", "tests") for file in (root / folder).rglob("*.py")
    ]
    assert len(files) > 300
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            assert not {name.split(".")[0] for name in names} & {"bot", "reports"}, file
