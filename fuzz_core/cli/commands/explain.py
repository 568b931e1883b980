"""`nightfuzz explain`: what a kind of bug means, how such a bug is confirmed, and when the verdict is wrong."""

from __future__ import annotations

from difflib import get_close_matches

from fuzz_core.cli.output import CommandOutput, Report, TextTable
from fuzz_core.cli.settings import Settings
from fuzz_core.ir.errors import UserError
from fuzz_core.oracles.kinds import KINDS, Kind

_REPRODUCTIONS = {
    "script": "the script of the bug fails in the same way in several fresh processes",
    "comparison": "the script of the bug compares the two results in several fresh processes, and its assertion fails",
    "growth": "the script of the bug repeats the call in fresh processes, and the memory grows each time",
    "replay": "the call is repeated in several fresh workers, and the oracle gives the same verdict each time",
}


def explain(settings: Settings, output: CommandOutput, kind: str | None) -> Report:
    """Explain one kind, or list all.

    Raises:
        UserError: there is no such kind; the message has the nearest name.
    """
    if kind is None:
        rows = [[each.name, each.grade, each.rule.short] for each in KINDS.values()]
        table = TextTable(["kind", "severity", "meaning"], rows)
        return Report(
            [_data(each) for each in KINDS.values()], [table, "`nightfuzz explain KIND` explains one kind in full"]
        )
    if kind not in KINDS:
        close = get_close_matches(kind, KINDS, n=1)
        remedy = f"did you mean {close[0]!r}?" if close else f"write one of the kinds: {', '.join(KINDS)}"
        raise UserError(f"no kind of bug is called {kind!r}", remedy)
    data = _data(KINDS[kind])
    return Report(data, [f"{kind}: {data['meaning']}", *(f"  {name}: {data[name]}" for name in list(data)[2:])])


def _data(kind: Kind) -> dict[str, str]:
    found = {
        "kind": kind.name,
        "meaning": kind.rule.short,
        "expected": kind.expected,
        "severity": kind.grade,
        "oracle": kind.oracle,
        "evidence": kind.rule.full,
        "confirmed when": _REPRODUCTIONS[kind.reproduction],
        "wrong when": kind.caveat,
    }
    return {name: text for name, text in found.items() if text}
