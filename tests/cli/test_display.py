"""Progress on a terminal, and in other outputs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from io import StringIO
from threading import Event

import pytest
from rich.console import Console

from fuzz_core.cli.lines import PLAIN_SECONDS, LineProgress
from fuzz_core.cli.output import LOGS, CommandOutput, Report, TextTable, Verbatim, draw
from fuzz_core.cli.screen import Screen


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


NOON = datetime(2026, 11, 25, 12, 0, 5)


def lines_of(clock: Clock) -> tuple[LineProgress, list[str]]:
    """Returns a display and its lines, each without the time of day at its beginning."""
    lines: list[str] = []
    return LineProgress(lambda text: lines.append(text.removeprefix("12:00:05 ")), clock, lambda: NOON), lines


def test_plain_progress_is_a_line_now_and_then_with_the_time_that_is_left() -> None:
    clock = Clock()
    display, lines = lines_of(clock)
    with display:
        display.advance(0)
        display.phase("fuzzing", 60)
        for second in range(25):
            clock.now = float(second)
            display.advance(second, tests=second * 10, bugs=1)
        display.note("a [b]note[/b]")
        display.phase("confirming")
        clock.now += PLAIN_SECONDS
        display.advance(3)
    assert lines == [
        "fuzzing …",
        "fuzzing: 10/60, about 50 s left  tests 100  bugs 1",
        "fuzzing: 20/60, about 40 s left  tests 200  bugs 1",
        "a [b]note[/b]",
        "confirming …",
        "confirming: 3, 10 s so far",
    ]


def test_each_line_of_a_log_says_when_it_was_written() -> None:
    lines: list[str] = []
    LineProgress(lines.append, Clock(), lambda: NOON).note("made")
    assert lines == ["12:00:05 made"]


def test_a_phase_that_does_not_advance_is_not_silent() -> None:
    clock = Clock()
    display, lines = lines_of(clock)
    for clock.now in (4.0, 10.0, 15.0, 20.0):
        display.beat()
    display.phase("making the target")
    clock.now = 31.0
    display.beat()
    assert lines == [
        "starting: 10 s so far", "starting: 20 s so far", "making the target …", "making the target: 11 s so far"
    ]  # fmt: skip


def test_a_thread_speaks_while_nothing_advances() -> None:
    said, spoken = list[str](), Event()

    def write(text: str) -> None:
        said.append(text)
        spoken.set()

    with LineProgress(write, every=0.01, beats=True):
        assert spoken.wait(30)
    assert "starting: 0 s so far" in said[0]


def test_quiet_output_has_the_answer_alone(capsys: pytest.CaptureFixture[str]) -> None:
    output = CommandOutput(quiet=True)
    with output.watch() as display:
        display.phase("fuzzing", 60)
        display.note("by the way")
    output.note("a note")
    output.say("beside")
    output.print(Report(text=["the answer"]))
    assert capsys.readouterr() == ("the answer\n", "")


@pytest.mark.parametrize("name", LOGS)
def test_the_log_of_a_job_gets_lines_even_from_what_looks_like_a_terminal(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "true")
    output, file = CommandOutput(), StringIO()
    output.console = Console(file=file, force_terminal=True)
    with output.watch() as display:
        display.phase("fuzzing", 60)
        display.advance(30, tests=1)
    assert "fuzzing" in file.getvalue() and "\x1b[2K" not in file.getvalue() and "\r" not in file.getvalue()


def test_a_terminal_gets_a_screen_and_a_file_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in LOGS:
        monkeypatch.delenv(name, raising=False)
    output, file = CommandOutput(), StringIO()
    output.console = Console(file=StringIO(), force_terminal=True)
    assert isinstance(output.watch().display, Screen)
    output.console = Console(file=file, force_terminal=False)
    with output.watch() as watch:
        watch.phase("tracing [red]", 3)
        watch.note("[bold]as it is")
    assert isinstance(watch.display, LineProgress)
    assert [line[9:] for line in file.getvalue().splitlines()] == ["tracing [red] …", "[bold]as it is"]


@pytest.mark.parametrize("terminal", [True, False])
def test_a_table_is_as_narrow_as_the_terminal_and_as_wide_as_it_needs_in_a_log(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("FORCE_COLOR" if terminal else "NO_COLOR", "1")
    api = "library.functional.a_function_with_a_long_name"
    CommandOutput().show(
        TextTable(["bug", "api", "what happened"], [[1, api, "RuntimeError: something that takes some words"]])
    )
    assert (api in capsys.readouterr().out) != terminal


@pytest.mark.parametrize("as_json", [True, False])
def test_a_report_is_text_or_json_alone(as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    output = CommandOutput(as_json)
    output.show("so far")
    output.say("beside")
    assert output.print(Report({"bugs": 1}, ["[red]one", TextTable(["bug"], [["\x1b[2J"]])], code=1)) == 1
    printed = capsys.readouterr()
    if as_json:
        assert (json.loads(printed.out), printed.err) == ({"bugs": 1}, "beside\n")
    else:
        words = [line.strip() for line in printed.out.splitlines()]
        assert words == ["so far", "beside", "[red]one", "bug", "\N{REPLACEMENT CHARACTER}[2J"] and not printed.err


def drawn(width: int, columns: Sequence[str], *rows: Sequence[object]) -> list[str]:
    console = Console(file=StringIO(), width=width)
    draw(console, TextTable(columns, rows))
    return console.file.getvalue().splitlines()


API = "library.functional.a_function_with_a_long_name"
SAID = "gradient -0.304 by autograd, -1.87 by difference quotient"


@pytest.mark.parametrize("width", [40, 59, 60, 80, 120, 200])
def test_no_width_breaks_a_word_or_leaves_the_screen(width: int) -> None:
    lines = drawn(width, ["bug", "severity", "api", "what happened"], [12, "wrong-result", API, SAID])
    assert all(len(line) <= width for line in lines)
    known = {"bug", "severity", "api", "what", "happened", "12", "wrong-result", API, *SAID.split()}
    assert [word for word in " ".join(lines).split() if word not in known and "…" not in word] == []


def test_prose_ends_lines_at_words_on_a_terminal_and_a_script_stays_as_it_is() -> None:
    output, script = CommandOutput(), "fakelib.scale(np.zeros((1, 1), np.float32), -1)  # a line to copy"
    text = "  evidence: its script was minimised and shows it in fresh processes"
    for terminal, lines in (
        (True, ["  evidence: its script was minimised and", "    shows it in fresh processes"]),
        (False, [text]),
    ):
        output.console = Console(file=StringIO(), width=40, force_terminal=terminal, color_system=None)
        output.show(text, Verbatim(script))
        assert output.console.file.getvalue().splitlines() == [*lines, script]  # type: ignore[attr-defined]


def test_a_column_without_a_cell_is_left_out() -> None:
    lines = drawn(80, ["build", "commit", "tests"], ["a", "", 0], ["b", "", 5])
    assert [line.split() for line in lines] == [["build", "tests"], ["a", "0"], ["b", "5"]]
    assert drawn(80, ["build", "commit"]) == ["build  commit"]


def test_a_test_that_is_cut_keeps_its_own_name() -> None:
    [line] = drawn(30, ["kind", "called by"], ["new", "tests/test_pipeline.py::TestRows::test_each_part"])[1:]
    assert line.strip() == "…TestRows::test_each_part"


def test_a_narrow_terminal_has_a_block_a_row() -> None:
    assert drawn(40, ["bug", "severity", "api", "what happened"], [12, "wrong-result", API, SAID]) == [
        "12  wrong-result",
        "  …a_function_with_a_long_name",
        "  gradient -0.304 by autograd, -1.87 by",
        "  difference quotient",
    ]


def test_a_number_in_a_block_has_the_name_of_its_column() -> None:
    lines = drawn(40, ["api", "invocations", "valid", "gap"], ["torch.abs", 3, 2, ""])
    assert lines == ["torch.abs  invocations 3  valid 2"]


def test_a_word_that_is_too_long_ends_with_an_ellipsis_and_a_dotted_name_begins_with_one() -> None:
    lines = drawn(60, ["api", "what happened"], [API, "x" * 100])
    assert lines[1].split() == ["…a_function_with_a_long_name", "x" * 28 + "…"]


def test_a_called_name_that_is_too_long_keeps_its_end_and_its_first_argument() -> None:
    lines = drawn(60, ["bug", "what happened"], [1, f"{API}(zeros(()),weights,1): aborts"])
    assert "".join(lines).count("…") == 1 and "…a_function_with_a_long_name(zeros(()),weights,1):" in lines[1]


def test_a_number_on_a_narrow_terminal_says_what_it_counts(capsys: pytest.CaptureFixture[str]) -> None:
    output = CommandOutput()
    output.console = Console(width=40)
    output.show(TextTable(["build", "fuzzed", "apis", "tests"], [["fakelib-1", "1h05m", 17, "37,142"]]))
    assert capsys.readouterr().out.split("\n")[0] == "fakelib-1  fuzzed 1h05m  apis 17"


def test_a_slice_of_python_is_no_picture(capsys: pytest.CaptureFixture[str]) -> None:
    CommandOutput().show("x[:bug:]")
    assert capsys.readouterr().out == "x[:bug:]\n"
