"""Texts for issue trackers: a bug in its library's own form, a regression, a batch of bugs that do not go alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from fuzz_core.adapters.dialect import profile_of
from fuzz_core.adapters.disclosure import disclosure_of
from fuzz_core.adapters.library import KNOWN_LIBRARIES, Disclosure
from fuzz_core.ir.errors import UserError
from fuzz_core.triage.place import MEMORY, place_of
from nightfuzz.reports.case import SHOWS, BugCase
from nightfuzz.reports.contradiction import compares_numbers, title
from nightfuzz.reports.markdown import counted, render
from nightfuzz.reports.text import BODY, TITLE, bounded, call_of, fitting

SCRIPT, OUTPUT, VERSIONS = 16_000, 12_000, 12_000
# A library whose maintainers have published no rule.
_SILENT = Disclosure("", accepts=False, why="", sources={})


class Issue(NamedTuple):
    """A text for an issue tracker: the title is plain text, the body Markdown of at most 65,536 characters."""

    title: str
    body: str

    def __str__(self) -> str:
        return f"{self.title}\n\n{self.body}"


def bug_report(case: BugCase, private: bool = False) -> Issue:
    """Return a bug in the form of its library.

    Raises:
        UserError: a private one, unless it is for a private place.
    """
    return _alone(case, _form(case), "", private)


def regression_report(case: BugCase, private: bool = False) -> Issue:
    """Return a bug that the case's baseline does not show.

    Raises:
        UserError: the change has no bug, or a private one.
    """
    if case.baseline is None:
        raise UserError(
            f"bug {case.bug.id}: no build is named that does not show the bug", "name the build with --baseline"
        )
    return _alone(case, _form(case), "[regression] ", private)


def umbrella_report(cases: Sequence[BugCase], as_items: bool = False) -> Issue:
    """Return a line per failure on input not known to be valid, and a table of missing checks; all of one target.

    Args:
        as_items: missing checks are lines of the list as well, in the order of all cases by api and number.

    Raises:
        UserError: there is no case, or a private one.
    """
    if not cases:
        raise UserError(
            "no bug to batch: --umbrella takes missing checks, and failures on input that is not known to be valid",
            "report the other bugs one by one: `nightfuzz report BUG`",
        )
    for case in cases:
        _refuse_private(case)
    ordered = sorted(cases, key=lambda case: (case.bug.api, case.bug.id))
    names = {"as_items": as_items, "case": ordered[0]}
    return Issue(
        bounded(_batch_title(ordered), TITLE),
        fitting(lambda share: _render("umbrella.md.j2", share, **names, **_batch(ordered, share))),
    )


def _batch_title(cases: Sequence[BugCase]) -> str:
    target, taken = cases[0].target, sum(case.missing_check is not None for case in cases)
    failing = len(cases) - taken
    crash = f"{counted(failing, 'call')} {'crash' if failing > 1 else 'crashes'} on corner-case arguments"
    taking = f"{counted(taken, 'call')} {'return' if taken > 1 else 'returns'} a result instead of an error"
    parts = [part for number, part in ((failing, crash), (taken, taking)) if number]
    return f"{target.library} {target.version}: {', and '.join(parts)}"


def _batch(cases: Sequence[BugCase], share: float) -> dict[str, Any]:
    """Return as many of the cases as fit, and the number of the omitted cases."""
    shown = cases[: max(1, int(len(cases) * share))] if share < 1 else cases
    return {"cases": shown, "left": len(cases) - len(shown)}


def _alone(case: BugCase, form: str, prefix: str, private: bool) -> Issue:
    if not private:
        _refuse_private(case)
    bug = case.bug
    rules = disclosure_of(bug.api)
    name = bounded(f"{rules.title_prefix if rules else ''}{prefix}{title(bug)}", TITLE)
    return Issue(name, fitting(lambda share: _render(form, share, case=case)))


def _form(case: BugCase) -> str:
    return f"{case.target.library if case.target.library in KNOWN_LIBRARIES else 'library'}.md.j2"


def _refuse_private(case: BugCase) -> None:
    if case.severity.private:
        raise UserError(
            f"bug {case.bug.id} is private: {case.severity.reason}",
            f"send it to the library's security contact: `nightfuzz report {case.bug.id} --private` prints the text",
        )


def _render(form: str, share: float, **names: Any) -> str:
    limits = {"SCRIPT": SCRIPT, "OUTPUT": OUTPUT, "VERSIONS": VERSIONS}
    rules, labels = disclosure_of(names["case"].bug.api) or _SILENT, labels_of(names["case"])
    helpers = {"error_input": error_input, "os_option": _os_option, "misses_memory": _misses_memory}
    more = {"rules": rules, "labels": labels, **helpers}
    return render(f"issues/{form}", share, **limits, **more, **names)


def _os_option(name: str) -> str:
    """Return the option of Jittor's form for an operating system; the last one names it."""
    known = ("Ubuntu 20.04", "Ubuntu 22.04", "Ubuntu 24.04")
    return next(
        (option for option in known if name.startswith(option)), f"其他 / Other: {name}" if name else "其他 / Other"
    )


