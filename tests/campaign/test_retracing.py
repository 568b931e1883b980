"""A second build takes over what has not changed: only changed seeds are traced, and a sample is run again."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from fuzz_core.campaign.changed import changes_between
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.tracing import TraceOptions, TraceReport, trace

DOCSTRINGS = {
    "row_sum(np.ones((4, 2), np.float32))": "row_sum(np.ones((5, 2), np.float32))",
    "resize(np.arange(6), 4)": "resize(np.arange(7), 4)",
    "outer(np.ones((2, 3)), np.zeros((2, 3)))": "outer(np.ones((2, 4)), np.zeros((2, 4)))",
    "scale(np.ones(3), 2.5)": "scale(np.ones(3), 3.5)",
    "reserve(16)": "reserve(17)",
}
CHANGED = {"fakelib.row_sum", "fakelib.resize", "fakelib.outer", "fakelib.scale", "fakelib.reserve"}


class Builds:
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
def builds(fakelib_session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Builds:
    return Builds(fakelib_session, tmp_path, monkeypatch)


def traced(session: Session, **options: object) -> TraceReport:
    return trace(session, TraceOptions(sources=["docs"], **options))  # type: ignore[arg-type] # passed on


def space(session: Session) -> set[tuple[str, str, str, bool | None]]:
    return {(i.api, i.digest, i.expected, i.valid) for i in session.store.invocations(session.target.key)}


def test_of_a_second_build_with_five_changed_docstrings_five_seeds_are_traced(builds: Builds) -> None:
    first = builds.make(1, {})
    whole = traced(first)
    second = builds.make(2, DOCSTRINGS)
    report = traced(second)
    assert report.status.total() == 5
    assert report.retraced.since == "fakelib-1"
    assert report.retraced.seeds == whole.seeds - 5 == report.unchanged
    assert report.retraced.changes == {"docstring": 5}
    assert (report.retraced.lost, report.retraced.doubted) == (0, [])
    assert report.retraced.rechecked > 0
    assert {change.api for change in changes_between(second.store, "fakelib-1", "fakelib-2").apis} == CHANGED
    third = builds.make(3, DOCSTRINGS)
    third.store.save_target(third.target._replace(library="another"))
    anew = traced(third)
    assert anew.retraced.since == "" and anew.status.total() == whole.seeds
    assert space(second) == space(third)
    assert second.store.argument_space("fakelib-2") == second.store.argument_space("fakelib-3")
    assert [seed[:4] for seed in second.store.seeds("fakelib-2")] == [s[:4] for s in second.store.seeds("fakelib-3")]
    assert second.store.coverage("fakelib-2") == second.store.coverage("fakelib-3")


def test_tracing_again_carries_nothing_twice(builds: Builds) -> None:
    traced(builds.make(1, {}))
    second = builds.make(2, DOCSTRINGS)
    traced(second)
    before = space(second)
    report = traced(second)
    assert (report.status.total(), report.retraced.seeds, report.retraced.rechecked) == (0, 0, 0)
    assert report.retraced.since == "fakelib-1"
    assert space(second) == before
