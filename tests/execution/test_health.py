"""Tests that separate a process that a test has changed from a process that the library itself changes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakelib_plans import call, plan_of

from fuzz_core.execution.health import NORMAL_APIS, Health, SpareProcess, health
from fuzz_core.execution.zygote import Zygote

FRESH = Health(threads=1, descriptors=8, children=0, masks="0 1001002 0 0022", resident=1 << 20, settled=True)


@pytest.fixture
def recruits(tmp_path: Path) -> Iterator[SpareProcess]:
    with Zygote(sys.executable, "fakelib", "fuzz", plan_of(tmp_path / "plan", [call("fail", 1)])) as zygote:
        made = SpareProcess(zygote, 1 << 30)
        yield made
        made.close()


@pytest.mark.parametrize(
    ("seen", "changes"),
    [
        (FRESH, set()),
        (FRESH._replace(threads=5, descriptors=20, resident=1 << 30), set()),
        (FRESH._replace(threads=50), {"threads"}),
        (FRESH._replace(descriptors=3), {"descriptors"}),
        (FRESH._replace(descriptors=300), {"descriptors"}),
        (FRESH._replace(children=1, settled=False), {"children", "directory"}),
        (FRESH._replace(masks="0 1001002 400 0022"), {"masks 0 1001002 400 0022"}),
    ],
)
def test_what_counts_as_a_change(seen: Health, changes: set[str]) -> None:
    assert seen.changes(FRESH) == changes


def test_the_kernel_tells_what_a_process_has_changed(tmp_path: Path) -> None:
    changes = "os.umask(0o77); signal.signal(signal.SIGUSR1, signal.SIG_IGN)"
    code = f"import os, signal; {changes}; print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        seen = health(process.pid, tmp_path)
        assert seen is not None
        blocked, ignored, _, umask = seen.masks.split()
        assert (int(blocked), umask) == (0, "0077")
        assert int(ignored, 16) & 1 << (signal.SIGUSR1 - 1)
        assert (seen.children, seen.settled, seen.threads) == (0, True, 1)
        assert seen.resident > 0 and seen.descriptors >= 3
        elsewhere = health(process.pid, tmp_path / "elsewhere")
        assert elsewhere is not None and not elsewhere.settled
        process.stdin.close()
    assert health(process.pid, tmp_path) is None
    own = health(os.getpid(), Path.cwd())
    assert own is not None and own.settled


def test_what_every_api_leaves_behind_is_normal_and_what_one_leaves_never_is(recruits: SpareProcess) -> None:
    assert recruits.fresh is not None
    lazy, guilty = (recruits.fresh._replace(masks=masks) for masks in ("0 0 400 0022", "7fffffff 0 0 0022"))
    assert not recruits.changed(recruits.fresh, "api")
    assert all(recruits.changed(lazy, f"api-{number}") for number in range(NORMAL_APIS))
    assert not any(recruits.changed(lazy, f"api-{number}") for number in range(NORMAL_APIS + 3))
    assert all(recruits.changed(guilty, "api") for _ in range(10))


def test_a_spare_process_is_forked_once_and_handed_out_once(recruits: SpareProcess) -> None:
    recruits.keep()
    spare = recruits.spare
    recruits.keep()
    assert recruits.spare is spare is not None
    taken, other = recruits.take(), recruits.take()
    assert taken is spare and other is not spare
    for child in (taken, other):
        recruits.spare = child
        recruits.close()
    assert recruits.spare is None
