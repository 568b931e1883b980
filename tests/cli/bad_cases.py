"""Sixty bad inputs and environments: each is a user's command and a part of nightfuzz's answer.

Each case runs in an empty directory with copies of two states: `state` has one bug, and `traced` has traces alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple


class BadCase(NamedTuple):
    """A command that can't do its work, or works in a hostile environment."""

    name: str
    words: str
    problem: str  # part of the error message; if the exit code is 0, part of the output
    remedy: str = ""  # part of the same text
    code: int = 2  # the exit code
    make: Callable[[Path], object] = lambda folder: None  # prepares the directory
    env: Mapping[str, str] = {}
    shell: bool = False  # the words are a shell's, with $NF for nightfuzz


def config(text: str | bytes) -> Callable[[Path], object]:
    """Write the settings file."""
    data = text if isinstance(text, bytes) else text.encode()
    return lambda folder: (folder / "nightfuzz.toml").write_bytes(data)


def file(name: str, data: bytes | str) -> Callable[[Path], object]:
    """Write a file, over an old one if it is there."""
    return lambda folder: (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def _foreign(folder: Path) -> None:
    (folder / "state/state.db").unlink()
    with sqlite3.connect(folder / "state/state.db") as db:
        db.execute("CREATE TABLE diary (day TEXT)")


def _without_table(folder: Path) -> None:
    with sqlite3.connect(folder / "state/state.db") as db:
        db.execute("ALTER TABLE bugs RENAME TO beetles")


def _newer(folder: Path) -> None:
    with sqlite3.connect(folder / "state/state.db") as db:
        db.execute("INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('nightfuzz', 'm999', '')")


def _cut(folder: Path) -> None:
    (folder / "state/state.db").write_bytes((folder / "state/state.db").read_bytes()[:5000])


S, T = "--state state", "--state traced"
# The remedy that usage errors offer.
HELP = "--help"
COMMAND_LINE = [
    BadCase("unknown command", "buggs", "no such command 'buggs'", "did you mean 'bugs'?"),
    BadCase("unknown flag", f"fuzz {T} --tiem 3", "no such option: --tiem", "did you mean --time?"),
    BadCase(
        "flag without its value", f"fuzz {T} --api", "option '--api' requires an argument", "`nightfuzz fuzz --help`"
    ),
    BadCase("no number", f"show {S}", "missing argument 'bug'", HELP),
    BadCase("a word for a number", f"show abc {S}", "invalid value for 'bug'", HELP),
    BadCase("no such bug", f"show 999 {S}", "no bug 999", "`nightfuzz bugs` lists: 1"),
    BadCase("no such tree", f"moco tree 99 {S}", "no tree 99", "`nightfuzz moco tree`"),
    BadCase("no such kind", "explain crush", "no kind of bug is called 'crush'", "did you mean 'crash'?"),
    BadCase(
        "no such operator", "gandalf order nope", "there is no operator 'nope'", "`nightfuzz gandalf operators` lists"
    ),
    BadCase("no such form", f"results {S} --format xml", "'xml' is not a form of results", "sarif"),
    BadCase("time of zero", f"fuzz {T} --time 0", "time on the command line is '0'", "45m, 90s, 1h30m"),
    BadCase("time in words", f"fuzz {T} --time 5x", "'5x' is not a time: write 45m", "45m, 90s, 1h30m"),
    BadCase("no workers", f"fuzz {T} --workers 0", "workers on the command line is 0", "workers means: "),
    BadCase(
        "unknown engine",
        f"fuzz {T} --engine gandolf",
        "'gandolf': it has to be 'api', 'freefuzz', 'moco' or 'gandalf'",
        "means",
    ),
    BadCase("unknown schedule", f"fuzz {T} --schedule randm", "unknown schedule 'randm'", "bandit, fair, uniform"),
    BadCase("unknown mutator", f"fuzz {T} --disable Dimm", "unknown mutation rule 'Dimm'", "write a kind"),
    BadCase(
        "unknown sandbox", f"fuzz {T} --sandbox dokcer", "'dokcer': it has to be 'none', 'auto' or 'docker'", "means"
    ),
    BadCase(
        "unknown seed source", f"trace {T} --source dcos", "unknown seed source 'dcos'", "docs, models, search, tests"
    ),
    BadCase("shard out of range", f"run {T} --shard 5/4", "'5/4' is not a shard", "write 1/4"),
    BadCase(
        "no such tests", f"trace {T} --tests /no/tests", "--tests /no/tests: there is no such", "leave out --tests"
    ),
    BadCase(
        "no such base", f"run {T} --changed --tests . --base /no", "--base /no: there is no such", "leave out --base"
    ),
    BadCase("changed seeds of nobody", f"run {T} --changed", "none is named", "add --tests DIR"),
    BadCase("baseline that is none", f"run {T} --baseline nope", "'nope' holds no library", "known: "),
    BadCase("baseline that is the target", f"run {T} --baseline fakelib-1", "compared with itself", "name two builds"),
    BadCase(
        "bump without tests",
        f"bump {T} --from fakelib-1 --to torch==2.13.0",
        "no test directory is named",
        "add --tests DIR",
    ),
    BadCase("bump to no build", f"bump {T} --from fakelib-1 --to b --tests .", "'b' holds no library", "known: "),
    BadCase(
        "no such api",
        f"fuzz {T} --api fakelib.scal",
        "no api of this build matches",
        "names of this build: fakelib.scale",
    ),
    BadCase("two bugs in one report", f"report 1 2 {S}", "a report is about one bug", "--umbrella"),
    BadCase("a day that is none", f"known add 1 {S} --reason x --expires soon", "'soon' is not a date", "2027-03-31"),
    BadCase("a moment that is none", f"results {S} --since soon", "'soon' is neither a date", "2026-11-25"),
    BadCase("a version range", "pull torch>=2", "names no single version", "torch==VERSION"),
    BadCase("a misspelt library", "pull torhc==2.13.0", "holds no library", "did you mean torch?"),
    BadCase(
        "no such wheel",
        "pull ./torch-2.13.0-cp311-cp311-linux_x86_64.whl",
        "there is no wheel file",
        "correct the path",
    ),
    BadCase("a program that is no Python", "pull python:/bin/ls", "is not a Python interpreter", "name a Python"),
    BadCase("no such lock", "pull torch==2.13.0 --lock none.json", "cannot read none.json", "--lock"),
    BadCase(
        "an index that is none", "pull torch==2.13.0 --index ftp://x", "'ftp://x' is not the address", "https://HOST"
    ),
    BadCase(
        "an index that is down",
        "pull torch==2.13.0",
        "http://127.0.0.1:9/simple cannot be reached: Connection refused",
        "check the network and the address of the index",
        env={"PIP_NO_INDEX": "", "PIP_FIND_LINKS": "", "PIP_INDEX_URL": "http://127.0.0.1:9/simple"},
    ),
]
FILES = [
    BadCase(
        "unknown key", f"bugs {S}", "line 2: unknown key 'worker'", "'workers'", make=config("seed = 1\nworker = 3")
    ),
    BadCase("a key like no other", f"bugs {S}", "line 1: unknown key 'private'", HELP, make=config("private = true")),
    BadCase("a table", f"bugs {S}", "line 1: [fuzz] is a table", "top of the file", make=config("[fuzz]\ntime = '1m'")),
    BadCase("broken TOML", f"bugs {S}", "is not valid TOML", "docs/reference/configuration.md", make=config("a = = 1")),
    BadCase(
        "a wrong type", f"bugs {S}", "workers in nightfuzz.toml, line 1 is 'x'", "means", make=config("workers='x'")
    ),
    BadCase(
        "not UTF-8", f"bugs {S}", "nightfuzz.toml, line 2: a byte is not UTF-8", "save", make=config(b"#\n\xff = 2")
    ),
    BadCase("no such settings", f"bugs {S} --config no.toml", "cannot read no.toml", "--config"),
    BadCase("unknown oracle", f"fuzz {T}", "unknown oracle 'crush'", "crash", make=config("oracles = ['crush']")),
    BadCase(
        "broken known findings",
        f"known list {S}",
        "nightfuzz-known.toml is not valid TOML",
        "docs/how-to/known-findings.md",
        make=file("nightfuzz-known.toml", "nope [["),
    ),
    BadCase("no state", "bugs --state nowhere", "there is no state file", "nightfuzz trace"),
    BadCase(
        "a file for a state",
        "bugs --state notes",
        "state directory notes: Not a directory",
        "--state",
        make=file("notes", ""),
    ),
    BadCase(
        "garbage for a state, read", f"bugs {S}", "is damaged", "corrupt-1", make=file("state/state.db", b"x" * 9999)
    ),
    BadCase(
        "garbage for a state, written",
        f"fuzz {S}",
        "it is kept as",
        "fresh state",
        make=file("state/state.db", b"x" * 9999),
    ),
    BadCase("half a state", f"bugs {S}", "is damaged", "corrupt-1", make=_cut),
    BadCase(
        "another program's state",
        f"fuzz {S}",
        "a database of another program",
        "the file was not changed",
        make=_foreign,
    ),
    BadCase(
        "a state that lacks a table",
        f"bugs {S}",
        "lacks a part (no such table: bugs)",
        "older copy",
        make=_without_table,
    ),
    BadCase("a later nightfuzz's state", f"bugs {S}", "knows schemas up to", "upgrade nightfuzz", make=_newer),
    BadCase("output into no folder", f"report 1 {S} --output no/x.md", "cannot write no/x.md", "another file"),
    BadCase("output over a folder", f"results {S} --output state", "cannot write state: Is a directory", "--output"),
]
ENVIRONMENTS = [
    BadCase("ascii", f"fuzz {T} --tests-count 3", "fuzzing ...", code=0, env={"PYTHONIOENCODING": "ascii"}),
    BadCase("latin-1", f"fuzz {T} --tests-count 3", "fuzzing ...", code=0, env={"PYTHONIOENCODING": "latin-1"}),
    BadCase(
        "an argument that ascii lacks",
        f"fuzz {T} --api t\u00f8rch",
        r"'t\xf8rch'",
        "nearest",
        env={"PYTHONIOENCODING": "ascii"},
    ),
    BadCase("40 columns", f"bugs {S}", "fakelib.scale", code=0, env={"COLUMNS": "40"}),
    BadCase("no terminal", f"apis {T}", "fakelib.scale", code=0, env={"TERM": ""}),
    BadCase(
        "a reader that leaves", f"$NF apis {T} | head -1; exit ${{PIPESTATUS[0]}}", "invocations", code=0, shell=True
    ),
    BadCase(
        "a reader of a fuzz that leaves",
        f"$NF fuzz {T} --tests-count 60 | head -1; exit ${{PIPESTATUS[0]}}",
        "preparing",
        code=0,
        shell=True,
    ),
    BadCase("standard output closed", f"$NF bugs {S} >&-", "", code=0, shell=True),
    BadCase("standard output full", f"$NF bugs {S} >/dev/full", "no space is left", "free some space", shell=True),
    BadCase("standard error full", f"$NF show 99 {S} 2>/dev/full", "", shell=True),
    BadCase(
        "files of no size",
        f"ulimit -f 1; $NF fuzz {T} --tests-count 60",
        "traced/state.db",
        "check the disk",
        shell=True,
    ),
    BadCase(
        "few open files",
        f"ulimit -n 20; $NF fuzz {T} --tests-count 60",
        "too many files are open",
        "ulimit -n",
        shell=True,
    ),
    BadCase(
        "a cache that is a file",
        "pull python:$PYTHON --library fakelib",
        "targets cannot be kept in",
        "NIGHTFUZZ_CACHE",
        env={"NIGHTFUZZ_CACHE": "/etc/passwd"},
    ),
    BadCase(
        "a library's module that is gone",
        f"fuzz {T} --tests-count 3",
        "unknown library 'fakelib'",
        "choose one of",
        env={"NIGHTFUZZ_PATH": "/no/such"},
    ),
    BadCase(
        "an engine elsewhere",
        f"fuzz {T} --sandbox docker",
        "may be on another machine",
        "unset DOCKER_HOST",
        env={"DOCKER_HOST": "tcp://127.0.0.1:9"},
    ),
]
CASES = [*COMMAND_LINE, *FILES, *ENVIRONMENTS]
