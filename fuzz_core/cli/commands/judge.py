"""`nightfuzz judge`: a person says of each cluster whether it is a bug; what is false joins the labelled set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fuzz_core.campaign.benign import add_case
from fuzz_core.campaign.cases import JudgedBug, judged
from fuzz_core.cli.output import CommandOutput, Report, Verbatim
from fuzz_core.cli.settings import Settings
from fuzz_core.cli.state import open_state, target_key
from fuzz_core.ir.errors import UserError
from fuzz_core.store.checks import JUDGEMENTS, NOT_REAL
from fuzz_core.store.store import Store
from nightfuzz.reports.contradiction import title, wrong_side
from nightfuzz.reports.markdown import counted
from nightfuzz.reports.text import comment_text

WORDS = {"r": "real", "n": "not-real", "d": "duplicate", "w": "wont-fix"}
SKIP, QUIT = "s", "q"
_QUESTION = "[r]eal, [n]ot real, [d]uplicate, [w]on't fix, [s]kip, [q]uit: "


def judge(
    settings: Settings,
    output: CommandOutput,
    bug: int | None,
    verdict: str | None,
    reason: str | None,
    benign: Path | None,
) -> Report:
    """Record what a person says of a cluster, or of one cluster after another.

    Args:
        bug: number of any member. If `bug` is None, all clusters without a judgement are shown, the most urgent first;
            with JSON they are only listed. Answers are read from standard input.
        benign: file of the labelled set that a false bug is appended to.

    Raises:
        UserError: an unknown bug, an unknown verdict, a judgement without its reason, and a benign case of a bug that
            is not judged false.
    """
    with open_state(settings) as store:
        found = _clusters(store, settings.target)
        if bug is None:
            if verdict or reason or benign:
                raise UserError(
                    "--as, --reason and --benign need the number of one bug",
                    "add the number: `nightfuzz judge 7 --as real --reason WHY`",
                )
            return _walk(store, found, output)
        store.bug(bug)
        each = next(each for each in found if bug in _numbers(each))
        if verdict is not None:
            _record(store, each, verdict, reason)
        judgement = store.judgements().get(bug)
        lines: list[str] = (
            [Verbatim(_page(each))]
            if judgement is None
            else [f"bug {bug} is judged {judgement.verdict}: {judgement.reason}"]
        )
        if benign is not None:
            if judgement is None or judgement.verdict != NOT_REAL:
                remedy = f"judge it first: `nightfuzz judge {bug} --as {NOT_REAL} --reason WHY`"
                raise UserError(f"bug {bug} has no verdict {NOT_REAL}, so --benign cannot add it", remedy)
            lines.append(f"added to {benign}: {add_case(benign, store.bug(bug).test, judgement.reason)}")
    data = {"bugs": _numbers(each), "judgement": judgement and judgement._asdict()}
    return Report(data, lines)


def _clusters(store: Store, target: str | None) -> list[JudgedBug]:
    """Return the most urgent member of each cluster, the most urgent cluster first."""
    found = judged(store, store.bugs(None if target is None else target_key(store, target)), across=True)
    return list({each.cluster.first.id: each for each in reversed(found)}.values())[::-1]


def _numbers(each: JudgedBug) -> list[int]:
    return [member.id for member in each.cluster.members]


def _record(store: Store, each: JudgedBug, verdict: str, reason: str | None) -> None:
    if verdict not in JUDGEMENTS:
        raise UserError(f"{verdict!r} is not a value of --as", f"write one of: {', '.join(JUDGEMENTS)}")
    if not (reason or "").strip():
        raise UserError(f"the judgement {verdict} needs a reason", 'add the evidence: --reason "TEXT"')
    store.save_judgements(_numbers(each), verdict, str(reason).strip())


def _walk(store: Store, found: Sequence[JudgedBug], output: CommandOutput) -> Report:
    """Show the clusters without a judgement one by one, until the answers end."""
    before = store.judgements()
    waiting = [each for each in found if not before.keys() & set(_numbers(each))]
    if output.as_json:
        return Report([{"bugs": _numbers(each), "severity": each.severity.grade} for each in waiting])
    given: Counter[str] = Counter()
    try:
        for place, each in enumerate(waiting, 1):
            output.show(Verbatim(f"\n{place} of {len(waiting)}\n{_page(each)}"))
            answer = _answer([*WORDS, SKIP, QUIT])
            if answer == QUIT:
                break
            if answer in WORDS:
                _record(store, each, WORDS[answer], _reason())
                given[WORDS[answer]] += 1
    except EOFError:
        pass
    left = len(waiting) - given.total()
    told = ", ".join(f"{number} {word}" for word, number in given.items()) or "none"
    return Report({"judged": dict(given), "left": left}, [f"judged: {told}; {left} clusters wait for a judgement"])


def _answer(letters: Iterable[str]) -> str:
    allowed = set(letters)
    while (answer := input(_QUESTION).strip().lower()[:1]) not in allowed:
        continue
    return answer


def _reason() -> str:
    while not (reason := input("reason: ").strip()):
        continue
    return reason


def _page(each: JudgedBug) -> str:
    """Return the page that a person judges by: the call, expected and observed, the evidence, the script."""
    row, graded = each.row, each.severity
    others = [f"{member.id} ({member.api})" for member in each.cluster.members if member.id != row.id]
    facts: dict[str, Any] = {
        "severity": f"{graded.grade}{': ' * bool(graded.reason)}{graded.reason}",
        "input": f"{graded.validity.status}: {graded.validity.reason}",
        "expected": comment_text(row.script, "expected"),
        "observed": comment_text(row.script, "observed"),
        "wrong": wrong_side(row),
        "evidence": f"{row.hits} of {row.runs} fresh processes on {row.target}; {counted(row.findings, 'finding')}",
        "the same cause": ", ".join(others),
        "innermost frames": " < ".join(row.outcome.frames[:3]),
    }
    lines = [f"{name}: {text}" for name, text in facts.items() if text]
    head = f"bug {row.id}: {title(row)}"
    return "\n".join([head, *lines, "", row.script.rstrip(), ""])
