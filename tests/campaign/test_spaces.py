"""A build whose value space comes from a file: no seed is traced again, and a sample of the calls runs."""

from __future__ import annotations

import lzma
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzz_core.campaign import carryover, spaces
from fuzz_core.campaign import trace as module
from fuzz_core.campaign.carryover import TraceReport, recheck
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.spaces import SpaceFile
from fuzz_core.campaign.trace import TraceOptions, shipped_seeds, trace, tracer
from fuzz_core.campaign.watch import Watch
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.values import Invocation, prim
from fuzz_core.store.spacefile import pack, unpack
from fuzz_core.store.statefile import open_store

DOCS = ["docs"]


class SpaceNotes(Watch):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def space(traced_session: Session, tmp_path: Path) -> Path:
    """The space file of fakelib, as `pack` writes it."""
    key = traced_session.target.key
    assert shipped_seeds(traced_session) >= traced_session.store.traced(key)
    pack(traced_session.store, key, shipped_seeds(traced_session), tmp_path / "fakelib.space")
    return tmp_path / "fakelib.space"


@pytest.fixture
def fresh(traced_session: Session, tmp_path: Path) -> Callable[[str], Session]:
    """Makes sessions on empty states whose target has the given key."""
    stores = []

    def make(key: str) -> Session:
        folder = tmp_path / f"fresh-{len(stores)}"
        store = open_store(folder / "state.db")
        stores.append(store)
        target = traced_session.target._replace(key=key)
        store.save_target(target)
        return Session(store, target, folder, workers=1, watch=SpaceNotes())

    yield make
    for store in stores:
        store.close()


def calls(session: Session) -> set[tuple[str, str, bool | None]]:
    return {(row.digest, row.expected, row.valid) for row in session.store.invocations(session.target.key)}


def edited(space: Path, *statements: str) -> Path:
    """Returns a space file with changed rows."""
    plain = space.with_name("plain.db")
    unpack(space, plain)
    connection = sqlite3.connect(plain)
    for sql in statements:
        connection.execute(sql)
    connection.commit()
    connection.close()
    made = space.with_name("edited.space")
    made.write_bytes(lzma.compress(plain.read_bytes()))
    return made


@pytest.mark.parametrize("vouched", [False, True])
def test_nothing_is_traced_and_a_sample_is_run(
    traced_session: Session, fresh: Callable[[str], Session], space: Path, vouched: bool
) -> None:
    session = fresh(traced_session.target.key)
    report = trace(session, TraceOptions(sources=DOCS, space=SpaceFile(space, vouched)))
    assert (report.status.total(), report.unchanged) == (0, report.seeds)
    taken = report.space
    assert taken is not None and taken.file == "fakelib.space"
    assert taken.calls == len(calls(session)) > 15
    assert 0 < taken.sample == taken.held == report.checked
    wanted = {call for call in calls(traced_session) if call[2] or call[1] == "exception"}
    assert calls(session) >= {call for call in wanted if call[2]}
    assert not session.store.bodies(session.target.key, unchecked=True)
    assert trace(session, TraceOptions(sources=DOCS)).new == 0


