"""How long the report job takes to its first word: `python -m bench.reporting --bugs 500`.

Makes the results of fuzz jobs with that many bugs, each of another cause, and reports them with the real command, in
real time, to a GitHub server of its own (npm's `emulate`), with a state branch in a bare repository: once to a pull
request, once as issues. With `--base BASE --shard SHARD` (state files, the second of which began as a copy of the
first) the branch has BASE before, and each of two fuzz jobs leaves SHARD with half of the bugs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import connect
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "common"))

# They are parts of the tests.
import githubserver  # type: ignore[import-not-found]

from bench.machine import machine
from fuzz_core.campaign.exporting import Ran, result_of, split
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, Prim, TestCase
from fuzz_core.store.opening import open_store
from fuzz_core.store.records import NewBug, TargetRecord
from fuzz_core.store.store import Store
from nightfuzz.bot.git import remote_of
from nightfuzz.bot.jobs.workspace import RESULTS
from nightfuzz.bot.state.archive import pack
from nightfuzz.bot.state.branch import Branch, Chance
from nightfuzz.reports.results import Mode

WORDS = ("alpha", "bravo", "delta", "gamma", "kappa", "omega", "sigma", "theta", "zeta", "lambda")
TARGET = TargetRecord("torch-2.13.0", "torch==2.13.0", "torch", "2.13.0", "/python", {"summary": "s"})
POLL_SECONDS = 0.2


class Night(NamedTuple):
    """bugs: in all. issues: how many are opened. base, shard: state files, where there are any."""

    bugs: int
    issues: int
    base: Path | None = None
    shard: Path | None = None


class Took(NamedTuple):
    """Seconds from the start of the process to the first word, and to its end; and of CPU, what it called included."""

    first: float
    whole: float
    cpu: float


def results(folder: Path, bugs: range, mode: Mode, state: Path | None = None) -> Path:
    """What a fuzz job leaves that has found these bugs. state: what its state has beside them."""
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        path, public = Path(name) / "state.db", Path(name) / "public.db"
        if state is not None:
            shutil.copy(state, path)
            _drawn_anew(path, bugs.start)
        with open_store(path) as store:
            key = _fill(store, bugs)
            told = result_of(store, Ran(mode, key))
        split(path, public, Path(name) / "private.db")
        for part, data in pack(public).items():
            (folder / part).write_bytes(data)
    (folder / RESULTS).write_text(told.to_json())
    return folder


def _drawn_anew(path: Path, seed: int) -> None:
    """Another job of the night has executed other tests: nothing of its corpus was seen before."""
    with closing(connect(path)) as connection, connection:
        connection.execute("UPDATE news SET test = json_set(test, '$[1]', json_extract(test, '$[1]') / 2 + ?)", (seed,))


def _fill(store: Store, bugs: range) -> str:
    """Adds bugs, in calls of the state's target where it has one; returns the key of that."""
    target = next(iter(store.targets()), TARGET)
    store.save_target(target)
    calls = {row.api: TestCase(row.invocation, 0, row.id) for row in store.invocations(target.key)}
    run = store.start_run(target.key, 1, {})
    for number in bugs:
        api = f"torch.{''.join(WORDS[int(digit)] for digit in f'{number:03d}')}"
        call = list(calls.values())[number % len(calls)] if calls else TestCase(_call(api, number), 0)
        _add(store, target.key, run, api, call._replace(seed=number))
    return target.key


def _call(api: str, number: int) -> Invocation:
    return Invocation(api, (Prim("int", number),), ())


def _add(store: Store, key: str, run: int, name: str, test: TestCase) -> None:
    api, number = test.invocation.api, test.seed
    outcome = Outcome("exception", "AssertionError", f"{name} differs: {number} elements of {number + 3}")
    finding = store.add_finding(key, run, test, Verdict("differential", "wrong-result"), outcome)
    script = f"import torch\n\n{api}({number})\n"
    bug = NewBug(f"{api}: {outcome.text}", api, "differential", "wrong-result", test, script, outcome, 5, 5)
    store.settle_finding(finding or 0, "confirmed", hits=5, runs=5, bug=bug)


