"""A made state: many builds, bugs, findings, checks and judgements, drawn from one seed."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.codec import encode_test
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Invocation, Tensor, TestCase, prim
from fuzz_core.store import TargetRecord, open_store
from fuzz_core.store.base import stored
from fuzz_core.store.findings import signature_digest

MODULES = ("", "nn.functional.", "linalg.", "fft.", "special.", "Tensor.", "sparse.", "signal.windows.")
VERBS = ("scatter", "gather", "pool", "conv", "norm", "solve", "sort", "pad", "cumsum", "fold", "roll", "dist", "take")
MODES = ("strided", "vmap", "meta", "compile", "backward", "out", "cpu-fp64")
RULES = ("Boundary Integer", "Drop Element", "Joint Dtype", "Redrawn Contents", "Append Element")
WORDS = ("index", "stride", "shape", "dtype", "storage", "kernel", "batch", "weight", "offset", "size", "mask", "rank")
BEGIN = datetime(2025, 11, 27, 1, tzinfo=UTC)


class StateSize(NamedTuple):
    """The number of rows of a made state.

    Attributes:
        apis: of each build.
    """

    bugs: int = 5_000
    builds: int = 365
    findings: int = 100_000
    apis: int = 500
    checks: int = 20_000
    judged: int = 200


def make_state(path: Path, size: StateSize, seed: int = 1) -> Path:
    """Write a state file of this size, the same one for the same seed, and return its path."""
    keys = [f"torch-2.14.0.dev{_day(number):%Y%m%d}" for number in range(size.builds)]
    names = [f"torch.{MODULES[n % len(MODULES)]}{VERBS[n % len(VERBS)]}_{n // 8}" for n in range(size.apis)]
    with open_store(path, clock=lambda: BEGIN) as store:
        for number, key in enumerate(keys):
            origin = {"day": f"{_day(number):%Y-%m-%d}", "commit": f"{number:040x}"}
            info = {"devices": ["cpu"], "origin": origin}
            store.save_target(
                TargetRecord(
                    key, key.replace("-", "==", 1), "torch", key[6:], "/env/bin/python", info, _day(number).isoformat()
                )
            )
            listed = names[: size.apis - size.apis // 10 + size.apis * number // (10 * size.builds)]
            store.save_apis(
                key, [Api(name, "function", ("input", "dim"), f"{name}(input, dim=0)", "Doc.") for name in listed]
            )
    with closing(sqlite3.connect(path)) as connection, connection:
        for table, rows in _rows(size, keys, names, random.Random(seed)):
            for row in rows:
                connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    return path


def _day(number: int) -> datetime:
    return BEGIN + timedelta(days=number)


def _moment(number: int, minute: int) -> str:
    return (_day(number) + timedelta(minutes=minute)).isoformat(timespec="milliseconds")


def _rows(
    size: StateSize, keys: Sequence[str], names: Sequence[str], draw: random.Random
) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    """Yield the rows of each table, those first that later rows refer to."""
    # The newest builds have tested most of their apis; the runs before kept the costs of some.
    tested = [names[: len(names) * 4 // 5] if number > size.builds - 4 else names[::50] for number in range(len(keys))]
    yield "runs", [_run(number, key, tested[number], draw) for number, key in enumerate(keys)]
    bugs = [_bug(number, size, keys, names, draw) for number in range(size.bugs)]
    yield "bugs", bugs
    findings = []
    for number in range(size.findings):
        bug = bugs[number % size.bugs] if number % 10 or number < size.bugs else None
        findings.append(_finding(number, size, keys, names, bug, draw))
    yield "findings", findings
    yield "checks", [_check(number, size, keys, bugs, draw) for number in range(size.checks)]
    verdicts = ("real", "real", "real", "not-real", "wont-fix", "duplicate")
    judged = draw.sample(range(size.bugs), min(size.judged, size.bugs))
    yield (
        "judgements",
        [
            (number + 1, draw.choice(verdicts), "A person looked.", _moment(place % size.builds, 600))
            for place, number in enumerate(judged)
        ],
    )
    yield "operators", [(keys[-1], f"aten::{name}", "float32", name) for name in names]
    # The sweep has come to three quarters of the apis of the newest build.
    swept = names[: len(names) * 3 // 4]
    results = ("valid", "valid", "refused", "hung", "unreachable", "postponed")
    cells = [
        (api, argument, f"Boundary Integer {n}") for api in swept for argument in ("input", "dim") for n in range(9)
    ]
    yield (
        "cells",
        [
            (keys[-1], *cell, result := results[place % len(results)], "no such dtype" * (result == "unreachable"), 0)
            for place, cell in enumerate(cells)
        ],
    )
    yield "efforts", [(keys[-1], api, 3, 20, 400, 1.5, 60, 45) for api in swept]
    yield (
        "news",
        [
            (
                number + 1,
                keys[-1],
                names[number % len(names)],
                f"class {number}",
                None,
                draw.choice(("ok", "exception")),
            )
            for number in range(len(names) * 6)
        ],
    )


def _run(number: int, key: str, names: Sequence[str], draw: random.Random) -> tuple[Any, ...]:
    status = "interrupted" if draw.random() < 0.05 else "done"
    known, tests = 3_000 + int(3_000 * (1 - 0.99**number)), draw.randint(2_500_000, 3_500_000)
    growth = [[12.0 * n, tests * n // 50, known * 15 + n * 20, known + n, 9] for n in range(50)]
    summary = {
        "working": 1190.0,
        "inside": draw.uniform(300, 500),
        "compiling": 60.0,
        "start_up": 7.0,
        "growth": growth,
        "operators": known + 50,
        "classes": known * 15 + 1000,
        "cells": draw.randint(5_000, 20_000),
        "costs": {name: round(draw.uniform(50, 9000), 1) for name in names},
    }
    return (
        number + 1,
        key,
        _moment(number, 30),
        _moment(number, 75),
        "1",
        "{}",
        tests,
        1190.0,
        status,
        json.dumps(summary),
    )


def _case(api: str, number: int, draw: random.Random) -> str:
    tensor = Tensor("float32", tuple(draw.randint(0, 4) for _ in range(draw.randint(0, 3))))
    test = TestCase(Invocation(api, (tensor, prim(number % 7))), number, 0, tuple(draw.sample(RULES, 2)))
    return json.dumps(encode_test(test))


def _bug(
    number: int, size: StateSize, keys: Sequence[str], names: Sequence[str], draw: random.Random
) -> tuple[Any, ...]:
    place = 0 if number < size.bugs // 4 else number * size.builds // size.bugs
    api, mode = names[number * 7 % len(names)], draw.choice(MODES)
    said = " ".join(draw.choices(WORDS, k=5))
    place_said = f'{said} INTERNAL ASSERT FAILED at "/w/{said[:6]}{number}.cpp":{number}'
    kind, oracle, text, outcome = draw.choice(
        [
            (
                "wrong-result",
                "differential",
                f"{api}: wrong-result: {mode}: {said}",
                Outcome("ok", "", f"other values\nfirst at (0,): {number}.5 against {number}.0"),
            ),
            (
                "wrong-metadata",
                "differential",
                f"{api}: wrong-metadata: {mode}: another {said}",
                Outcome("ok", "", f"another shape\n({number},), expected (1,)"),
            ),
            (
                "internal-error",
                "crash",
                f"{api}: RuntimeError: {said} {number}",
                Outcome("exception", "RuntimeError", place_said),
            ),
            (
                "crash",
                "crash",
                f"{api}: SIGFPE: {said} {number}",
                Outcome("signal", "SIGFPE", "", (f"at::{said[:9]}{number}",)),
            ),
        ]
    )
    script = (
        f"import torch\n\nx = torch.zeros({number % 5})\n{api}(x, {number})\n# expected: a result\n# observed: {said}\n"
    )
    return (
        number + 1,
        keys[place],
        signature_digest(text),
        text,
        api,
        oracle,
        kind,
        _case(api, number, draw),
        script,
        stored(list(outcome)),
        5 - (number % 11 == 0),
        5,
        1,
        _moment(place, 40),
        1,
        "fixed" if number % 6 == 0 and place < size.builds - 3 else "open",
        "",
        "",
    )


def _finding(
    number: int,
    size: StateSize,
    keys: Sequence[str],
    names: Sequence[str],
    bug: tuple[Any, ...] | None,
    draw: random.Random,
) -> tuple[Any, ...]:
    place = keys.index(bug[1]) if bug else draw.randrange(size.builds)
    api, oracle, kind = (
        (bug[4], bug[5], bug[6]) if bug else (names[number % len(names)], "differential", "wrong-result")
    )
    verdict, status = [oracle, kind, "strided: other values"], draw.choice(("rejected", "flaky"))
    if bug:
        status = "confirmed" if number < size.bugs else "duplicate"
    outcome = bug[9] if bug else stored(list(Outcome("ok", "", "other values")))
    return (
        number + 1,
        keys[place],
        place + 1,
        api,
        _case(api, number, draw),
        json.dumps(verdict),
        outcome,
        f"{number:032x}",
        status,
        "",
        5,
        5,
        bug[0] if bug else None,
        _moment(place, 45),
        "",
    )


def _check(
    number: int, size: StateSize, keys: Sequence[str], bugs: Sequence[tuple[Any, ...]], draw: random.Random
) -> tuple[Any, ...]:
    bug, turn = bugs[number % size.bugs], number // size.bugs
    first = keys.index(bug[1])
    if bug[15] == "fixed":
        # Clean on a build, shown on its own build again, and clean on the next two builds: that closes a bug.
        clean = first + 1 + (bug[0] * 7) % (size.builds - first - 3)
        place, status = ((clean, "clean"), (first, "shown"), (clean + 1, "clean"), (clean + 2, "clean"))[turn % 4]
    else:
        place, status = draw.randint(first, size.builds - 1), "shown"
    moment = _moment(max(place, first), 90 + turn)
    return (number + 1, bug[0], keys[place], status, 5 * (status == "shown"), 5, bug[9], moment)
