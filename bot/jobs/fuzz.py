"""`nightfuzz action fuzz`: the job that runs untrusted code. The job holds no token, and leaves files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from packaging.version import InvalidVersion, Version

from fuzz_core.campaign.document import statuses_now
from fuzz_core.cli.errors import BUGS, INTERRUPTED, stop_requests
from fuzz_core.ir.errors import UserError
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store
from fuzz_core.targets.lock import to_json
from nightfuzz.bot.action.environment import command_environment
from nightfuzz.bot.jobs.note import PlannedBuild
from nightfuzz.bot.jobs.request import JobCommand, JobRequest, commands
from nightfuzz.bot.jobs.workspace import EndNote, StartNote, Workspace

TURN_SECONDS = 0.2
# Number of message lines of a command that are kept, and seconds to read them after the command has ended. A process
# that the command has left behind may hold the pipe.
LINES, LAST_SECONDS = 100, 5.0
PROBLEM = 500
ERRORS = ("error: ", "failed: ", "this is a bug in nightfuzz")


Quiet = Callable[[str], AbstractContextManager[None]]


class FuzzJob:
    """Runs commands of nightfuzz on a job's state, and records their exit codes.

    Args:
        quiet: keeps the runner from reading a command's output as workflow commands.
    """

    def __init__(self, work: Workspace, stopped: Callable[[], bool], quiet: Quiet) -> None:
        self.work, self.stopped, self.quiet = work, stopped, quiet
        self.codes: dict[str, int] = {}
        self.problems: list[str] = []

    def call(self, command: JobCommand, more: Sequence[str] = ()) -> Any:
        """Run a command in the sources' directory and return its JSON.

        The sources may be a stranger's: no module is imported from there (`-P`).
        """
        line = [sys.executable, "-P", "-m", "fuzz_core.cli", *command.arguments, "--state", str(self.work.state), *more]
        self.work.root.mkdir(parents=True, exist_ok=True)
        with self.quiet(f"nightfuzz {command.arguments[0]}"), self.work.answer_file(command.name).open("wb") as told:
            environment = command_environment(os.environ)
            process = subprocess.Popen(
                line, cwd=self.work.sources, env=environment, stdout=told, stderr=subprocess.PIPE
            )
            with echoed_lines(process.stderr) as said:
                code = self._wait(process)
        self.codes[command.name] = code
        if code not in (0, BUGS, INTERRUPTED):
            why = error_of(said) or f"the command ended with exit code {code} and without an error message"
            self.problems.append(f"`nightfuzz {command.arguments[0]}` failed: {why}"[:PROBLEM])
        self._note()
        return self.work.answer(command.name)

    def _note(self) -> None:
        self.work.note(EndNote(codes=self.codes, problems=tuple(self.problems), stopped=self.stopped()))

    def _wait(self, process: subprocess.Popen[bytes]) -> int:
        """Pass on the signal to stop once, so that the command can settle and keep its findings."""
        interrupted = False
        while True:
            with suppress(subprocess.TimeoutExpired):
                return process.wait(TURN_SECONDS)
            if self.stopped() and not interrupted:
                interrupted = True
                # A second signal ends this process before its last note.
                self._note()
                process.send_signal(signal.SIGINT)


@contextmanager
def echoed_lines(stream: IO[bytes] | None) -> Iterator[deque[str]]:
    """Print a command's standard error as it comes, and keep its last lines."""
    kept: deque[str] = deque(maxlen=LINES)

    def read() -> None:
        for line in stream or ():
            kept.append(line.decode(errors="replace").rstrip())
            print(kept[-1], file=sys.stderr, flush=True)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    yield kept
    reader.join(LAST_SECONDS)


def error_of(lines: Iterable[str]) -> str:
    """Return the last error message among these lines, in one line with its remedy; empty without one.

    A bug of nightfuzz itself is described by the last line of its traceback.
    """
    said = list(lines)
    starts = [number for number, line in enumerate(said) if line.startswith(ERRORS)]
    if not starts:
        return ""
    message = [line.strip() for line in said[starts[-1] :] if line.strip()]
    if message[0].startswith(ERRORS[-1]):
        message = [message[0], message[-1]]
    return "; ".join(line.removeprefix("-> ") for line in message).removeprefix("error: ").removeprefix("failed: ")


def fuzz_job(
    request: JobRequest,
    builds: tuple[PlannedBuild, PlannedBuild | None],
    work: Workspace,
    quiet: Quiet,
    now: Callable[[], datetime],
) -> int:
    """Make the targets, note the status of all bugs, run the commands.

    Args:
        builds: the target and the baseline.

    Returns:
        The worst exit code.

    Raises:
        UserError: a target can't be made.
    """
    with stop_requests() as stopped:
        job = FuzzJob(work, stopped, quiet)
        target = _make_target(job, "pull", builds[0], request.pull)
        baseline = None if builds[1] is None else _make_target(job, "pull-baseline", builds[1], request.pull)
        with open_store(work.state_file) as store:
            was = statuses_now(store)
        work.note(
            StartNote(
                mode=request.mode, target=target, baseline=baseline, at=now().isoformat(), plan=request.plan, was=was
            )
        )
        for command in commands(request._replace(target=target, baseline=baseline, recheck=bool(was))):
            if not stopped():
                job.call(command)
                _verify(job, command, request.pull)
        work.note(EndNote(codes=job.codes, problems=tuple(job.problems), stopped=stopped()))
        return INTERRUPTED if stopped() else max((code for code in job.codes.values() if code != BUGS), default=0)


def _make_target(job: FuzzJob, name: str, build: PlannedBuild, options: Sequence[str]) -> str:
    """Return the key of a target, and make the target if it does not exist.

    A locked build is made from one of its files.
    """
    locked: tuple[str, ...] = ()
    if build.lock is not None:
        file = job.work.root / f"{name}-lock.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(to_json(build.lock), encoding="utf-8")
        locked = ("--lock", str(file))
    made = job.call(JobCommand(name, ("pull", build.spec, *locked, *options, "--json")))
    if not isinstance(made, list) or not made:
        raise UserError(
            f"the target {build.spec} could not be made: {'; '.join(job.problems) or 'the lines above say why'}",
            "correct the cause, or name another build, and run the job again",
        )
    return str(made[0]["key"])


def _verify(job: FuzzJob, command: JobCommand, options: Sequence[str]) -> None:
    """Run bugs that would be closed once more on the build that showed them.

    The build may have to be made again.
    """
    if command.name != "recheck" or job.stopped():
        return
    waiting = list(_unverified(job.work.answer(command.name)))
    if not waiting:
        return
    with open_store(job.work.state_file, read_only=True) as store:
        homes = {store.bug(number).target for number in waiting}
        gone = [target for key in sorted(homes) if not Path((target := store.target(key)).python).exists()]
    for target in gone:
        job.call(JobCommand("pull-again", ("pull", exact_spec(target), *options, "--json")))
    if gone and not job.stopped():
        numbers = tuple(map(str, waiting))
        job.call(JobCommand("recheck-again", ("recheck", *numbers, *command.arguments[1:])))


def _unverified(told: Any) -> Iterator[int]:
    for report in told if isinstance(told, list) else ():
        yield from (each["bug"] for each in report["checked"] if each["turn"] == "unverified")


def exact_spec(target: TargetRecord) -> str:
    """Return a spec that gives this very build again."""
    try:
        version = Version(target.version).public
    except InvalidVersion:
        return target.spec
    named = "==" in target.spec or target.spec.startswith(("python:", "/", ".")) or target.spec.endswith(".whl")
    return target.spec if named else f"{target.spec}=={version}"
