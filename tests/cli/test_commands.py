"""Output and exit codes of commands: 0, 1 for bugs, 2 for the user's errors, 3 for ours, 130 when interrupted."""

from __future__ import annotations

import errno
import inspect
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

from fuzz_core.cli import errors
from fuzz_core.cli.app import COMMANDS, app
from fuzz_core.cli.settings import Settings, load
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.errors import Interrupted, NightfuzzError, UserError
from fuzz_core.ir.outcome import Outcome
from fuzz_core.store.cells import CellRow, Effort
from fuzz_core.store.findings import OperatorRow
from fuzz_core.store.records import NewBug
from fuzz_core.store.statefile import open_store

Cli = Callable[..., Any]
PAGE = Path(__file__).parents[2] / "docs/reference/configuration.md"
FUZZ = ("fuzz", "--tests-count", 300, "--seed", 1, "--api", "*.scale", "--api", "*.add")
MAIN = "from fuzz_core.cli.app import main; main()"


def raising(error: BaseException) -> Callable[[], int]:
    def work() -> int:
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (UserError("no [b]such[/b] thing", "make one"), 2, "error: no [b]such[/b] thing\n  -> make one"),
        (NightfuzzError("the worker is gone"), 3, "failed: the worker is gone"),
        (KeyError("surprise"), 3, "this is a bug in nightfuzz"),
        (OSError(errno.ENOSPC, "No space left on device"), 2, "error: no space is left on the disk"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (Interrupted("asked"), 130, "interrupted"),
    ],
)
def test_errors_become_exit_codes(
    error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert errors.guarded(raising(error)) == code
    printed = capsys.readouterr()
    assert said in printed.err
    assert ("Traceback" in printed.err) == (type(error) is KeyError)
    assert printed.out == ""


def test_what_returns_keeps_its_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert [errors.guarded(lambda code=code: code) for code in (0, 1)] == [0, 1]  # type: ignore[misc]
    assert capsys.readouterr() == ("", "")


def test_the_first_signal_asks_and_the_second_interrupts() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with errors.stop_requests() as stopped:
        assert not stopped()
        signal.raise_signal(signal.SIGTERM)
        assert stopped()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) == before


def test_every_listing_speaks_json(cli: Cli, state: Path) -> None:
    apis = cli("apis", "--state", state, "--json").json
    assert {row["api"]: row["gap"] for row in apis}["fakelib.scale"] == ""
    [bug] = cli("bugs", "--state", state, "--json").json
    assert (bug["api"], bug["kind"], bug["outcome"][1]) == ("fakelib.scale", "internal-error", "SystemError")
    which = "1 by a fresh interpreter, 4 in forks of a process that had only imported fakelib"
    assert cli("show", bug["id"], "--state", state, "--json").json == {**bug, "checks": [], "which": which}
    assert {"name", "ok", "detail", "remedy"} <= set(cli("doctor", "--json").json[0])
    assert cli("bugs", "--state", state, "--target", "fakelib-1", "--json").json == [bug]
    assert (bug["severity"]["grade"], bug["validity"]["status"], bug["cluster"]) == ("internal-error", "unknown", [1])
    assert bug["contradiction"].startswith("SystemError: ")


def test_what_the_documentation_rules_out_is_invalid_in_its_own_words(cli: Cli, state: Path) -> None:
    with open_store(state / "state.db") as store:
        bound = Constraint("fakelib.scale", "by", "minimum", (0.0,), "`by` must not be negative.", "docstring")
        store.save_constraints("fakelib-1", [bound])
    [bug] = cli("bugs", "--state", state, "--json").json
    assert bug["validity"] == {"status": "invalid", "reason": "documented: `by` must not be negative. (docstring)"}


def test_work_speaks_json_too(cli: Cli, traced: Path) -> None:
    again = cli("trace", "--state", traced, "--source", "docs", "--json").json
    assert (again["new"], again["unchanged"], again["status"]) == (0, again["seeds"], {})
    assert again["apis_valid"] > 10
    report = cli(*FUZZ, "--state", traced, "--json").json
    assert 100 < report["fuzz"]["tests"] <= 300, "what was made twice is run once"
    assert sum(report["triage"]["settled"].values()) >= 1
    assert Path(report["report"]).read_text().startswith("# nightfuzz")


