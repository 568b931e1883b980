"""Results for the tests of rendered documents: a small result of each mode, and hostile results."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import strategies as st

from nightfuzz.reports.results import (
    BugEntry,
    BuildEntry,
    ChangeEntry,
    OutcomeEntry,
    RemovalEntry,
    RunResult,
    Site,
    StatusEntry,
    TotalsEntry,
)

OLD = BuildEntry(key="torch-2.13.0", library="torch", version="2.13.0", day="2026-05-01", commit="a" * 40)
NEW = BuildEntry(key="torch-2.14.0", library="torch", version="2.14.0", day="2026-11-01", commit="b" * 40)
SITE = Site(path="tests/test loop(1).py", line=12, test="test_loop.py::test_focal")
FIGURES = TotalsEntry(seconds=548.2, tests=49_265, apis=283, seeds=42, findings=17)
BLOB = "https://github.com/o/r/blob/abc"
RUN = "https://github.com/o/r/actions/runs/1"
MARKER = "<!-- nightfuzz:pr -->"
OK, ERROR = (
    OutcomeEntry(kind="ok", text="tensor(1)"),
    OutcomeEntry(kind="exception", name="RuntimeError", text="sizes differ"),
)


def bug(number: int = 1, **fields: Any) -> BugEntry:
    """Returns an open bug that was on record before."""
    mark = f"{number:032x}"
    given: dict[str, Any] = {
        "fingerprint": mark,
        "cluster": mark,
        "number": number,
        "title": f"torch.f{number}(x): RuntimeError: INTERNAL ASSERT FAILED",
        "api": f"torch.f{number}",
        "oracle": "crash",
        "kind": "internal-error",
        "grade": "internal-error",
        "validity": "valid",
        "reason": "the plain call accepts it",
        "signature": f"torch.f{number}: RuntimeError",
        "script": f"import torch\n\ntorch.f{number}(torch.zeros(2))\n",
        "expected": "a result",
        "observed": OutcomeEntry(kind="exception", name="RuntimeError", text="INTERNAL ASSERT FAILED"),
        "hits": 5,
        "runs": 5,
        "first_found": "2026-11-20T01:02:03+00:00",
        "modes": {"cpu": "shows it", "cuda": "not checked"},
    }
    return BugEntry(**(given | fields))


def change(kind: str = "regression", number: int = 1, **fields: Any) -> ChangeEntry:
    """Returns the change of a call that returned and raises now. A call of kind `fixed` raised and returns now."""
    before, after = (ERROR, OK) if kind == "fixed" else (OK, ERROR)
    given: dict[str, Any] = {
        "fingerprint": f"c{number:031x}",
        "title": f"torch.g{number}: {kind}",
        "api": f"torch.g{number}",
        "kind": kind,
        "signature": f"torch.g{number}: {kind}",
        "script": f"import torch\n\nprint(torch.g{number}(torch.zeros(2)))\n",
        "before": before,
        "after": after,
        "hits": 5,
        "runs": 5,
        "sites": (SITE,),
    }
    return ChangeEntry(**(given | fields))


def result(**fields: Any) -> RunResult:
    """Returns a bump without bugs and changes."""
    given: dict[str, Any] = {"mode": "bump", "target": NEW, "baseline": OLD, "figures": FIGURES}
    return RunResult(**(given | fields))


def eventful() -> RunResult:
    """Returns a bump with bugs and changes of every kind."""
    return result(
        bugs=(
            bug(1, regression=True, sites=(SITE,)),
            bug(2, validity="invalid"),
            bug(3, status="known"),
            bug(4, status="fixed"),
            bug(
                5,
                new=True,
                oracle="differential",
                kind="wrong-result",
                grade="wrong-result",
                modes={"vmap": "shows it"},
            ),
        ),
        changes=(change("regression", 1), change("changed", 2), change("fixed", 3)),
        dropped=(
            RemovalEntry(api="torch.old", kind="deprecated", said="use torch.new", sites=(SITE,) * 5),
            RemovalEntry(api="torch.gone", kind="removed"),
        ),
        turns=(StatusEntry(fingerprint=f"{4:032x}", number=4, api="torch.f4", turn="fixed", build="torch-2.14.0"),),
        private=2,
        protection=("Docker: no network, read-only root",),
        problems=("test_data.py: ModuleNotFoundError: PIL",),
    )


def hostile(text: str, many: int = 1) -> RunResult:
    """Returns a document whose every text is `text`, cut to the limits of the schema; lists have `many` entries.

    If `many` is 1, paths are short, so that each path is a link.
    """
    name, line, long = text[:500], text[:2_000], text[:100_000]
    build = BuildEntry(key=name, library=name, version=name, day=name, commit=name, devices=(name,) * min(many, 1_000))
    said = OutcomeEntry(kind=name, name=name, text=long)
    path = "".join(sign for sign in text if sign.isprintable() and sign not in "\\./")[: 490 if many > 1 else 30] or "x"
    site = Site(path=f"tests/{path}", line=3, test=name)
    texts = {"title": line, "api": name, "signature": long, "script": long, "sites": (site,) * min(many, 200)}
    odd: dict[str, Any] = {
        **texts, "oracle": name, "kind": name, "grade": name, "validity": name, "reason": line, "expected": line,
        "also": (name,) * min(many, 1_000), "observed": said, "frames": (name,), "first_found": name,
        "modes": {name: "shows it"},
    }  # fmt: skip
    changed = {**texts, "before": said, "after": said}
    return RunResult(
        mode="bump",
        target=build,
        baseline=build,
        figures=FIGURES,
        bugs=tuple(bug(number, regression=number % 2 > 0, **odd) for number in range(2 * many)),
        changes=tuple(
            change(kind, number, **changed) for kind in ("regression", "changed", "fixed") for number in range(many)
        ),
        dropped=(RemovalEntry(api=name, kind=name, said=line, sites=(site,)),) * many,
        turns=tuple(
            StatusEntry(fingerprint=f"{number:032x}", number=number, api=name, turn="fixed", build=name)
            for number in range(many)
        ),
        protection=(name,) * min(many, 1_000),
        problems=(name,) * min(many, 1_000),
    )


def mixed(found: list[str]) -> RunResult:
    """Returns a document that uses the given texts in turn, empty texts too."""
    turn = itertools.cycle(found)

    def replaced(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: replaced(each) for name, each in value.items()}
        if isinstance(value, tuple):
            return tuple(map(replaced, value))
        return next(turn)[:500] if value == "x" else value

    return RunResult(**replaced(hostile("x", 3).model_dump(by_alias=True)))


NASTY = [
    "@octocat", "@org/team", "#1", "org/repo#12", "GH-7", "https://github.com/o/r/issues/1", "www.example.org",
    "a@example.org", "mailto:a@example.org", "![x](y)", "[x](javascript:alert(1))", "[x][y]", "[y]: z", "<img src=x>",
    "</details>", "<!--", "-->", "<https://x.org>", "```", "~~~", "`", "``", "|", "| a | b |", "---", "===", ":-:",
    "# ", "> ", "> [!NOTE]", "- ", "* ", "1. ", "1) ", "+ ", "    ", "\t", "\n", "\n\n", "\r", "\r\n", "\u2028",
    "\x00", "\x1b[31m", "\u202e", "\u200b", "&lt;", "&#64;x", "&commat;x", "\\", "\\@x", "$x$", "$$",
    "${{ secrets.X }}", "{{ 7 * 7 }}", "{% raw %}", "{0}", "]]>", "::error::x", "::stop-commands::x", "##[add-mask]x",
    "%0A::error::x", "\ufffe", "*", "**x**", "_x_", "~~x~~", "[^1]", "[ ] ", ":tada:", "x", " ",
    "'; DROP TABLE bugs; --", "../../etc/passwd", "é", "\N{PILE OF POO}",
]  # fmt: skip
texts = (
    st.lists(st.sampled_from(NASTY) | st.text(max_size=5), min_size=1, max_size=8)
    .map("".join)
    .filter(lambda t: t.split())
)
