"""The next state: the place's state, the shards' states and the private parts, folded into one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from fuzz_core.campaign.partition import Split, joined, split
from fuzz_core.ir.errors import UserError
from fuzz_core.store.intake import look_over
from fuzz_core.store.merge import MergeResult
from fuzz_core.store.parts import thin
from fuzz_core.store.statefile import NewerError, open_store
from nightfuzz.bot.state import private
from nightfuzz.bot.state.place import (
    FILINGS,
    FINGERPRINTS,
    PLAIN,
    PRIVATE,
    STATE,
    Files,
    Snapshot,
    StateStorage,
    pack,
    parts,
    unpack,
)
from nightfuzz.bot.state.private import Keys, PrivateStates
from nightfuzz.bot.state.shards import ShardIntake, Shards, take_in_all

OWN = (STATE, PLAIN, PRIVATE, FINGERPRINTS)


class StateUpdate(NamedTuple):
    """The result of an update of the state."""

    public: Path  # the state file as it is kept
    private: Path | None  # the part of the state that only a key opens; None without a readable one
    merged: MergeResult  # new rows from the shards' state files
    dropped: dict[str, int]  # rows of the shards that no store would have written, by reason
    problems: tuple[str, ...]  # steps that failed, a line each
    refused: tuple[str, ...] = ()  # unreadable states of shards or of the place, a line each


def fetch_state(place: StateStorage, path: Path) -> tuple[Snapshot | None, tuple[str, ...]]:
    """Write the state file of a place to `path`, if the place has a sound one.

    The place does not change: the next job that stores a state keeps a broken one aside.

    Returns:
        Its snapshot and faults.

    Raises:
        UserError: as `Place.load`.
    """
    before = place.load()
    broken = _unpacked(before, path)
    return before, (broken,) if broken else ()


def update_state(
    place: StateStorage,
    shards: Shards,
    keys: Keys,
    folder: Path,
    clock: Callable[[], datetime],
    filings: Callable[[bytes], bytes] = lambda data: data,
) -> StateUpdate:
    """Fold the shards into the place, and leave the result in `folder`.

    If another run writes meanwhile, its state is taken in and the update starts again. A shard that is no state file is
    left out and reported. An unreadable state of the place is kept aside, and a fresh one begins.

    Args:
        place: holds the state.
        shards: states and encrypted parts of the run.
        keys: keys for private parts.
        folder: receives the result.
        clock: returns the time.
        filings: changes the bot's memory of GitHub in the same step; argument and result are empty bytes without a
            memory.

    Raises:
        UserError: the place cannot be read or written, or a later nightfuzz has written it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    update = _Update(place, shards, keys, folder, clock)
    done: list[tuple[Files, StateUpdate, Files]] = []

    def build(before: Snapshot | None) -> Files:
        had = {} if before is None else before.files
        own = {name: data for name, data in had.items() if name.startswith(OWN)}
        if not done or done[0][0] != own:
            done[:] = [(own, *update.run(before, own))]
        # A run that wrote meanwhile may have changed the memory alone: then the merged state still holds.
        others = {name: data for name, data in had.items() if name not in own}
        memory = filings(others.get(FILINGS, b""))
        return {**others, **({FILINGS: memory} if memory else {}), **done[0][2]}

    place.store(build, f"State after {len(shards.states)} shards")
    return done[0][1]


def _unpacked(before: Snapshot | None, path: Path, name: str = STATE) -> str:
    """Write a state file of the place to `path`, if it has one.

    Returns:
        Why it cannot be read; empty if it can.
    """
    path.unlink(missing_ok=True)
    packed = [] if before is None else parts(before.files, name)
    if not packed:
        return ""
    try:
        unpack(packed, path)
        look_over(path)
    except NewerError:
        raise
    except UserError as error:
        path.unlink(missing_ok=True)
        return f"the {name} of the last night cannot be read: {error.problem}"
    return ""