def test_bugs_fail_a_run_where_that_was_asked_for(cli: Cli, traced: Path) -> None:
    assert cli(*FUZZ, "--state", traced, "--fail-on-bugs").code == 1
    assert cli(*FUZZ, "--state", traced, "--fail-on-bugs").code == 0, "the bug is not new any more"


def test_tables_for_a_person(cli: Cli, state: Path) -> None:
    assert "fakelib.scale" in cli("bugs", "--state", state).out
    assert "1 bug in 1 cluster" in cli("bugs", "--state", state).out
    assert "fakelib.scale" in cli("bugs", "--all", "--state", state).out
    listing = cli("apis", "--state", state, "--api", "*.scale").out
    assert "1 of 1 apis have a valid invocation" in listing
    assert "fakelib.scale" not in cli("apis", "--state", state, "--gaps").out
    shown = cli("show", 1, "--state", state).out
    parts = (
        "bug 1: fakelib.scale(None, -1)\nSystemError: scale returned NULL",
        "kind: internal-error of fakelib.scale",
        "severity: internal-error",
        "input: unknown",
        "reproduced 5 of 5 times",
    )
    for part in (*parts, "import fakelib"):
        assert part in shown


def test_coverage_lists_operators_with_their_dtypes(cli: Cli, traced: Path) -> None:
    reached = [OperatorRow("add", "float32", "fakelib.add"), OperatorRow("add", "int8", "fakelib.add")]
    with open_store(traced / "state.db") as store:
        store.save_news("fakelib-1", [], [*reached, OperatorRow("mul", "-", "fakelib.scale")])
    listing = cli("apis", "--coverage", "--state", traced).out
    assert "2 operators reached, 3 pairs of operator and dtype" in listing
    assert "float32 int8" in listing
    rows = cli("apis", "--coverage", "--state", traced, "--api", "*.add", "--json").json
    assert rows["operators"] == [operator._asdict() for operator in reached]


def test_coverage_counts_the_cells_of_the_sweep_by_api_or_by_argument(cli: Cli, traced: Path) -> None:
    late = "1 cells of fakelib.scale took 1.00 s on average"
    cells = [
        CellRow("fakelib.scale", "factor", "Boundary Float nan", "valid"),
        CellRow("fakelib.scale", "factor", "Boundary Float inf", "postponed", late),
        CellRow("fakelib.scale", "", "Drop Argument", "refused"),
        CellRow("fakelib.add", "x", "Scalar Tensor", "crashed"),
    ]
    with open_store(traced / "state.db") as store:
        store.save_cells("fakelib-1", cells, [Effort("fakelib.scale", 3, 10), Effort("fakelib.add", 1, 1)])
    listing = cli("apis", "--coverage", "--state", traced).out
    assert "3 of 11 cells tried (1 valid, 1 refused, 1 crashed, 1 postponed, 7 untried)" in listing
    assert late in listing and "factor" not in listing
    narrow = cli("apis", "--coverage", "--state", traced, "--api", "*.scale")
    assert "factor" in narrow.out and "(whole call)" in narrow.out and "fakelib.add" not in narrow.out
    data = cli("apis", "--coverage", "--state", traced, "--api", "*.scale", "--json").json
    assert data["cells"] == {"total": 10, "tried": 2, "valid": 1, "refused": 1, "postponed": 1}
    assert sorted(map(tuple, map(dict.values, data["results"]))) == sorted(map(tuple, cells[:3]))


@pytest.mark.smoke
def test_a_bug_is_a_script_that_reproduces(cli: Cli, state: Path) -> None:
    done = cli("repro", 1, "--state", state)
    assert done.code == 0
    compile(done.out, "script", "exec")
    again = cli("repro", 1, "--run", "--state", state)
    assert (again.code, again.out.startswith("reproduces: SystemError: ")) == (1, True)


