"""A second build reuses what has not changed: changed seeds are traced, calls of other signatures run again."""

from __future__ import annotations

import os
import shutil
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from fuzz_core.campaign.carryover import TraceReport, changed_apis
from fuzz_core.campaign.changes import changes_between
from fuzz_core.campaign.fuzz import FuzzOptions, fuzz
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.trace import TraceOptions, trace
from fuzz_core.campaign.watch import Watch
from fuzz_core.execution import zygote
from fuzz_core.ir.errors import Interrupted, UserError
from fuzz_core.worker.confinement import confined

DOCSTRINGS = {
    "row_sum(np.ones((4, 2), np.float32))": "row_sum(np.ones((5, 2), np.float32))",
    "resize(np.arange(6), 4)": "resize(np.arange(7), 4)",
    "outer(np.ones((2, 3)), np.zeros((2, 3)))": "outer(np.ones((2, 4)), np.zeros((2, 4)))",
    "scale(np.ones(3), 2.5)": "scale(np.ones(3), 3.5)",
    "reserve(16)": "reserve(17)",
}
RENAMED = {"def scale(x: Any, by: float)": "def scale(x: Any, factor: float)", "if by < 0": "if factor < 0"}
CHANGED = {"fakelib.row_sum", "fakelib.resize", "fakelib.outer", "fakelib.scale", "fakelib.reserve"}


