"""The report keeps its structure, whatever a worker said."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from examples import examples
from hypothesis import example, given
from hypothesis import strategies as st

from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, TestCase, prim
from fuzz_core.modelgen.gandalf.scripts import RESULT
from fuzz_core.store.opening import open_store
from fuzz_core.store.records import NewBug, TargetRecord
from fuzz_core.store.store import Store
from nightfuzz.reports.markdown import ZERO_WIDTH, escaped, fenced, headline, tail, write_report

TARGET = TargetRecord("lib-1", "lib==1.0", "lib", "1.0", "/env/bin/python", {"summary": "lib 1.0, CPU build"})
HOSTILE = [
    "plain",
    "`code` and ``more``",
    "```\n# Heading\n```",
    "~~~\nfence\n~~~",
    "a | b | c\n|---|---|---|\n| x | y | z |",
    "<script>alert(1)</script><!-- -->",
    "@somebody and #1 and org/repo#2",
    "![image](http://example.org/x.png) [link](javascript:alert(1))",
    "line\n\n## Bug 99\n\nline",
    "back\\slash \\| pipe",
    "`" * 50,
    "- item\n1. item\n> quote\n    indented",
    "\x00\x1b[31m\u202e\u2028line\x85separators\x0b\x0c",
    "&lt;b&gt; &amp; &#35;",
    "x" * 10_000,
]


BARE_PIPE = r"(?<!\\)(?:\\\\)*\|"


def report(
    folder: Path, text: str, frames: tuple[str, ...] = ("frame",), target: TargetRecord = TARGET, origin: str = ""
) -> str:
    """A report with one bug, all of whose texts are given."""
    with open_store(folder / "state.db", clock=lambda: datetime(2026, 1, 2, tzinfo=UTC)) as store:
        store.save_target(target)
        fill(store, text, frames, origin)
        return write_report(folder / "report.md", store, target).read_text()


def fill(store: Store, text: str, frames: tuple[str, ...], origin: str) -> None:
    test = TestCase(Invocation("lib.f", (prim(1),)), 1)
    outcome = Outcome("exception", text or "E", text, frames, 0.5)
    run = store.start_run(TARGET.key, 7, {})
    finding = store.add_finding(TARGET.key, run, test, Verdict("crash", "internal-error", text), outcome, origin)
    assert finding is not None
    bug = NewBug(text, text, "crash", "internal-error", test, f"import lib\n{text}\n", outcome, 3, 3, True)
    store.settle_finding(finding, "confirmed", hits=3, runs=3, bug=bug)
    store.finish_run(run, "done", {"tests": 10, "seconds": 1.5})


def outside_fences(text: str) -> list[str]:
    """The lines that stand in no code block, as CommonMark reads them: split at newlines alone."""
    lines, fence = [], ""
    for line in re.split(r"\r\n|\r|\n", text):
        mark = re.match(r" {0,3}(`{3,}|~{3,})(.*)$", line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        elif mark and not (mark[1][0] == "`" and "`" in mark[2]):
            fence = mark[1]
        else:
            lines.append(line)
    assert not fence, "a code block is never closed"
    return lines


def shape(text: str) -> list[str]:
    """What gives the report its structure: headings, and the number of cells of each row of a table."""
    found = []
    for line in outside_fences(text):
        if line.startswith("|"):
            found.append(f"{len(re.findall(BARE_PIPE, line)) - 1} cells")
        elif re.match(r" {0,3}(#|>|[-+*] |\d+[.)] |<|=+$|-+$)|    ", line):
            found.append(line.split(":")[0])
    return found


EXPECTED = ["# nightfuzz", "5 cells", "5 cells", "5 cells", "## Bug 1", "## Runs", "5 cells", "5 cells", "5 cells"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_leaves_the_structure_intact(tmp_path: Path, text: str) -> None:
    assert shape(report(tmp_path, text, origin=text)) == EXPECTED


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_frames_and_targets_leave_it_intact(tmp_path: Path, text: str) -> None:
    target = TARGET._replace(spec=text, info={"summary": text})
    assert shape(report(tmp_path, "plain", (text, text), target)) == EXPECTED


@pytest.mark.parametrize("text", HOSTILE)
def test_outside_of_code_nothing_is_a_mention_a_link_or_html(tmp_path: Path, text: str) -> None:
    prose = "\n".join(outside_fences(report(tmp_path, text, origin=text))).replace("[1](#bug-1)", "")
    for sign in "@<[`#!":
        bare = re.findall(rf"(?<!\\)(?:\\\\)*{re.escape(sign)}", re.sub(r"(?m)^#+ ", "", prose))
        assert not bare, (sign, prose)


def test_a_bug_of_a_program_says_where_it_was_made(tmp_path: Path) -> None:
    told = report(tmp_path, "plain", origin="net.py, line 3, block 1: RG changed rate of lib.Drop from 0.1 to 1")
    assert "In a model program: net.py, line 3, block 1: RG changed rate of lib.Drop from 0.1 to 1." in told


def test_models_that_libraries_disagree_about_are_drawn(tmp_path: Path) -> None:
    script = f"x0 = lib.data((2, 3))\nn0 = lib.f(x0)\nassert n0 == 1, '{RESULT}: 1, here 2'"
    assert "![The model](graphs/bug-1.svg)" in report(tmp_path, script)
    assert "lib.f" in (tmp_path / "graphs" / "bug-1.svg").read_text()


def test_others_are_not(tmp_path: Path) -> None:
    assert "![" not in report(tmp_path, "x0 = 1\nn0 = lib.f(x0)") and not (tmp_path / "graphs").exists()


def test_a_small_report(tmp_path: Path) -> None:
    assert report(tmp_path, "bad *size*") == Path(__file__).with_name("small_report.md").read_text()


@given(st.text())
@example("\\")
@example("\\|")
@examples(200)
def test_escaped_text_is_one_line_without_bare_signs(text: str) -> None:
    made = escaped(text)
    assert len(re.split(r"\r\n|\r|\n", made)) == 1
    assert not re.search(r"(?<!\\)(?:\\\\)*[|`<@\[]", made)
    assert re.sub(r"\\([\\`*_{}\[\]<>()#+!|@~&$.=:-])", r"\1", made.replace(ZERO_WIDTH, "")).split() == made_plain(text)


def made_plain(text: str) -> list[str]:
    """What is left to read: signs that show nothing, or turn the text around, are replaced."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in " ".join(text.split())[:1500]).split()


