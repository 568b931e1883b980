"""The plan of a run, as one file that the controller writes and every process of the target reads.

The first line holds the options, apis and argument value space. Then comes a line per api that has similarities to
others, as `"api" base64`, then one per invocation, as `[id, api, encoded invocation]`. The controller reads the same
file to re-create a test that killed its worker.
"""

from __future__ import annotations

import json
import mmap
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from fuzz_core.ir.codec import decode_invocation
from fuzz_core.ir.constraints import Constraint, Documentation
from fuzz_core.ir.rng import derive
from fuzz_core.ir.tree import exchanged
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.mutation.algorithm import Algorithm1
from fuzz_core.mutation.registry import RuleBook
from fuzz_core.mutation.space import ArgumentSpace
from fuzz_core.mutation.sweep import Cell, Sweep
from fuzz_core.worker.observers import CorpusMember

# The cells of an api's sweep have the numbers from here on in the api's stream of tests, and its pairs of cells those
# from PAIRED on.
SWEPT = 1 << 40
PAIRED = 1 << 41
# At most so many calls of an api lend their arguments to the sweep, and so many apis have their cells in memory.
SWEPT_CALLS = 8
SWEPT_APIS = 4
# In this many mutants, one is made from a member of the corpus.
GROWN_PERIOD = 3
MAX_RULES = 12
MAX_DECODED = 1 << 15
_QUOTE = ord('"')


class Header(NamedTuple):
    """The options of a run: the first line of the plan."""

    library: str
    seed: int  # the run's stream seed
    oracles: list[str]
    disabled: list[str]  # mutator kinds or names that are switched off
    params: dict[str, list[str]]  # names of parameters by api
    space: dict[str, Any]  # the argument value space without the similarities, which are many times as large
    documented: Sequence[Any] = ()  # constraints, see `ir.constraints`
    few: bool = True  # whether most mutations change few arguments of a call, see `mutation.algorithm`
    devices: bool = False  # whether modes of other devices and backends are the only ones
    bases: Mapping[str, Sequence[int]] = {}  # by api, the places of the calls that the sweep changes, best first
    forms: Mapping[str, Any] = {}  # encoded, see `Dialect.forms`


def write_plan(
    path: Path,
    header: Header,
    invocations: Iterable[tuple[int, str, str]],
    similarity: Iterable[tuple[str, bytes]] = (),
) -> None:
    """Write (api, row of similarities) and (id, api, JSON text) rows behind the header."""
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(header._asdict()) + "\n")
        for api, row in similarity:
            file.write(f"{json.dumps(api)} {b64encode(row).decode()}\n")
        for number, api, body in invocations:
            file.write(f"[{number},{json.dumps(api)},{body}]\n")


