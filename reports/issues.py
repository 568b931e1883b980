"""Texts for issue trackers: a bug in its library's own form, a regression, a batch of crashes on invalid input."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from fuzz_core.adapters.dialect import profile_of
from fuzz_core.adapters.library import KNOWN_LIBRARIES, library_of
from fuzz_core.ir.errors import UserError
from nightfuzz.reports.case import BugCase
from nightfuzz.reports.contradiction import compares_numbers, title
from nightfuzz.reports.markdown import render
from nightfuzz.reports.text import BODY, TITLE, bounded, fitting

SCRIPT, OUTPUT, VERSIONS = 16_000, 12_000, 12_000


class Issue(NamedTuple):
    """A text for an issue tracker: the title is plain text, the body Markdown of at most 65,536 characters."""

    title: str
    body: str

    def __str__(self) -> str:
        return f"{self.title}\n\n{self.body}"


def bug_report(case: BugCase, private: bool = False) -> Issue:
    """A bug in the form of its library. Raises UserError for a private one, unless it is for a private place."""
    return _alone(case, _form(case), "", private)


def regression_report(case: BugCase, private: bool = False) -> Issue:
    """A bug that the case's baseline does not show. Raises UserError without one, and for a private bug."""
    if case.baseline is None:
        raise UserError(f"bug {case.bug.id} has no baseline that does not show it", "name one with --baseline")
    return _alone(case, _form(case), "[regression] ", private)


def umbrella_report(cases: Sequence[BugCase]) -> Issue:
    """One line per bug with its call, for crashes on input that is not known to be valid; all of one target.

    Raises UserError where there is none, and where one of them is private.
    """
    if not cases:
        raise UserError("no crash on invalid input to batch", "bugs on valid input are reported one by one")
    for case in cases:
        _refuse_private(case)
    ordered = sorted(cases, key=lambda case: (case.bug.api, case.bug.id))
    library = ordered[0].target.library
    head = f"{len(ordered)} calls" if len(ordered) > 1 else "One call"
    verb = "crash" if len(ordered) > 1 else "crashes"
    name = f"{head} of {library} {ordered[0].target.version} {verb} on corner-case arguments"
    return Issue(
        bounded(name, TITLE), fitting(lambda share: _render("umbrella.md.j2", share, **_batch(ordered, share)))
    )


def _batch(cases: Sequence[BugCase], share: float) -> dict[str, Any]:
    """As many of the cases as fit; the number of the others is told."""
    shown = cases[: max(1, int(len(cases) * share))] if share < 1 else cases
    return {"cases": shown, "left": len(cases) - len(shown), "case": cases[0]}


def _alone(case: BugCase, form: str, prefix: str, private: bool) -> Issue:
    if not private:
        _refuse_private(case)
    bug = case.bug
    name = prefix + title(bug)
    return Issue(name, fitting(lambda share: _render(form, share, case=case)))


def _form(case: BugCase) -> str:
    return f"{case.target.library if case.target.library in KNOWN_LIBRARIES else 'library'}.md.j2"


def _refuse_private(case: BugCase) -> None:
    if case.severity.private:
        raise UserError(
            f"bug {case.bug.id} is private: {case.severity.reason}",
            "tell it to the library's security contact; --private prints the text for that",
        )


def _render(form: str, share: float, **names: Any) -> str:
    limits = {"SCRIPT": SCRIPT, "OUTPUT": OUTPUT, "VERSIONS": VERSIONS}
    return render(f"issues/{form}", share, library_of=library_of, **limits, **names)


Part = Callable[[str], bool]


def _says(pattern: str) -> Part:
    return lambda text: re.search(pattern, text, re.MULTILINE) is not None


def _has_script(text: str) -> bool:
    """A Python block that imports a library and compiles."""
    for block in re.findall(r"^(`{3,})(?:python|shell)\n(.*?)^\1$", text, re.MULTILINE | re.DOTALL):
        try:
            if any(isinstance(node, ast.Import) for node in ast.parse(block[1]).body):
                return True
        except (SyntaxError, ValueError):
            continue
    return False


_COMMON: Mapping[str, Part] = {
    "the call in the title": lambda text: "(" in text.partition("\n")[0] or "…" in text.partition("\n")[0],
    "a standalone script": _has_script,
    "the output": _says(r"^`{3,}(?:text|shell)$"),
    "what was expected": _says(r"[Ee]xpected"),
    "the versions": _says(r"version: \S|could not be gathered"),
    "which modes show it": _says(r"^\| mode \| "),
    "how often it reproduces": _says(r"\b\d+ of \d+ (?:times in )?fresh processes"),
    "whether the input is valid": _says(r"[Ii]nput: (?:valid|invalid|unknown)"),
    "how far back it goes": _says(r"[Ff]irst bad version: "),
    "that it was found by fuzzing": _says(r"[Ff]ound by fuzzing"),
    "what was not checked": _says(r"[Nn]ot checked:?\**$"),
    "at most 65,536 characters": lambda text: len(text.partition("\n\n")[2]) <= BODY,
}
_FULL_LOG = "完整日志 / Full log"


def missing_parts(text: str, library: str) -> list[str]:
    """What a maintainer of the library asks for and the text of a report (title, empty line, body) does not have.

    Anchors: the libraries' issue forms, PyTorch's rules for fuzzers, TensorFlow's SECURITY.md.
    """
    missing = [part for part, there in _COMMON.items() if not there(text)]
    profile = profile_of(library)
    fields = profile.form if profile else ()
    missing += [f"the field {name!r}" for name in fields if f"\n### {name}\n" not in text]
    if _FULL_LOG in fields and "As recorded when it was confirmed" in text:
        missing.append("the full log (--run gives it)")
    compares = re.search(r"Compared by\b", text) is not None
    head = text.partition("\n")[0]
    judged = compares_numbers(head)
    return missing + (["by which rules results were compared"] if judged and not compares else [])