@given(st.text(alphabet="`~a\n ", max_size=60))
@example("a\n```")
def test_a_fence_holds_whatever_is_in_it(text: str) -> None:
    assert outside_fences(f"before\n{fenced(text, 'text')}\nafter") == ["before", "after"]


def test_messages_are_bounded() -> None:
    assert headline("\n  first\nsecond") == "first"
    assert headline("") == ""
    assert len(headline("x" * 999)) == 120
    assert tail("a" + "b" * 3000) == "b" * 1500
    assert len(escaped("x" * 9999)) == 1500


def test_a_run_that_was_killed_stands_in_the_report(tmp_path: Path) -> None:
    with open_store(tmp_path / "state.db", clock=lambda: datetime(2026, 1, 2, tzinfo=UTC)) as store:
        store.save_target(TARGET)
        store.start_run(TARGET.key, 7, {})
        store.finish_run(store.start_run(TARGET.key, 8, {}), "done", {"tests": 10, "seconds": 1.5})
        lines = write_report(tmp_path / "report.md", store, TARGET).read_text().splitlines()
    rows = [[cell.strip() for cell in line.split("|")[3:6]] for line in lines if line.startswith(("| 1 |", "| 2 |"))]
    assert rows == [["0", "0.0", "running"], ["10", "1.5", "done"]]