def bases_of(calls: Sequence[tuple[int, int]]) -> list[int]:
    """Return the places of the calls that the sweep changes: the richest, the simplest, and one for each outcome class.

    If there is room, calls of lengths in between follow.

    Args:
        calls: length and digest of the outcome class of each call of an api.
    """
    places = sorted(range(len(calls)), key=lambda place: (calls[place][0], place))
    first = dict.fromkeys((*places[-1:], *places[:1]))
    shown = {calls[place][1] for place in first}
    for place in places:
        if calls[place][1] not in shown:
            shown.add(calls[place][1])
            first[place] = None
    between = (places[number * (len(places) - 1) // (SWEPT_CALLS - 1)] for number in range(SWEPT_CALLS) if places)
    return list(dict.fromkeys((*first, *between)))[:SWEPT_CALLS]


class Rows(Mapping[str, str]):
    """Texts that stay in a mapped file until they are read."""

    def __init__(self, text: mmap.mmap) -> None:
        self.text = text
        self.places: dict[str, slice] = {}

    def __getitem__(self, key: str) -> str:
        return self.text[self.places[key]].decode()

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


class Plan:
    """The parsed plan: `test(api, index)` is a pure function of the file and the index.

    Attributes:
        places: places of each api's invocations in the file, which is mapped and not read: few are used at a time.
        similarity: rows of similarities by api, see `ArgumentSpace`.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self.text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        end = self.text.find(b"\n")
        self.header = Header(**json.loads(self.text[:end]))
        self.places: dict[str, list[slice]] = defaultdict(list)
        self.similarity = Rows(self.text)
        while end + 1 < len(self.text):
            begin, end = end + 1, self.text.find(b"\n", end + 1)
            if self.text[begin] == _QUOTE:
                blank = self.text.rfind(b" ", begin, end)
                self.similarity.places[json.loads(self.text[begin:blank])] = slice(blank + 1, end)
                continue
            name = slice(self.text.find(b",", begin) + 1, self.text.find(b",[", begin))
            self.places[json.loads(self.text[name])].append(slice(begin, end))
        self.space = ArgumentSpace.from_json({**self.header.space, "similarity": self.similarity})
        params = {api: tuple(names) for api, names in self.header.params.items()}
        self.documentation = Documentation(map(Constraint.from_json, self.header.documented), params)
        forms = {name: decode_invocation(form) for name, form in self.header.forms.items()}
        self.algorithm = Algorithm1(params, self.space, self.header.disabled, self.header.few, forms)
        self.invocation = lru_cache(MAX_DECODED)(self._invocation)
        self.sweep = Sweep(RuleBook(params, self.header.disabled, forms))
        self.cells = lru_cache(SWEPT_APIS)(self._cells)

    def _invocation(self, api: str, place: int) -> tuple[int, Invocation]:
        """Return the (id, invocation) at a place of an api's value space."""
        number, _, body = json.loads(self.text[self.places[api][place]])
        return number, decode_invocation(body)

    def _cells(self, api: str) -> Sequence[Cell]:
        """Return the cells of an api's sweep, on the calls that the header names for it."""
        return self.sweep.cells(self.invocation(api, place) for place in self.header.bases.get(api, ()))

    def combined(self, api: str, row: Sequence[int]) -> TestCase:
        """Return the test of several cells of one call at once, named by their places in `cells`."""
        chosen = [self.cells(api)[place] for place in row]
        made = chosen[0].invocation
        for cell in chosen:
            made = exchanged(made, cell.path, cell.value)
        names = [name for cell in chosen for name in (cell.argument, cell.name)]
        return TestCase(made, derive(api, *names), chosen[0].origin, tuple(cell.rule for cell in chosen))

    def count(self, api: str) -> int:
        """Return the number of invocations of an api."""
        return len(self.places[api])

    def test(
        self,
        api: str,
        index: int,
        grown: Sequence[CorpusMember] = (),
        rows: Mapping[int, Sequence[int]] = MappingProxyType({}),
    ) -> TestCase:
        """Return the index-th test case of an api: its invocations unmutated first, then mutants of each in turn.

        Indices from SWEPT on are the cells of the api's sweep, and those of `rows` several cells at once. If the corpus
        has grown, a share of the mutants are mutants of its members. Such mutants keep the traced invocation that they
        go back to as their origin.
        """
        if index in rows:
            return self.combined(api, rows[index])
        if index >= SWEPT:
            return self.cells(api)[index - SWEPT].test
        count = len(self.places[api])
        seed = derive(self.header.seed, api, index)
        number, invocation = self.invocation(api, index % count)
        if index < count:
            return TestCase(invocation, seed, number)
        if not grown or seed % GROWN_PERIOD:
            made = self.algorithm.case(invocation, number, seed, index // count)
            if made.rules or count == 1:
                return made
            # No part of the invocation could be mutated: the next one has its turn.
            number, invocation = self.invocation(api, (index + 1) % count)
            return self.algorithm.case(invocation, number, seed, index // count)
        member = grown[seed // GROWN_PERIOD % len(grown)]
        made = self.algorithm.case(member.test.invocation, member.number, seed)
        rules = (*member.test.rules, *made.rules)[-MAX_RULES:]
        return made._replace(origin=member.test.origin, rules=rules)
