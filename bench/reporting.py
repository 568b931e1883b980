"""How long the report job takes to its first word: `python -m bench.reporting --bugs 500`.

Makes the results of a fuzz job with that many bugs, each of another cause, and reports them in real time to a GitHub
server of its own (npm's `emulate`), with a state branch in a bare repository: once to a pull request, once as issues.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "common"))

# They are parts of the tests.
import githubserver  # type: ignore[import-not-found]

from bot.action.inputs import read_inputs
from bot.github.auth import TokenAuth
from bot.github.hub import Hub
from bot.github.redaction import Secret
from bot.jobs.places import RESULTS
from bot.jobs.report import Event, report_job
from bot.state.branch import Branch, Chance
from bot.state.git import remote_of
from bot.state.packing import pack
from fuzz_core.campaign.exporting import Ran, result_of
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, Prim, TestCase
from fuzz_core.store.opening import open_store
from fuzz_core.store.records import NewBug, TargetRecord
from reports.results import Mode

WORDS = ("alpha", "bravo", "delta", "gamma", "kappa", "omega", "sigma", "theta", "zeta", "lambda")


def results(folder: Path, count: int, mode: Mode) -> Path:
    """What a fuzz job leaves that has found so many bugs."""
    folder.mkdir(parents=True)
    path = folder / "state.db"
    with open_store(path) as store:
        store.save_target(TargetRecord("torch-2.13.0", "torch==2.13.0", "torch", "2.13.0", "/python", {"summary": "s"}))
        run = store.start_run("torch-2.13.0", 1, {})
        for number in range(count):
            api = f"torch.{''.join(WORDS[int(digit)] for digit in f'{number:03d}')}"
            outcome = Outcome("exception", "AssertionError", f"{api} differs: {number} elements of {number + 3}")
            test = TestCase(Invocation(api, (Prim("int", number),), ()), number)
            finding = store.add_finding("torch-2.13.0", run, test, Verdict("differential", "wrong-result"), outcome)
            script = f"import torch\n\n{api}({number})\n"
            bug = NewBug(f"{api}: {outcome.text}", api, "differential", "wrong-result", test, script, outcome, 5, 5)
            store.settle_finding(finding or 0, "confirmed", hits=5, runs=5, bug=bug)
        told = result_of(store, Ran(mode, "torch-2.13.0"))
    for name, data in pack(path).items():
        (folder / name).write_bytes(data)
    path.unlink()
    (folder / RESULTS).write_text(told.to_json())
    return folder


def measured(work: Callable[[], object], there: Callable[[], bool]) -> tuple[float, float]:
    """Seconds until something is there, and until all is done."""
    began = time.monotonic()
    first: list[float] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.2) and not first:
            if there():
                first.append(time.monotonic() - began)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        work()
    finally:
        over.set()
        watcher.join()
    return (first or [time.monotonic() - began])[0], time.monotonic() - began


def main() -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bugs", type=int, default=500)
    parser.add_argument("--issues", type=int, default=5, help="how many issues are opened")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, githubserver.github_server(Path(name)) as server:
        for mode in ("pr", "nightly"):
            repo = server.repository()
            first, whole = _report(Path(name) / mode, repo, options.bugs, options.issues, mode)
            what = "comment" if mode == "pr" else "issue"
            print(f"{options.bugs} bugs, {mode}: first {what} after {first:.1f} s, all done after {whole:.1f} s")
    return 0


def _report(folder: Path, repo: githubserver.Repository, bugs: int, issues: int, mode: Mode) -> tuple[float, float]:
    results(folder / "results" / "shard-0", bugs, mode)
    subprocess.run(["git", "init", "--quiet", "--bare", str(folder / "remote.git")], check=True)
    given = {"INPUT_MODE": "report", "INPUT_RESULTS": str(folder / "results"), "INPUT_GITHUB_TOKEN": repo.token}
    inputs = read_inputs({**given, "INPUT_MAX_NEW_ISSUES": str(issues)})
    chance = Chance(lambda: datetime.now(UTC), time.sleep, random.Random(1).random)
    place = Branch(remote_of(f"file://{folder / 'remote.git'}"), chance)
    pull = _pull(repo) if mode == "pr" else {}
    event = Event(repo.name, int(pull.get("number", 0)), pull.get("head", {}).get("sha", ""))
    path = f"/issues/{pull['number']}/comments" if mode == "pr" else "/issues?state=all"

    def work() -> object:
        hub = Hub.open(TokenAuth(Secret(repo.token)), repo.name, repo.server.url)
        return report_job(inputs, event, hub, place, chance.clock)

    return measured(work, lambda: bool(repo.get(path)))


def _pull(repo: githubserver.Repository) -> dict[str, Any]:
    base = repo.get("/git/ref/heads/main")["object"]["sha"]
    repo.send("POST", "/git/refs", {"ref": "refs/heads/change", "sha": base})
    repo.send("PUT", "/contents/file", {"message": "m", "content": "Zg==", "branch": "change"})
    found: dict[str, Any] = repo.send("POST", "/pulls", {"title": "t", "head": "change", "base": "main"})
    return found


if __name__ == "__main__":
    sys.exit(main())
