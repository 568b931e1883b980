"""Tests that a kill of the controller at any instant loses no committed row and leaves no half-written row."""

import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from store_values import KEY, TARGET, counted

from fuzz_core.store import open_store

WRITER = """
import sys
from itertools import count
from pathlib import Path

from store_values import CRASH, DEAD, KEY, SEED, add, bug, case

from fuzz_core.store import open_store

store, first = open_store(Path(sys.argv[1])), int(sys.argv[2])
run = store.start_run(KEY, 1, {})
for number in count(first):
    finding = store.add_finding(KEY, run, case(number), CRASH, DEAD)
    print("added", finding, flush=True)
    store.save_trace(KEY, SEED._replace(digest=str(number)), [(add(number, n), "ok") for n in range(20)], {}, {})
    print("traced", number, flush=True)
    store.settle_finding(finding, "confirmed", bug=bug(f"signature {number % 7}"))
    print("settled", finding, flush=True)
"""


def killed_after(lines: int, path: Path, first: int) -> list[tuple[str, int]]:
    """Returns the reports of a writer that is killed `lines` lines after its start."""
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {here!r})\n{WRITER}", str(path), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        said = [writer.stdout.readline() for _ in range(lines)]
        writer.kill()
        said += writer.stdout.readlines()
    assert writer.returncode == -signal.SIGKILL
    words = [line.split() for line in said if line.endswith("\n")]
    return [(word, int(number)) for word, number in words]


def check(path: Path, said: set[tuple[str, int]]) -> None:
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()
    with open_store(path) as store:
        findings = {row.id: row for row in store.findings(KEY)}
        assert {number for word, number in said if word == "added"} <= findings.keys()
        settled = [number for word, number in said if word == "settled"]
        assert all(findings[number].status in ("confirmed", "duplicate") for number in settled)
        assert {str(number) for word, number in said if word == "traced"} <= store.traced(KEY)
        assert counted(store, KEY, "calls") == 20 * len(store.traced(KEY))
        assert Counter(row.bug for row in findings.values() if row.bug) == {b.id: b.findings for b in store.bugs()}
        confirmed = Counter(row.bug for row in findings.values() if row.status == "confirmed")
        assert set(confirmed.values()) <= {1}


@pytest.mark.slow
def test_sigkill_at_ten_moments_loses_nothing_committed(path: Path) -> None:
    moments = Random(20220521)
    with open_store(path) as store:
        store.save_target(TARGET)
    said: set[tuple[str, int]] = set()
    for turn in range(10):
        new = killed_after(moments.randint(1, 150), path, first=turn * 100_000)
        assert new
        said |= set(new)
        check(path, said)