@pytest.mark.parametrize(
    ("holds", "code", "told"), [(False, 1, "reproduces: "), (True, 0, "does not reproduce: the call returns; ")]
)
def test_a_script_whose_call_returns_reproduces_by_its_assertion(
    cli: Cli, state: Path, holds: bool, code: int, told: str
) -> None:
    with open_store(state / "state.db") as store:
        bug = store.bug(1)
        grows = Outcome("ok", text="every call leaves 1064 bytes")
        new = NewBug(bug.signature_text, bug.api, "leak", "leak", bug.test, f"assert {holds}\n", grows, 5, 5)
        store.improve_bug(1, new)
        with store._transaction():
            store._db.execute("UPDATE findings SET verdict = ? WHERE bug = 1", ('["leak", "leak", "cpu: it grows"]',))
    done = cli("repro", 1, "--run", "--state", state)
    assert (done.code, told in done.out) == (code, True)


def test_flags_win_over_the_file_and_the_file_over_defaults(tmp_path: Path) -> None:
    file = tmp_path / "nightfuzz.toml"
    file.write_text("workers = 7\ntime = '2h'\napi = ['torch.nn.*']\nfail_on_bugs = true\n")
    settings = load(file, {"workers": 3, "time": None, "api": [], "seed": 0, "fail_on_bugs": None})
    assert (settings.workers, settings.time, settings.api) == (3, 7200, ["torch.nn.*"])
    assert (settings.seed, settings.fail_on_bugs, settings.timeout) == (0, True, Settings().timeout)
    assert load(file, {"api": ["tf.*"], "fail_on_bugs": False}).api == ["tf.*"]
    assert not load(file, {"fail_on_bugs": False}).fail_on_bugs


def test_the_file_in_the_directory_counts(cli: Cli, state: Path) -> None:
    Path("nightfuzz.toml").write_text(f"state = '{state}'\napi = ['*.scale']\n")
    assert len(cli("apis", "--json").json) == 1
    assert len(cli("apis", "--json", "--api", "*").json) > 10


def test_every_flag_of_fuzz_and_run_is_a_key_of_the_settings_file() -> None:
    assert not COMMANDS["fuzz"].own and not COMMANDS["run"].own
    group = typer.main.get_command(app)
    found = set()
    for name in ("fuzz", "run"):
        command = group.commands[name]  # type: ignore[attr-defined]
        found |= {parameter.name for parameter in command.get_params(typer.Context(command))}
    assert found - {"config", "as_json", "quiet", "verbose", "help"} <= set(Settings.model_fields)
    assert {"time", "libraries", "shard", "changed"} <= found


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_the_words_that_its_function_takes(name: str) -> None:
    command = COMMANDS[name]
    module, _, function = command.work.partition(":")
    work = getattr(import_module(f"fuzz_core.cli.commands.{module}"), function)
    assert [*inspect.signature(work).parameters] == ["settings", "output", *command.own]
    assert set(command.settings.split()) <= set(Settings.model_fields)
    assert set(command.helps) | set(command.defaults) <= set(command.settings.split())


@pytest.mark.parametrize("key", Settings.model_fields)
def test_every_setting_has_a_help_sentence(key: str) -> None:
    assert Settings.model_fields[key].description


def shown(value: Any) -> str:
    """Returns a default as the page writes it."""
    if value is None:
        return "none"
    return f"`{json.dumps(str(value) if isinstance(value, Path) else value)}`"


@pytest.mark.parametrize("key", Settings.model_fields)
def test_the_page_lists_every_key_with_its_default(key: str) -> None:
    rows = [line.split(" | ") for line in PAGE.read_text().splitlines() if line.startswith(f"| `{key}` |")]
    assert [row[1] for row in rows] == [shown(getattr(Settings(), key))]


def test_the_page_lists_nothing_else_and_its_example_is_valid(tmp_path: Path) -> None:
    text = PAGE.read_text()
    listed = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]
    assert listed == list(Settings.model_fields)
    file = tmp_path / "nightfuzz.toml"
    file.write_text(text.split("```toml\n")[1].split("```")[0])
    assert load(file, {}) != Settings()


def test_an_interrupted_run_ends_with_130_and_keeps_its_state(traced: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", MAIN, "fuzz", "--state", str(traced), "--time", "10m", "--workers", "1"]
    env, pipe = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=tmp_path, env=env) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if " fuzzing" in line:
                process.send_signal(signal.SIGINT)
                break
        _, said = process.communicate()
    assert process.returncode == 130
    assert said.splitlines() == [errors.STOPPING, errors.KEPT]