def _misses_memory(case: BugCase) -> bool:
    return place_of(case.bug).nature == MEMORY


def labels_of(case: BugCase) -> list[str]:
    """Return labels to suggest to the maintainers, by the rules of their triage."""
    rules = disclosure_of(case.bug.api)
    known = rules.labels if rules else {}
    shows = [mode for mode, seen in case.modes.items() if seen == SHOWS]
    facts = ["any", case.severity.grade, case.bug.kind, *shows, *["regression"] * bool(case.baseline)]
    # An input that is not known to be valid is a matter of checks only where the call fails.
    facts += [case.severity.validity.status] * case.kind.fails
    return list(dict.fromkeys(label for fact in facts for label in known.get(fact, ())))


def error_input(case: BugCase) -> str:
    """Return the call as an error input of an OpInfo; empty if it is no call of a function with all its arguments."""
    try:
        call = ast.parse(call_of(case.bug.script, case.bug.api), mode="eval").body
    except SyntaxError:
        return ""
    if not isinstance(call, ast.Call) or ast.unparse(call.func) != case.bug.api or not call.args:
        return ""
    first, rest = call.args[0], "".join(f"{ast.unparse(each)}, " for each in call.args[1:])
    rest = rest if len(call.args) == 2 else rest.removesuffix(", ")
    words = ", ".join(f"{word.arg!r}: {ast.unparse(word.value)}" for word in call.keywords)
    parts = [ast.unparse(first), *[f"args=({rest.rstrip(' ')})"] * bool(rest), *[f"kwargs={{{words}}}"] * bool(words)]
    text = f'ErrorInput(SampleInput({", ".join(parts)}), error_regex="…")'
    return "" if "…" in "".join(parts) else text


Part = Callable[[str], bool]


def _says(pattern: str) -> Part:
    return lambda text: re.search(pattern, text, re.MULTILINE) is not None


def _has_script(text: str) -> bool:
    """Return a Python block that imports a library and compiles."""
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
    "how the call is made": _says(r"^\| how the call is made \| "),
    "how often it reproduces": _says(r"\b\d+ of \d+ (?:times in )?fresh processes"),
    "whether the input is valid": _says(r"[Ii]nput: (?:not )?(?:known to be )?valid"),
    "how far back it goes": _says(r"[Ff]irst bad version: "),
    "that it was found by fuzzing": _says(r"[Ff]ound by fuzzing"),
    "what was not checked": _says(r"[Nn]ot checked:?\**$"),
    "at most 65,536 characters": lambda text: len(text.partition("\n\n")[2]) <= BODY,
}
_FULL_LOG = "完整日志 / Full log"


def missing_parts(text: str, library: str) -> list[str]:
    """Return the parts that a maintainer of the library asks for and a report (title, empty line, body) lacks.

    Anchors: the libraries' issue forms, PyTorch's rules for fuzzers, TensorFlow's SECURITY.md.
    """
    missing = [part for part, there in _COMMON.items() if not there(text)]
    profile = profile_of(library)
    fields = profile.form if profile else ()
    missing += [f"the field {name!r}" for name in fields if f"\n### {name}\n" not in text]
    if _FULL_LOG in fields and "This is the message that was recorded" in text:
        missing.append("the full log (--run gives it)")
    compares = re.search(r"Compared by\b", text) is not None
    head = text.partition("\n")[0]
    judged = compares_numbers(head)
    return missing + (["by which rules results were compared"] if judged and not compares else [])
