"""Texts for the runner: output files that it can read back, and log commands that no value can break out of."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runner import parsed

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.action.runner import SUMMARY_BYTES, Runner

TEXT = st.text(st.characters(blacklist_categories=["Cs"]))


def made(folder: Path, token: str = "token") -> tuple[Runner, io.StringIO]:
    stream = io.StringIO()
    names = ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
    return Runner({name: str(folder / name) for name in names}, stream, lambda: token), stream


class DescribeOutputs:
    @given(value=TEXT)
    def test_is_read_back_as_it_was(self, value: str, tmp_path_factory: pytest.TempPathFactory) -> None:
        folder = tmp_path_factory.mktemp("output")
        runner, _stream = made(folder)
        runner.output("bugs-total", 3)
        runner.output("report-path", value)
        read = parsed((folder / "GITHUB_OUTPUT").read_bytes().decode())
        assert read == {"bugs-total": "3", "report-path": value}

    def test_refuses_a_delimiter_inside_and_names_that_are_none(self, tmp_path: Path) -> None:
        runner, _stream = made(tmp_path)
        with pytest.raises(ValueError, match="delimiter"):
            runner.output("a", "x\nnightfuzz-token\nevil=1")
        with pytest.raises(ValueError, match="no name"):
            runner.output("a=b", "x")
        assert not (tmp_path / "GITHUB_OUTPUT").exists()

    def test_draws_another_delimiter_each_time(self, tmp_path: Path) -> None:
        runner = Runner({"GITHUB_OUTPUT": str(tmp_path / "out")})
        runner.output("a", "x")
        runner.output("b", "y")
        marks = re.findall(r"<<(nightfuzz-\w{32})$", (tmp_path / "out").read_text(), re.MULTILINE)
        assert len(set(marks)) == 2

    def test_writes_nothing_outside_a_runner(self) -> None:
        runner = Runner({}, io.StringIO())
        runner.output("a", "x")
        assert runner.summary("text")


class DescribeFailures:
    def test_an_error_is_an_annotation_and_stands_in_the_summary_as_text(self, tmp_path: Path) -> None:
        runner, stream = made(tmp_path)
        runner.fail(UserError("no api matches 'torch.<b>'\n::error::x", "name another\n# one"))
        lines = stream.getvalue().splitlines()
        assert len(lines) == 1 and lines[0].startswith("::error title=nightfuzz::no api matches 'torch.<b>'%0A")
        told = (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
        assert told.startswith("**nightfuzz failed.** no api matches") and "name another" in told
        assert "<b>" not in told and "\n#" not in told


class DescribeSummary:
    def test_adds_up_to_the_limit_and_says_what_is_cut(self, tmp_path: Path) -> None:
        runner, _stream = made(tmp_path)
        assert runner.summary("# Found\n")
        assert not runner.summary("\n".join(f"- line {number} ü" for number in range(200_000)))
        data = (tmp_path / "GITHUB_STEP_SUMMARY").read_bytes()
        assert SUMMARY_BYTES - 200 < len(data) <= SUMMARY_BYTES
        assert data.decode().startswith("# Found\n- line 0 ü\n")
        assert "the whole report is in the artifact" in data.decode()

    def test_opens_no_block_after_one_that_is_closed(self, tmp_path: Path) -> None:
        runner, _stream = made(tmp_path)
        runner.summary("> ```\n> quoted\n> ```\n\n" + "- a line\n" * 200_000)
        assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text().count("```") == 2

    def test_closes_the_code_block_that_it_cuts(self, tmp_path: Path) -> None:
        runner, _stream = made(tmp_path)
        runner.summary("<details>\n\n````python\n```\n" + "x = 1\n" * 300_000 + "````\n")
        text = (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
        assert text.count("````") == 2
        assert "\n````\n</details>\n\n\n… The summary" in text

    @given(
        parts=st.lists(TEXT | st.just("<details>\n" * 9 + "`" * 40 + "\n" + "x\n" * 200), max_size=4),
        share=st.integers(0, 700),
    )
    def test_never_passes_the_limit(
        self, parts: list[str], share: int, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        folder = tmp_path_factory.mktemp("summary")
        (folder / "GITHUB_STEP_SUMMARY").write_bytes(b"x" * (SUMMARY_BYTES - share))
        runner, _stream = made(folder)
        for part in parts:
            runner.summary(part)
        assert (folder / "GITHUB_STEP_SUMMARY").stat().st_size <= SUMMARY_BYTES


class DescribeCommands:
    def test_folds_and_takes_control_signs_out_of_titles(self) -> None:
        stream = io.StringIO()
        runner = Runner({}, stream)
        with runner.group("Fuzzing\n::error::\x1b[31m"):
            print("inside", file=stream)
        assert stream.getvalue().splitlines() == ["::group::Fuzzing ::error::�[31m", "inside", "::endgroup::"]

    def test_masks_every_line_of_a_secret(self) -> None:
        stream = io.StringIO()
        Runner({}, stream).mask("-----BEGIN\nabc%\n\n-----END")
        assert stream.getvalue().splitlines() == [
            "::add-mask::-----BEGIN%0Aabc%25%0A%0A-----END",
            "::add-mask::-----BEGIN",
            "::add-mask::abc%25",
            "::add-mask::-----END",
        ]

    def test_has_the_runner_take_no_commands_from_untrusted_output(self) -> None:
        stream = io.StringIO()
        runner = Runner({}, stream, lambda: "mark")
        with pytest.raises(RuntimeError), runner.untrusted():
            print("::error::not a command", end="", file=stream)
            raise RuntimeError
        lines = stream.getvalue().splitlines()
        assert lines == ["::stop-commands::mark", "::error::not a command", "::mark::"]
