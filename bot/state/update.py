"""The next state: what a place kept, what the shards left and what is private, folded into one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from fuzz_core.campaign.partition import Split, joined, split
from fuzz_core.ir.errors import UserError
from fuzz_core.store.intake import look_over
from fuzz_core.store.merge import Merged
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
    """public: the state file as it is kept. private: what of it only a key opens, where there is any that we may read.

    merged: what the state files of the shards had that was new. dropped: rows of them that no store would have written,
    by reason. problems: what could not be done, a line each. refused: states of shards, or the kept one, that cannot be
    read, a line each.
    """

    public: Path
    private: Path | None
    merged: Merged
    dropped: dict[str, int]
    problems: tuple[str, ...]
    refused: tuple[str, ...] = ()


def fetch_state(place: StateStorage, path: Path) -> tuple[Snapshot | None, tuple[str, ...]]:
    """Writes the state file of a place to `path`, where the place has a sound one; with what was not as it should be.

    Nothing of the place changes: who stores next keeps a broken state aside. Raises UserError as `Place.load` does.
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
    """Fold the shards into the place, and leaves the result in `folder`.

    filings: changes the bot's memory of GitHub in the same step; both are empty bytes where there is none. Where
    somebody else writes meanwhile, theirs is taken in and all is done again. A shard that is no state file is
    left out and said; a state of the place that cannot be read is kept aside, and a fresh one begins. Raises UserError
    where the place cannot be read or written, and where a later nightfuzz has written it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    update = _Update(place, shards, keys, folder, clock)
    done: list[tuple[Files, StateUpdate, Files]] = []

    def build(before: Snapshot | None) -> Files:
        had = {} if before is None else before.files
        own = {name: data for name, data in had.items() if name.startswith(OWN)}
        if not done or done[0][0] != own:
            done[:] = [(own, *update.run(before, own))]
        # Others may write nothing but that they are about to file: then all is done but for that.
        others = {name: data for name, data in had.items() if name not in own}
        memory = filings(others.get(FILINGS, b""))
        return {**others, **({FILINGS: memory} if memory else {}), **done[0][2]}

    place.store(build, f"State after {len(shards.states)} shards")
    return done[0][1]


def _unpacked(before: Snapshot | None, path: Path, name: str = STATE) -> str:
    """Writes a state file of the place to `path`, if it has one. Returns why it cannot be read; empty where it can."""
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
    """Tries at writing the place; what is known of the shards is kept from one try to the next."""

    def __init__(
        self, place: StateStorage, shards: Shards, keys: Keys, folder: Path, clock: Callable[[], datetime]
    ) -> None:
        self.place, self.given, self.keys, self.folder, self.clock = place, shards, keys, folder, clock
        self.problems: list[str] = []
        self._broken = ""
        self._base: list[bytes] | None = None
        self._intakes: list[ShardIntake] = []

    def run(self, before: Snapshot | None, own: Files) -> tuple[StateUpdate, Files]:
        """One try. own: the files of the place that are replaced. Returns what takes their place."""
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
        """State files of our own making with the sound rows of the shards: made once for each state of the place.

        base: that state, which nobody has open; what shards have from there is sound. packed: the same, packed.
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
        """The state as it was; and where the place holds private findings as they are, those."""
        plain = self.folder / "plain.db"
        broken = [why for path, name in ((whole, STATE), (plain, PLAIN)) if (why := _unpacked(before, path, name))]
        if before is not None and broken:
            kept = self.place.set_aside(before)
            self._broken = f"{'; '.join(broken)}; it is kept as {kept}, and a fresh state begins"
        return [plain] if plain.exists() else []

    def _opened(self, sealed: Files) -> PrivateStates:
        if self.keys.identity is None:
            return PrivateStates((), sealed, ())
        opened = private.opened(sealed, self.keys.identity, self.folder)
        self.problems += opened.problems
        return opened

    def _private(self, opened: PrivateStates, parted: Split, hidden: Path | None) -> Files:
        """Every private part that we cannot read, what is private now, and the fingerprints where we may tell them."""
        parts = dict(opened.unread)
        files: dict[str, bytes] = {}
        if hidden is not None and self.place.confidential:
            files = pack(hidden, PLAIN)
        elif hidden is not None and self.keys.everyone:
            parts |= private.sealed([private.encrypt(hidden, self.keys.everyone)], self.clock())
        elif hidden is not None:
            self.problems.append("what may be private has no place to go and is not kept: no public key is given")
        if self.keys.identity is not None:
            files[FINGERPRINTS] = private.fingerprints(parted.fingerprints, self.keys.identity)
        kept = private.bounded(parts)
        self.problems += kept.problems
        return {**files, **kept.files}
