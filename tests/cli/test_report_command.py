"""`nightfuzz report`: the text of an issue, printed or written; private bugs are refused; versions are kept."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nightfuzz_fakelib
import pytest

from fuzz_core.ir.codec import decode_test, encode_test
from fuzz_core.store.statefile import open_store
from fuzz_core.targets.facts import environment_from_json
from nightfuzz.reports.issues import missing_parts

Cli = Callable[..., Any]
TRUE_BUG = "fakelib.scale("


def change(state: Path, outcome: str) -> None:
    """Gives the bug another outcome."""
    with sqlite3.connect(state / "state.db") as db:
        db.execute("UPDATE bugs SET outcome = ?, kind = 'crash'", (outcome,))
    db.close()


def test_a_report_is_complete_and_its_versions_are_kept(cli: Cli, state: Path) -> None:
    done = cli("report", 1, "--state", state)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(TRUE_BUG)
    assert missing_parts(done.out, "fakelib") == []
    with open_store(state / "state.db", read_only=True) as store:
        kept = environment_from_json(store.target("fakelib-1").info["environment"])
    assert kept is not None and "fakelib version: " in kept.text and kept.facts["python"]
    assert cli("report", 1, "--state", state).out == done.out


def test_versions_that_cannot_be_gathered_are_said(cli: Cli, state: Path) -> None:
    with open_store(state / "state.db") as store:
        store.save_target(store.target("fakelib-1")._replace(python="/no/such/python", info={}))
    done = cli("report", 1, "--state", state)
    assert (
        done.code,
        "More version information could not be gathered: the target's interpreter cannot be run" in done.out,
    ) == (0, True)
    assert missing_parts(done.out, "fakelib") == []
    with open_store(state / "state.db", read_only=True) as store:
        assert "environment" not in store.target("fakelib-1").info, "tried again the next time"


def test_versions_that_cannot_be_kept_are_no_fault(cli: Cli, state: Path) -> None:
    with open_store(state / "state.db") as store:
        store.save_target(store.target("fakelib-1")._replace(info={}))
        done = cli("report", 1, "--state", state)
    assert (done.code, "the versions of the environment are not saved: another nightfuzz" in done.err) == (0, True)
    assert "fakelib version: " in done.out


def test_it_is_written_where_asked(cli: Cli, state: Path, tmp_path: Path) -> None:
    done = cli("report", 1, "--state", state, "--output", tmp_path / "r.md")
    assert (done.code, done.out, "written to" in done.err) == (0, "", True)
    assert (tmp_path / "r.md").read_text().startswith(TRUE_BUG)
    refused = cli("report", 1, "--state", state, "--output", tmp_path / "no" / "such" / "r.md")
    assert (refused.code, "cannot write" in refused.err) == (2, True)


def test_the_whole_output_comes_from_a_fresh_process(cli: Cli, state: Path) -> None:
    done = cli("report", 1, "--state", state, "--run")
    assert "Traceback (most recent call last):" in done.out
    assert "As recorded" not in done.out


def test_the_library_is_asked_to_say_all_and_colours_are_left_out(
    cli: Cli, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nightfuzz_fakelib.Dialect, "verbose", {"FAKELIB_SAY": "all"}, raising=False)
    with sqlite3.connect(state / "state.db") as db:
        script = "import os\nimport fakelib\nprint('\\033[31m' + os.environ['FAKELIB_SAY'] + '\\033[m')\n"
        db.execute("UPDATE bugs SET script = ?", (script,))
    db.close()
    done = cli("report", 1, "--state", state, "--run")
    assert re.search(r"^all\n\nexit status 0$", done.out, re.MULTILINE)


def test_private_bugs_need_a_word(cli: Cli, state: Path) -> None:
    change(state, '["signal","SIGSEGV","free(): invalid pointer",[],0.1]')
    for arguments in ((1,), (1, "--umbrella")):
        refused = cli("report", *arguments, "--state", state)
        assert (refused.code, refused.out) == (2, "")
        assert "bug 1 is private: " in refused.err
    assert "no bug to batch" in cli("report", "--umbrella", "--state", state).err
    done = cli("report", 1, "--private", "--state", state)
    assert (done.code, "> **Private: " in done.out, "private: " in done.err) == (0, True, True)


def test_an_umbrella_batches_what_is_not_known_to_be_valid(cli: Cli, state: Path) -> None:
    done = cli("report", "--umbrella", "--state", state)
    assert (done.code, done.out.startswith("fakelib 1: 1 call crashes on corner-case arguments")) == (0, True)
    assert done.out.count("\n- [ ] `fakelib.scale`: ") == 1
    assert cli("report", 1, "--umbrella", "--state", state).out == done.out
    cli("known", "add", 1, "--issue", "https://example.org/1", "--state", state)
    assert cli("report", "--umbrella", "--state", state).code == 2, "what is known is not batched again"


def test_an_umbrella_leaves_out_a_cause_that_valid_input_shows(cli: Cli, state: Path) -> None:
    """The second bug is the same fault in a call that no mutation has changed."""
    with sqlite3.connect(state / "state.db") as db:
        columns = [name for _, name, *_ in db.execute("PRAGMA table_info(bugs)") if name != "id"]
        [row] = db.execute(f"SELECT {', '.join(columns)} FROM bugs WHERE id = 1")
        own = dict(zip(columns, row, strict=True))
        traced = decode_test(json.loads(own["test"]))._replace(rules=())
        own |= {"test": json.dumps(encode_test(traced)), "signature": "another"}
        db.execute(f"INSERT INTO bugs ({', '.join(own)}) VALUES ({', '.join('?' * len(own))})", tuple(own.values()))
    db.close()
    first, second = sorted(cli("bugs", "--state", state, "--json").json, key=lambda bug: bug["id"])
    assert [bug["validity"]["status"] for bug in (first, second)] == ["unknown", "valid"]
    assert first["cluster"] == second["cluster"]
    assert "no bug to batch" in cli("report", "--umbrella", "--state", state).err
    refused = cli("report", first["id"], second["id"], "--umbrella", "--state", state)
    assert (refused.code, refused.out) == (2, "")
    assert f"bug {second['id']} (internal-error) gets an issue of its own" in refused.err


def test_a_regression_needs_a_build_that_returns(cli: Cli, state: Path, tmp_path: Path) -> None:
    assert "--baseline" in cli("report", 1, "--regression", "--state", state).err
    failing = cli("report", 1, "--regression", "--baseline", "fakelib-1", "--state", state)
    assert (failing.code, "baseline fakelib-1 the script of bug 1 ended with exception" in failing.err) == (2, True)
    good = tmp_path / "python"
    good.write_text("#!/bin/sh\nexit 0\n")
    good.chmod(0o755)
    with open_store(state / "state.db") as store:
        old = store.target("fakelib-1")._replace(key="fakelib-0", version="0.9", python=str(good), made_at="2020")
        store.save_target(old)
    done = cli("report", 1, "--regression", "--baseline", "fakelib-0", "--state", state)
    assert done.out.startswith("[regression] fakelib.scale(")
    assert "**Regression.** Version 0.9 does not show the bug" in done.out
    assert "- First bad version: after 0.9." in done.out


@pytest.mark.parametrize(
    ("arguments", "part"),
    [((), "a report is about one bug"), ((1, 2), "a report is about one bug"), ((999,), "no bug 999"),
     (("--umbrella", "--target", "torch-9"), "no target 'torch-9'")],
)  # fmt: skip
def test_bad_input_is_one_clear_error(cli: Cli, state: Path, arguments: tuple[Any, ...], part: str) -> None:
    done = cli("report", *arguments, "--state", state)
    assert (done.code, done.out, part in done.err) == (2, "", True), done


def test_results_speak_sarif_junit_markdown_and_json(cli: Cli, state: Path, tmp_path: Path) -> None:
    sarif = cli("results", "--state", state, "--format", "sarif").json
    assert [each["ruleId"] for each in sarif["runs"][0]["results"]] == ["crash-internal-error"]
    (suite,) = ElementTree.fromstring(cli("results", "--state", state, "--format", "junit").out)
    assert (suite.get("failures"), suite.get("skipped")) == ("1", "0")
    (suite,) = ElementTree.fromstring(
        cli("results", "--state", state, "--format", "junit", "--since", "2100-01-01").out
    )
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")
    assert len(cli("results", "--state", state).json["bugs"]) == 1
    done = cli("results", "--state", state, "--format", "markdown", "--output", tmp_path / "r.md")
    assert done.out == f"written to {tmp_path / 'r.md'}\n"
    assert "fakelib.scale" in (tmp_path / "r.md").read_text()


def test_a_script_can_read_a_report_and_what_is_known(cli: Cli, state: Path, tmp_path: Path) -> None:
    text = cli("report", 1, "--state", state).out
    told = cli("report", 1, "--state", state, "--json").json
    assert (told["text"].strip(), told["private"], told["missing"]) == (text.strip(), False, [])
    added = cli("known", "add", 1, "--state", state, "--reason", "by design", "--expires", "2100-01-01", "--json").json
    assert (added["bug"], added["file"]) == (1, "nightfuzz-known.toml")
    removed = cli("known", "remove", added["name"], "--state", state, "--json").json
    assert (removed["name"], removed["reported_again"]) == (added["name"], [1])
