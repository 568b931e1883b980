"""`nightfuzz judge`: people's verdicts on bugs, by number or one after another, and their effect."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from commands import Cli

from fuzz_core.cli.commands.judge import judge
from fuzz_core.cli.output import CommandOutput
from fuzz_core.cli.settings import Settings
from fuzz_core.store.statefile import open_store
from nightfuzz.bot.issues.clusters import cluster_reports

REAL = ("--as", "real", "--reason", "the documentation allows it")
FALSE = ("--as", "not-real", "--reason", "the check is documented")


def test_a_judgement_is_kept_with_its_reason_and_changed_by_the_next(cli: Cli, state: Path) -> None:
    done = cli("judge", 1, *REAL, "--state", state, "--json")
    assert done.code == 0, done
    assert (done.json["bugs"], done.json["judgement"]["verdict"]) == ([1], "real")
    assert "judged not-real: the check is documented" in cli("judge", 1, *FALSE, "--state", state).out
    with open_store(state / "state.db", read_only=True) as store:
        assert [judgement.verdict for judgement in store.judgements().values()] == ["not-real"]


def test_without_a_verdict_it_shows_what_a_judgement_needs(cli: Cli, state: Path) -> None:
    shown = cli("judge", 1, "--state", state).out
    for words in ("fakelib.scale", "expected: ", "observed: ", "5 of 5 fresh processes", "import fakelib"):
        assert words in shown


def test_history_shows_the_share_of_real_causes(cli: Cli, state: Path) -> None:
    assert "judged real" not in cli("history", "--state", state).out
    cli("judge", 1, *REAL, "--state", state)
    assert "judged real: 1 of 1 causes" in cli("history", "--state", state).out
    cli("judge", 1, *FALSE, "--state", state)
    assert "judged real: 0 of 1 causes" in cli("history", "--state", state).out
    assert cli("history", "--state", state, "--json").json[0]["judged"] == {"not-real": 1}


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def write(*words: str) -> None:
        monkeypatch.setattr("sys.stdin", StringIO("".join(f"{word}\n" for word in words)))

    return write


@pytest.mark.parametrize(
    ("given", "verdict", "told"),
    [
        (("x", "n", "", "a rounding"), "not-real", "judged: 1 not-real; 0 clusters wait"),
        (("w", "too rare"), "wont-fix", "judged: 1 wont-fix; 0 clusters wait"),
        (("s",), None, "judged: none; 1 clusters wait"),
        (("q",), None, "judged: none; 1 clusters wait"),
        ((), None, "judged: none; 1 clusters wait"),
        (("r",), None, "judged: none; 1 clusters wait"),
    ],
)
def test_the_walk_asks_for_each_cluster_until_the_answers_end(
    state: Path, answer: Callable[..., None], given: tuple[str, ...], verdict: str | None, told: str
) -> None:
    answer(*given)
    report = judge(Settings(state=state), CommandOutput(), None, None, None, None)
    assert told in str(report.text[0])
    with open_store(state / "state.db", read_only=True) as store:
        found = store.judgements().get(1)
    assert (found and found.verdict) == verdict


def test_the_walk_leaves_out_what_is_judged(cli: Cli, state: Path, answer: Callable[..., None]) -> None:
    cli("judge", 1, *REAL, "--state", state)
    answer("n", "no")
    report = judge(Settings(state=state), CommandOutput(), None, None, None, None)
    assert "none; 0 clusters wait" in str(report.text[0])


def test_a_cluster_that_is_judged_otherwise_than_real_is_not_filed(cli: Cli, state: Path) -> None:
    def known() -> list[bool]:
        with open_store(state / "state.db", read_only=True) as store:
            return [report.known for report in cluster_reports(store)]

    cli("judge", 1, *REAL, "--state", state)
    assert known() == [False]
    cli("judge", 1, *FALSE, "--state", state)
    assert known() == [True]


def test_with_json_the_walk_only_lists_what_waits(cli: Cli, state: Path) -> None:
    listed = cli("judge", "--state", state, "--json").json
    assert listed == [{"bugs": [1], "severity": "internal-error"}]


def test_a_false_bug_becomes_a_benign_case(cli: Cli, state: Path, tmp_path: Path) -> None:
    file = tmp_path / "benign_fakelib.py"
    cli("judge", 1, *FALSE, "--state", state)
    for _ in range(2):
        assert cli("judge", 1, "--benign", file, "--state", state).code == 0
    text = file.read_text()
    assert text.count('case("the check is documented", "fakelib.scale"') == 1
    assert text.endswith("),\n)\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((9,), "no bug 9"),
        ((1, "--as", "maybe", "--reason", "x"), "'maybe' is not a value of --as"),
        ((1, "--as", "real"), "the judgement real needs a reason"),
        ((1, "--as", "real", "--reason", "  "), "the judgement real needs a reason"),
        (("--as", "real"), "--as, --reason and --benign need the number of one bug"),
        ((1, "--benign", "x.py"), "has no verdict not-real"),
    ],
)
def test_bad_input(cli: Cli, state: Path, arguments: tuple[object, ...], said: str) -> None:
    done = cli("judge", *arguments, "--state", state)
    assert (done.code, said in done.err) == (2, True), done
    with open_store(state / "state.db", read_only=True) as store:
        assert store.judgements() == {}