def measured(command: list[str], environment: Mapping[str, str], there: Callable[[], bool]) -> Took:
    """Runs a command, and looks again and again whether something is there."""
    began, first = time.monotonic(), 0.0
    before = os.times()
    with subprocess.Popen(command, env={**os.environ, **environment}) as process:
        while process.poll() is None:
            if not first and there():
                first = time.monotonic() - began
            time.sleep(POLL_SECONDS)
    if process.returncode or not there():
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}, and has said nothing")
    whole, after = time.monotonic() - began, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Took(first or whole, whole, cpu)


def main() -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bugs", type=int, default=500)
    parser.add_argument("--issues", type=int, default=5, help="how many issues are opened")
    parser.add_argument("--base", type=Path, help="the state before")
    parser.add_argument("--shard", type=Path, help="the state that each of two fuzz jobs leaves, but for its bugs")
    options = parser.parse_args()
    night = Night(options.bugs, options.issues, options.base, options.shard)
    modes: tuple[Mode, ...] = ("pr", "nightly")
    with tempfile.TemporaryDirectory() as name, githubserver.github_server(Path(name)) as server:
        for mode in modes:
            took = report(Path(name) / mode, server.repository(), night, mode)
            what = "comment" if mode == "pr" else "issue"
            print(f"{night.bugs} bugs, {mode}: first {what} after {took.first:.1f} s, ", end="")
            print(f"all done after {took.whole:.1f} s, {took.cpu:.1f} s of CPU, load {machine()['load']}", flush=True)
    return 0


def report(folder: Path, repo: githubserver.Repository, night: Night, mode: Mode) -> Took:
    """Prepares a run and measures its report job."""
    jobs = 1 if night.shard is None else 2
    for job in range(jobs):
        bugs = range(night.bugs * job // jobs, night.bugs * (job + 1) // jobs)
        results(folder / "results" / f"shard-{job}", bugs, mode, night.shard)
    remote = folder / f"{repo.name}.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(remote)], check=True)
    if night.base is not None:
        _keep(night.base, remote, folder)
    pull = _pull(repo) if mode == "pr" else {}
    event = folder / "event.json"
    event.write_text(json.dumps({"pull_request": pull} if pull else {}))
    given = {"MODE": "report", "RESULTS": str(folder / "results"), "GITHUB_TOKEN": repo.token}
    given["SETTINGS"] = f"max-new-issues = {night.issues}"
    runner = {"REPOSITORY": repo.name, "SERVER_URL": folder.as_uri(), "EVENT_PATH": str(event), "RUN_ID": "1"}
    runner["API_URL"] = repo.server.url
    environment = {f"INPUT_{key}": value for key, value in given.items()}
    environment |= {f"GITHUB_{key}": value for key, value in runner.items()}
    path = f"/issues/{pull['number']}/comments" if pull else "/issues?state=all"
    command = [sys.executable, "-m", "nightfuzz.bot.main", "action", "report"]
    return measured(command, environment, lambda: bool(repo.get(path)))


def _keep(base: Path, remote: Path, folder: Path) -> None:
    """Puts a state on the branch, as the report job of the night before has."""
    place = Branch(remote_of(remote.as_uri()), Chance(lambda: datetime.now(UTC), time.sleep, random.random))
    split(base, folder / "public.db", folder / "private.db")
    place.store(lambda before: pack(folder / "public.db"), "The night before")


def _pull(repo: githubserver.Repository) -> dict[str, Any]:
    base = repo.get("/git/ref/heads/main")["object"]["sha"]
    repo.send("POST", "/git/refs", {"ref": "refs/heads/change", "sha": base})
    repo.send("PUT", "/contents/file", {"message": "m", "content": "Zg==", "branch": "change"})
    found: dict[str, Any] = repo.send("POST", "/pulls", {"title": "t", "head": "change", "base": "main"})
    return found


if __name__ == "__main__":
    sys.exit(main())
