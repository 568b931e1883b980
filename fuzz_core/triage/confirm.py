"""Standalone scripts in fresh processes: what each run did, and how many did what was expected of them."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Mapping
from typing import NamedTuple

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.adapters.surroundings import surroundings
from fuzz_core.ir.complaints import with_complaint
from fuzz_core.ir.outcome import Outcome
from fuzz_core.triage.native import stack_trace
from fuzz_core.triage.process import DEFAULT_MEMORY, Finished, Processes, checked_python, run

SCRIPT_NAME = "repro.py"
KEPT_TEXT = 2000
KEPT_FRAMES = 20
_TRACEBACK = "Traceback (most recent call last):"
_FRAME = re.compile(r'  File "([^"\n]+)", line \d+, in (\S+)')
_RAISED = re.compile(r"([A-Za-z_][\w.]*)(?::\s?(.*))?\Z", re.DOTALL)
_ALARM = re.compile(
    r"^.*(?:Check failed|terminate called|what\(\): |INTERNAL ASSERT|Fatal Python error|LLVM ERROR|Assertion .* failed"
    r"|(?:malloc|free|realloc|calloc|munmap_chunk)\w*\(\): |double free|corrupted|smashing detected).*$",
    re.MULTILINE,
)
_LOG_HEAD = re.compile(r"^[EF]\d{4} [^\]]*\] ")
_LOG_LINE = re.compile(r"[IW]\d{4} |WARNING: All log messages|To enable the following instructions")
# What Python's `warnings` writes: some lines, and mostly the one of the source that it is about.
_WARNING = re.compile(r"^\S+:\d+: \w*Warning: (?:(?:.*\n){1,8}?  (?!File )\S.*\n?|.*\n?)", re.MULTILINE)
_PACKAGES = re.compile(r".*/(?:site|dist)-packages/")


class Confirmation(NamedTuple):
    """How often a script did what was wanted; `outcome` is the first wanted one, or the last where none was."""

    hits: int
    runs: int
    outcome: Outcome


def run_script(
    python: str,
    script: str,
    dialect: Dialect,
    timeout: float = 60.0,
    memory_bytes: int = DEFAULT_MEMORY,
    env: Mapping[str, str] | None = None,
    processes: Processes | None = None,
) -> Outcome:
    """Runs a script in a fresh, limited process and says what happened. Raises UserError for a missing interpreter."""
    env = {**surroundings(dialect, python), **(env or {})}
    finished = run([checked_python(python), SCRIPT_NAME], {SCRIPT_NAME: script}, timeout, memory_bytes, env, processes)
    return classify(finished, dialect)


def confirm(
    python: str,
    script: str,
    wanted: Callable[[Outcome], bool],
    dialect: Dialect,
    runs: int = 3,
    timeout: float = 60.0,
    memory_bytes: int = DEFAULT_MEMORY,
    env: Mapping[str, str] | None = None,
    processes: Processes | None = None,
) -> Confirmation:
    """Runs a script `runs` times, each in a process of its own, and counts the wanted outcomes."""
    limits = (timeout, memory_bytes, env, processes)
    outcomes = [run_script(python, script, dialect, *limits) for _ in range(runs)]
    hits = [outcome for outcome in outcomes if wanted(outcome)]
    return Confirmation(len(hits), runs, (hits or outcomes[-1:])[0])


def classify(finished: Finished, dialect: Dialect) -> Outcome:
    """What a process did, by the way it ended and what it wrote."""
    quiet = finished._replace(stderr=dialect.chatter.sub("", finished.stderr))
    outcome = _classified(_uncaught(quiet, dialect))
    if dialect.miscompiled.search(outcome.text):
        outcome = outcome._replace(text=with_complaint(outcome.text, finished.stderr))
    complaint = f"{outcome.name}: {outcome.text}"
    if outcome.name == "SIGKILL" or (_may_be_memory(outcome) and dialect.out_of_memory.search(complaint)):
        # Nothing but the kernel's out-of-memory killer sends SIGKILL here: the time limit's own has no exit status.
        return outcome._replace(kind="oom")
    return outcome


def _uncaught(finished: Finished, dialect: Dialect) -> Finished:
    """As if the library had let a signal end the process that it has caught; said is then what came before."""
    found = dialect.caught.search(finished.stderr) if finished.code else None
    if found is None:
        return finished
    number = int(found.groupdict().get("number") or signal.SIGSEGV)
    return finished._replace(code=-number, stderr=finished.stderr[: found.start()])


def _may_be_memory(outcome: Outcome) -> bool:
    return outcome.kind in ("exception", "exit") or outcome.name == "SIGABRT"


def _classified(finished: Finished) -> Outcome:
    tail = _said(finished.stderr)
    if finished.code is None:
        return Outcome("timeout", "timeout", tail, seconds=finished.seconds)
    if finished.code == 0:
        return Outcome("ok", seconds=finished.seconds)
    if finished.code < 0:
        frames = stack_trace(finished.stderr)
        return Outcome("signal", _signal_name(-finished.code), tail, frames, finished.seconds)
    if _TRACEBACK in finished.stderr:
        return _raised(finished)
    return Outcome("exit", str(finished.code), tail, seconds=finished.seconds)


def _said(stderr: str) -> str:
    """The lines that raise the alarm, or the last ones where none does; warnings say nothing of an end."""
    alarms = "\n".join(_LOG_HEAD.sub("", match.group(0)).strip() for match in _ALARM.finditer(stderr))
    others = "\n".join(line for line in _WARNING.sub("", stderr).splitlines() if not _LOG_LINE.match(line))
    return alarms[:KEPT_TEXT] or others[-KEPT_TEXT:].strip()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _raised(finished: Finished) -> Outcome:
    """The exception that ended the script: its frames inside the library, innermost first."""
    lines = finished.stderr[finished.stderr.rindex(_TRACEBACK) :].splitlines()[1:]
    first = next((i for i, line in enumerate(lines) if line and not line[0].isspace()), len(lines))
    message = "\n".join(lines[first:]).strip()
    found = _RAISED.match(message)
    name, text = (found.group(1).rpartition(".")[2], found.group(2) or "") if found else ("", message)
    inside = (_FRAME.match(line) for line in lines[:first])
    frames = [_frame(match.group(1), match.group(2)) for match in inside if match]
    kept = tuple(frame for frame in reversed(frames) if not frame.startswith(SCRIPT_NAME))[:KEPT_FRAMES]
    return Outcome("exception", name, text.strip()[:KEPT_TEXT], kept, finished.seconds)


def _frame(path: str, function: str) -> str:
    package = _PACKAGES.match(path)
    return f"{path[package.end() :] if package else path.rpartition('/')[2]}:{function}"


def printed(python: str, script: str, dialect: Dialect, timeout: float, processes: Processes) -> Outcome:
    """Runs a script in a fresh, limited process; the text of an `ok` outcome is what it printed."""
    command = [checked_python(python), SCRIPT_NAME]
    finished = run(command, {SCRIPT_NAME: script}, timeout, DEFAULT_MEMORY, surroundings(dialect, python), processes)
    outcome = classify(finished, dialect)
    return outcome._replace(text=finished.stdout.strip()[:KEPT_TEXT]) if outcome.kind == "ok" else outcome
