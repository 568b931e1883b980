"""The arrows of the house: the two worlds, and no circle of imports."""

from __future__ import annotations

import sys
from graphlib import TopologicalSorter

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