class _Update:
    """The tries of one update; the checked shards are kept from one try to the next."""

    def __init__(
        self, place: StateStorage, shards: Shards, keys: Keys, folder: Path, clock: Callable[[], datetime]
    ) -> None:
        self.place, self.given, self.keys, self.folder, self.clock = place, shards, keys, folder, clock
        self.problems: list[str] = []
        self._broken = ""
        self._base: list[bytes] | None = None
        self._intakes: list[ShardIntake] = []

    def run(self, before: Snapshot | None, own: Files) -> tuple[StateUpdate, Files]:
        """Try the update once.

        Args:
            own: the files of the place that are replaced.

        Returns:
            The new files.
        """
        self.problems, self._broken = [], ""
        whole, public, hidden = (self.folder / f"{name}.db" for name in ("whole", "public", "private"))
        had = self._begin(before, whole)
        sealed = {**private.blobs(own), **private.sealed(self.given.sealed, self.clock())}
        # A state of an earlier nightfuzz, or none, becomes one of the newest schema.
        for path in (whole, *had):
            open_store(path, clock=self.clock).close()
        clean = self._take_in(whole, parts(own))
        with open_store(whole, clock=self.clock) as store:
            opened = self._opened(sealed)
            joined(store, [*had, *opened.states])
            merged = joined(store, clean)
            thin(store)
        parted = split(whole, public, hidden, self.clock)
        whole.unlink()
        shown = hidden if parted.there else None
        kept = self._private(opened, parted, shown)
        dropped = dict(sum((Counter(each.dropped) for each in self._intakes), Counter[str]()))
        refused = tuple(self._refused())
        return StateUpdate(public, shown, merged, dropped, tuple(self.problems), refused), {**kept, **pack(public)}

    def _take_in(self, base: Path, packed: list[bytes]) -> list[Path]:
        """Return trusted state files with the sound rows of the shards, made once for each state of the place.

        Args:
            base: that state, closed by all stores; the sound rows of the shards build on it.
            packed: the same state, packed.
        """
        clean = [self.folder / f"shard-{number}.db" for number in range(len(self.given.states))]
        if self._base != packed:
            self._base, self._intakes = packed, take_in_all(self.given.states, clean, base)
        return [path for path, each in zip(clean, self._intakes, strict=True) if not each.problem]

    def _refused(self) -> Iterator[str]:
        yield from filter(None, [self._broken])
        for number, intake in enumerate(self._intakes):
            if intake.problem:
                name = self.given.names[number] if self.given.names else f"shard {number}"
                yield f"{name} is damaged: {intake.problem}"

    def _begin(self, before: Snapshot | None, whole: Path) -> list[Path]:
        """Unpack the earlier state, and the private findings that the place holds unencrypted."""
        plain = self.folder / "plain.db"
        broken = [why for path, name in ((whole, STATE), (plain, PLAIN)) if (why := _unpacked(before, path, name))]
        if before is not None and broken:
            kept = self.place.set_aside(before)
            self._broken = f"{'; '.join(broken)}; the damaged state is kept as {kept}, and a new state begins"
        return [plain] if plain.exists() else []

    def _opened(self, sealed: Files) -> PrivateStates:
        if self.keys.identity is None:
            return PrivateStates((), sealed, ())
        opened = private.opened(sealed, self.keys.identity, self.folder)
        self.problems += opened.problems
        return opened

    def _private(self, opened: PrivateStates, parted: Split, hidden: Path | None) -> Files:
        """Return every private part that we cannot read, the current private part, and the publishable fingerprints."""
        parts = dict(opened.unread)
        files: dict[str, bytes] = {}
        if hidden is not None and self.place.confidential:
            files = pack(hidden, PLAIN)
        elif hidden is not None and self.keys.all_recipients:
            parts |= private.sealed([private.encrypt(hidden, self.keys.all_recipients)], self.clock())
        elif hidden is not None:
            self.problems.append(
                "private bugs are not kept: set private-recipient (`nightfuzz init --private-key` makes a key)"
            )
        if self.keys.identity is not None:
            files[FINGERPRINTS] = private.fingerprints(parted.fingerprints, self.keys.identity)
        kept = private.bounded(parts)
        self.problems += kept.problems
        return {**files, **kept.files}
