"""A readable report of one target as Markdown. What came from a worker is escaped: it is data from untrusted code."""

from __future__ import annotations

import re
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from fuzz_core.modelgen.gandalf.drawing import svg
from fuzz_core.modelgen.gandalf.scripts import SAID
from fuzz_core.store.checks import FIXED, KNOWN
from fuzz_core.store.records import BugRow, TargetRecord
from fuzz_core.store.store import Store
from fuzz_core.triage.assess import withheld
from nightfuzz.reports.text import clean, fence_for, span

MAX_TEXT = 1500
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|@~&$])")
_LINE_MARK = re.compile(r"^(\d*)([-.=:])(?=[\s=:-]|$)")
# GitHub looks for these in the rendered text, where a backslash is gone: only a sign in between keeps them text.
_REFERENCE = re.compile(r"(?<=[@#])(?=\S)|(?<=GH-)(?=\d)|(?<=:)(?=//)|(?<=www)(?=\.|$)", re.IGNORECASE)
ZERO_WIDTH = "\N{ZERO WIDTH SPACE}"


def escaped(text: object) -> str:
    """Text that stays text in Markdown and in a table cell, and that mentions and links nothing: one line, bounded."""
    line = clean(" ".join(str(text)[: MAX_TEXT * 10].split())[:MAX_TEXT])
    return _LINE_MARK.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", _REFERENCE.sub(ZERO_WIDTH, line)))


def fenced(text: str, language: str) -> str:
    """A code block whose fence is longer than any run of backticks inside."""
    shown, fence = fence_for(clean(text).strip(), 3)
    return f"{fence}{language}\n{shown}\n{fence}"


def headline(text: str) -> str:
    """The first line of a message, bounded to 120 characters."""
    return (text.strip().splitlines() or [""])[0][:120]


def tail(text: str) -> str:
    """The end of a message, bounded."""
    return text.strip()[-MAX_TEXT:]


def environment() -> Environment:
    """Templates with the filters above; a missing name is an error."""
    # Markdown is no HTML: autoescape would write entities into code blocks. `md` and `code` escape instead.
    made = Environment(loader=PackageLoader("nightfuzz.reports"), undefined=StrictUndefined, trim_blocks=True)
    made.filters.update(md=escaped, code=fenced, span=span, headline=headline, tail=tail)
    return made


def _drawn(report: Path, bug: BugRow) -> str:
    """The picture of a model that libraries disagree about, beside the report; its name, empty where there is none."""
    picture = svg(bug.script) if any(said in bug.script for said in SAID) else None
    if picture is None:
        return ""
    name = f"graphs/bug-{bug.id}.svg"
    place = report.parent / name
    place.parent.mkdir(exist_ok=True)
    place.write_text(picture, encoding="utf-8")
    return name


def write_report(path: Path, store: Store, target: TargetRecord) -> Path:
    """Writes the report of a target and returns its path. Of private bugs it says only that they are there."""
    coverage = store.coverage(target.key)
    figures = {
        "listed": len(coverage),
        "valid": sum(1 for row in coverage if row.valid),
        "invocations": sum(row.invocations for row in coverage),
    }
    template = environment().get_template("report.md.j2")
    bugs = store.bugs(target.key)
    told = [bug for bug in bugs if bug.status not in (KNOWN, FIXED)]
    private = withheld(told)
    pictures = {bug.id: name for bug in told if bug.id not in private and (name := _drawn(path, bug))}
    text = template.render(
        target=store.target(target.key),
        bugs=told,
        private=private,
        pictures=pictures,
        known=sum(bug.status == KNOWN for bug in bugs),
        fixed=sum(bug.status == FIXED for bug in bugs),
        runs=store.runs(target.key),
        figures=figures,
    )
    path.write_text(text, encoding="utf-8")
    return path