def test_a_release_vouches_for_its_file_so_that_nothing_is_collected(
    traced_session: Session, fresh: Callable[[str], Session], space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Listing apis and collecting seeds would start the library without a new result."""
    started: list[str] = []
    monkeypatch.setattr(module, "tracer", lambda session: started.append(session.target.key) or tracer(session))
    session = fresh(traced_session.target.key)
    with pytest.raises(UserError, match=r"no api of this build matches 'fakelib.scal'"):
        trace(session, TraceOptions(sources=DOCS, space=SpaceFile(space, True), patterns=["fakelib.scal"]))
    report = trace(session, TraceOptions(sources=DOCS, space=SpaceFile(space, True)))
    assert started == [] and report.seeds == report.unchanged == len(session.store.seeds(session.target.key)) > 10
    assert report.apis == len(session.store.apis(session.target.key))
    own = TraceOptions(sources=DOCS, space=SpaceFile(space, True), docs_dirs=[space.parent])
    trace(fresh(traced_session.target.key), own)
    trace(fresh("fakelib-2"), TraceOptions(sources=DOCS, space=SpaceFile(space, True)))
    assert started == ["fakelib-1", "fakelib-2"]


def test_a_file_of_an_older_schema_is_taken_over(fresh: Callable[[str], Session], space: Path) -> None:
    older = edited(
        space,
        "DROP TABLE cells",
        "DROP TABLE efforts",
        "DROP TABLE judgements",
        "ALTER TABLE bugs DROP COLUMN suspicion",
        "DROP VIEW calls",
        "ALTER TABLE validity DROP COLUMN shown",
        # As the migrations before made it, letter by letter.
        """CREATE VIEW calls AS
SELECT invocations.id AS id, digest, api, body, target, validity.id AS place, validity.expected AS expected, valid,
    reason, outcome_kind
FROM validity JOIN invocations ON invocations.id = invocation""",
        "DELETE FROM _sqlite_migrations WHERE name IN ('m0012_judgements', 'm0013_cells', 'm0014_shown')",
    )
    for vouched in (False, True):
        report = trace(fresh("fakelib-1"), TraceOptions(sources=DOCS, space=SpaceFile(older, vouched)))
        assert report.space is not None and report.space.calls > 15


def test_time_that_is_over_starts_no_process(traced_session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    store, key = traced_session.store, traced_session.target.key
    store.mark_unchecked(key, [row.id for row in store.bodies(key)])
    monkeypatch.setattr(carryover, "Zygote", None)
    report = TraceReport()
    recheck(traced_session, report, traced_session.clock() - 1.0)
    assert report.waiting > 15 and report.checked == 0


def test_calls_that_do_not_hold_here_are_found_out(
    traced_session: Session, fresh: Callable[[str], Session], tmp_path: Path
) -> None:
    """More than a twentieth of the sample fails, so that all calls run again."""
    store, key = traced_session.store, traced_session.target.key
    wrong = [(Invocation("fakelib.scale", (prim(f"no array {n}"),)), "ok") for n in range(15)]
    store.save_trace(key, store.seeds(key)[0], wrong, {}, {})
    store.set_validity(key, [(row.id, "ok", "") for row in store.bodies(key, unchecked=True)])
    pack(store, key, store.traced(key), tmp_path / "wrong.space")
    session = fresh(key)
    report = trace(session, TraceOptions(sources=DOCS, space=SpaceFile(tmp_path / "wrong.space")))
    assert report.space is not None and report.space.held == report.space.sample - len(wrong)
    assert any("fail on this build: nightfuzz runs all of its calls again" in note for note in session.watch.notes)  # type: ignore[attr-defined]
    assert len([call for call in calls(session) if call[2]]) == report.space.held
    assert not session.store.bodies(key, unchecked=True)


def test_a_near_build_traces_what_differs(
    traced_session: Session, fresh: Callable[[str], Session], space: Path
) -> None:
    """The file records another signature for one api."""
    near = edited(
        space, "UPDATE apis SET params = '[\"other\"]', definition = 'scale(other)' WHERE name LIKE '%.scale'"
    )
    session = fresh("fakelib-2")
    report = trace(session, TraceOptions(sources=DOCS, space=SpaceFile(near)))
    assert report.retraced.since == traced_session.target.key
    assert report.retraced.changes["signature"] == 1
    assert report.retraced.seeds > 10 and report.status.total() == 0
    assert any(
        "is of another build, fakelib-1: nightfuzz traces the differences to fakelib-2" in note
        for note in session.watch.notes
    )  # type: ignore[attr-defined]
    assert {call for call in calls(session) if call[2]} == {call for call in calls(traced_session) if call[2]}
    store = session.store
    assert [target.key for target in store.targets()] == ["fakelib-2"], "the other build is not on this machine"
    assert store.since("fakelib-2") == "" and store.seeds_of(store.bodies("fakelib-2")[0].id)
    again = trace(session, TraceOptions(sources=DOCS))
    assert (again.status.total(), again.new, again.retraced.since) == (0, 0, "")


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE targets SET library = 'torch'", "holds calls of torch, but fakelib-1 is a build of fakelib"),
        (
            "UPDATE invocations SET body = replace(body, 'fakelib', 'os')",
            "has rows that a space file must not have",
        ),
        (
            "INSERT INTO targets SELECT 'two', spec, library, version, python, info, made_at FROM targets",
            "several builds",
        ),
        (
            "CREATE TRIGGER t AFTER INSERT ON seeds BEGIN DELETE FROM seeds; END",
            "a schema that nightfuzz does not know",
        ),
    ],
)
def test_a_hostile_file_is_refused_whole(
    traced_session: Session, fresh: Callable[[str], Session], space: Path, statement: str, problem: str
) -> None:
    session = fresh(traced_session.target.key)
    with pytest.raises(UserError, match=problem):
        trace(session, TraceOptions(sources=DOCS, space=SpaceFile(edited(space, statement))))
    assert not calls(session) and not session.store.traced(session.target.key)


def test_the_sample_is_small(traced_session: Session, space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spaces, "SAMPLE", 7)
    report = trace(traced_session, TraceOptions(sources=DOCS, space=SpaceFile(space)))
    assert report.space is not None
    assert 7 <= report.space.sample <= 10 and report.checked == report.space.sample


def test_calls_of_the_sample_that_no_time_was_left_for_did_not_fail(
    traced_session: Session, fresh: Callable[[str], Session], space: Path
) -> None:
    session = fresh(traced_session.target.key)
    past = session.clock() - 1.0
    report = trace(session, TraceOptions(sources=DOCS, space=SpaceFile(space), deadline=past))
    assert report.space is not None and (report.space.sample, report.space.held) == (0, 0)
    assert report.waiting and not session.watch.notes  # type: ignore[attr-defined]