class FakelibBuilds:
    """Builds of fakelib in one state, each with its own text."""

    def __init__(self, session: Session, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.session = session
        self.folder = folder
        self.monkeypatch = monkeypatch

    def make(self, version: int, edits: dict[str, str]) -> Session:
        folder = self.folder / f"build{version}"
        common = Path(os.environ["NIGHTFUZZ_PATH"]) if version == 1 else self.folder / "build1"
        for name in ("fakelib", "nightfuzz_fakelib"):
            shutil.copytree(common / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        source = folder / "fakelib" / "__init__.py"
        text = source.read_text()
        for old, new in edits.items():
            assert old in text
            text = text.replace(old, new)
        source.write_text(text)
        self.monkeypatch.setenv("NIGHTFUZZ_PATH", str(folder))
        store, target = self.session.store, self.session.target._replace(key=f"fakelib-{version}", version=str(version))
        store.save_target(target)
        return Session(store, target, self.session.state_dir, workers=1)


@pytest.fixture
def builds(fakelib_session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakelibBuilds:
    return FakelibBuilds(fakelib_session, tmp_path, monkeypatch)


def traced(session: Session, **options: object) -> TraceReport:
    return trace(session, TraceOptions(sources=["docs"], **options))  # type: ignore[arg-type] # passed on


def space(session: Session) -> set[tuple[str, str, str, bool | None]]:
    return {(i.api, i.digest, i.expected, i.valid) for i in session.store.invocations(session.target.key)}


def test_of_a_second_build_with_five_changed_docstrings_five_seeds_are_traced(builds: FakelibBuilds) -> None:
    first = builds.make(1, {})
    whole = traced(first)
    second = builds.make(2, DOCSTRINGS)
    report = traced(second)
    assert report.status.total() == 5
    assert report.retraced.since == "fakelib-1"
    assert report.retraced.seeds == whole.seeds - 5 == report.unchanged
    assert report.retraced.changes == {"docstring": 5}
    # One changed seed still makes a call that its old text made.
    assert (report.retraced.rechecked, report.retraced.lost) == (1, 0)
    assert {change.api for change in changes_between(second.store, "fakelib-1", "fakelib-2").apis} == CHANGED
    third = builds.make(3, DOCSTRINGS)
    third.store.save_target(third.target._replace(library="another"))
    anew = traced(third)
    assert anew.retraced.since == "" and anew.status.total() == whole.seeds
    assert space(second) == space(third)
    assert second.store.argument_space("fakelib-2") == second.store.argument_space("fakelib-3")
    assert [seed[:4] for seed in second.store.seeds("fakelib-2")] == [s[:4] for s in second.store.seeds("fakelib-3")]
    assert second.store.coverage("fakelib-2") == second.store.coverage("fakelib-3")


def test_tracing_again_carries_nothing_twice(builds: FakelibBuilds) -> None:
    traced(builds.make(1, {}))
    second = builds.make(2, DOCSTRINGS)
    traced(second)
    before = space(second)
    report = traced(second)
    assert (report.status.total(), report.retraced.seeds, report.retraced.rechecked) == (0, 0, 0)
    assert report.retraced.since == "fakelib-1"
    assert space(second) == before


def page(builds: FakelibBuilds, *statements: str) -> list[Path]:
    """Writes a documentation directory with one page."""
    folder = builds.folder / "docs"
    folder.mkdir(exist_ok=True)
    lines = "\n".join(f"    >>> {line}" for line in ("import fakelib", "import numpy as np", *statements))
    (folder / "page.rst").write_text(f"A page.\n\n{lines}\n")
    return [folder]


def test_calls_of_a_removed_api_are_retired_and_the_rest_of_their_seed_comes_along(builds: FakelibBuilds) -> None:
    docs = page(builds, "fakelib.chatter(5)", "fakelib.add(np.ones((7, 7)), np.ones((7, 7)))")
    first = builds.make(1, {})
    traced(first, docs_dirs=docs)
    second = builds.make(2, {'    "chatter",\n': ""})
    report = traced(second, docs_dirs=docs)
    assert report.status.total() == 0
    assert report.retraced.changes == {"removed": 1}
    gone = [row for row in first.store.invocations("fakelib-1") if row.api == "fakelib.chatter"]
    assert report.retraced.retired == 1 < len(gone)  # a second call came from the api's own docstring, which is gone
    assert space(second) == {row for row in space(first) if row[0] != "fakelib.chatter"}
    assert not any("fakelib.chatter" in apis for types in second.store.argument_space("fakelib-2").values()
                   for apis in types.values())  # fmt: skip


def test_seeds_of_a_new_api_are_traced_and_so_are_those_that_waited_for_it(builds: FakelibBuilds) -> None:
    docs = page(builds, "lib = fakelib", "lib.double(np.ones(9))")
    (docs[0] / "other.rst").write_text("Nothing to double.\n\n    >>> import fakelib\n    >>> fakelib.fail(3)\n")
    fresh = '''def double(x: Any) -> Any:
    """Twice.

    >>> import fakelib
    >>> fakelib.double(np.ones(3))
    """
    return x + x


def row_sum('''
    first = builds.make(1, {})
    assert traced(first, docs_dirs=docs).status["partly"] == 1
    second = builds.make(2, {"def row_sum(": fresh, '    "add",\n': '    "add",\n    "double",\n'})
    report = traced(second, docs_dirs=docs)
    assert report.status == {"ok": 2}
    assert report.retraced.dependants == 1
    assert report.retraced.changes == {"added": 1}
    assert [row.valid for row in second.store.invocations("fakelib-2", "fakelib.double")] == [True, True]
    assert changed_apis(second.store, "fakelib-2") == {"fakelib.double"}


def test_with_another_signature_all_is_run_again(builds: FakelibBuilds) -> None:
    docs = page(builds, *(f"fakelib.scale(np.ones({n}), 1.5)" for n in range(4, 16)))
    traced(builds.make(1, {}), docs_dirs=docs)
    second = builds.make(2, {**RENAMED, "x * by": "x * factor"})
    report = traced(second, docs_dirs=docs)
    assert report.retraced.changes == {"signature": 1}
    scaled = [row.id for row in second.store.invocations("fakelib-2", "fakelib.scale")]
    assert report.retraced.rechecked == len(scaled) > 12
    assert report.retraced.lost == 0
    assert "factor" in second.store.argument_space("fakelib-2")
    assert "fakelib.scale" not in second.store.argument_space("fakelib-2").get("by", {}).get("float", {})


def test_what_another_signature_refuses_is_no_longer_valid(builds: FakelibBuilds) -> None:
    docs = page(builds, *(f"fakelib.scale(np.ones({n}), 1.5)" for n in range(4, 84)))
    traced(builds.make(1, {}), docs_dirs=docs)
    second = builds.make(2, {**RENAMED, "    return x * by": "    raise ValueError('not any more')"})
    report = traced(second, docs_dirs=docs)
    rows = list(second.store.invocations("fakelib-2", "fakelib.scale"))
    assert report.retraced.lost == len(rows) > 80
    assert {(row.valid, row.reason) for row in rows} == {(False, "exception ValueError: not any more")}
    assert report.retraced.changes == {"signature": 1}
    assert changed_apis(second.store, "fakelib-2") == {"fakelib.scale"}


def test_what_changed_is_fuzzed_first(builds: FakelibBuilds) -> None:
    first = builds.make(1, {})
    traced(first)
    assert changed_apis(first.store, "fakelib-1") == set()
    second = builds.make(2, DOCSTRINGS)
    traced(second)
    assert changed_apis(second.store, "fakelib-2") == CHANGED
    fuzz(second, FuzzOptions(seconds=None, tests=5 * 50, seed=1))
    shown = second.store.news("fakelib-2")
    assert {news.api for news in shown} == CHANGED
    assert [news.outcome_kind for news in shown] == [news.outcome_class.partition(" ")[0] for news in shown]


def test_a_build_can_be_named_and_must_be_one_of_the_library(builds: FakelibBuilds) -> None:
    traced(builds.make(1, {}))
    traced(builds.make(2, DOCSTRINGS))
    third = builds.make(3, {})
    third.store.save_target(third.target._replace(key="other", library="another"))
    for wrong, reason in (
        ("nowhere", "no target"),
        ("other", "a build of another"),
        ("fakelib-3", "the target itself"),
    ):
        with pytest.raises(UserError, match=reason):
            traced(third, since=wrong)
    assert traced(third, since="fakelib-1").retraced.since == "fakelib-1"
    assert third.store.since("fakelib-3") == "fakelib-1"
    third.store.save_target(third.target)
    assert third.store.since("fakelib-3") == "fakelib-1"
    assert third.store.predecessor("fakelib-3") == "fakelib-2"


def test_one_failure_that_does_not_repeat_is_none(
    builds: FakelibBuilds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The library writes into this folder that it has failed once.
    monkeypatch.setattr(
        zygote, "confined", lambda command, writable, guard: confined(command, [*writable, tmp_path], guard)
    )
    docs = page(builds, *(f"fakelib.scale(np.ones({n}), 1.5)" for n in range(4, 44)))
    traced(builds.make(1, {}), docs_dirs=docs)
    once = f"""    try:
        os.mkdir({str(tmp_path / "ran")!r})
    except FileExistsError:
        return x * factor
    raise MemoryError("this time")"""
    second = builds.make(2, {**RENAMED, "    return x * by": once})
    report = traced(second, docs_dirs=docs)
    assert (tmp_path / "ran").exists()
    assert report.retraced.lost == 0
    assert all(row.valid for row in second.store.invocations("fakelib-2", "fakelib.scale"))
    assert report.valid == report.checked == report.retraced.rechecked


class StopsAt(Watch):
    """A watch with which the user interrupts as soon as a phase begins."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.over = False

    def phase(self, name: str, total: float = 0.0, within: float | None = None) -> None:
        self.over = self.over or name.startswith(self.name)


@pytest.mark.parametrize("phase", ["reusing", "tracing", "checking"])
def test_interrupted_anywhere_the_next_trace_goes_on(builds: FakelibBuilds, phase: str) -> None:
    traced(builds.make(1, {}))
    second = builds.make(2, DOCSTRINGS)
    watch = StopsAt(phase)
    # Until a seed is traced anew, the trace has no new calls to check that an interrupt could cut short.
    with pytest.raises(Interrupted) if phase == "checking" else nullcontext():
        traced(replace(second, watch=watch, stopped=lambda: watch.over))
    assert watch.over
    assert second.store.since("fakelib-2") == "fakelib-1"
    assert traced(second).status.total() == (0 if phase == "checking" else 5)
    third = builds.make(3, DOCSTRINGS)
    traced(third, since="fakelib-1")
    assert space(second) == space(third)
    assert all(row.valid is not None for row in second.store.invocations("fakelib-2"))
