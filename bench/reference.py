"""The generated pages of the documentation, from code and lab notes: `python -m bench.reference`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import typer
from sqlite_utils import Database
from typer.core import TyperArgument, TyperGroup, TyperOption

from fuzz_core.adapters.dialect import ModeSpec, dialect_of
from fuzz_core.adapters.library import KNOWN_LIBRARIES
from fuzz_core.oracles.contract import ORACLES, oracle_of
from fuzz_core.oracles.kinds import KINDS, Kind
from fuzz_core.store.schema import NEWEST, migrate
from nightfuzz.bot.main import app

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs/reference"
SCHEMA = ROOT / "reports/schema/nightfuzz-results-1.json"
MADE = "<!-- `python -m bench.reference` writes this page from the code. -->"
RELATIONS = {
    "values": "values",
    "shape": "shape and dtype",
    "strides": "strides",
    "metadata": "shape, dtype and strides",
    "behaviour": "values, and whether the call is accepted",
    "gradient": "derivatives",
    "finite": "finite numbers",
    "memory": "values, for any memory around the arguments",
    "": "",
}
TABLES = {
    "targets": "builds under test",
    "apis": "public apis of a build",
    "seeds": "code that was traced on a build, with its result",
    "undescribed": "arguments that no description fits, counted by api and type",
    "dropped": "calls that were not recorded, counted by reason",
    "invocations": "recorded calls, each stored once for all builds",
    "validity": "whether a recorded call runs on a build",
    "provenance": "seeds that made a recorded call",
    "arguments": "described values, each stored once for all builds",
    "argument_values": "arguments of recorded calls, by name and type",
    "similarity": "similarity of apis by their definitions",
    "constraints": "documented bounds of arguments",
    "facts": "knowledge about apis that model programs use",
    "runs": "fuzz runs: time, tests, options, outcome",
    "findings": "test cases with a verdict that is not clean, with the result of their examination",
    "bugs": "confirmed and minimised bugs",
    "checks": "results of rechecks of a bug on a build",
    "probes": "builds that a bisection has tried",
    "changes": "differences between a build and its baseline",
    "judgements": "verdicts of people on bugs",
    "known_matches": "bugs that an entry of the registry of known findings matches",
    "news": "test cases that showed a new outcome class: the corpus",
    "operators": "operators that fuzzing has reached, by dtype",
    "moco_trees": "model programs that were taken apart",
    "moco_nodes": "mutated model programs, as nodes of the trees in `moco_trees`",
    "cells": "boundary classes of arguments that the sweep has tried, with their results",
    "efforts": "tests and seconds of each api, over all runs",
    "_sqlite_migrations": "migrations that were applied",
}


def page(title: str, *parts: str) -> str:
    """Return the text of a generated page."""
    return "\n\n".join([f"# {title}", MADE, *parts]) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown.

    A bar inside a cell does not end the cell.
    """
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join("|" + "|".join(f" {cell} " if cell != "---" else cell for cell in line) + "|" for line in lines)


def code(text: str) -> str:
    """Return a text as a code span, or no text for no text."""
    return f"`{text}`" if text else ""


def kinds_page() -> str:
    """Return the page of the kinds of bugs.

    `nightfuzz explain KIND` prints the same text.
    """
    intro = "`nightfuzz explain KIND` explains one kind. [Oracles](modes.md) pass verdicts of these kinds."
    overview = [
        [f"[`{each.name}`](#{each.name})", code(each.oracle), each.grade, each.rule.short] for each in KINDS.values()
    ]
    return page(
        "Kinds of bugs",
        intro,
        table(["kind", "oracle", "severity", "meaning"], overview),
        *(_kind(each) for each in KINDS.values()),
    )


def _kind(kind: Kind) -> str:
    rows = {
        "expected": kind.expected,
        "evidence": kind.rule.full,
        "input": kind.validity,
        "SARIF rule": f"`{kind.oracle}-{kind.name}` ({kind.rule.name}), level {kind.rule.level}",
        "wrong when": kind.caveat,
    }
    items = [f"- **{name}**: {text}" for name, text in rows.items() if text]
    return "\n".join([f"## {kind.name}", kind.rule.short, "", *items])


def modes_page() -> str:
    """Return the page of the oracles, and of each library's modes."""
    oracles = []
    for name in ORACLES:
        oracle = oracle_of(name)
        share = f"{oracle.share:.1%}" if oracle.share else "suspected leaks"
        oracles.append([code(name), share, (type(oracle).__doc__ or "").split("\n")[0]])
    intro = (
        "An oracle judges the outcomes of a test case in one or more modes. A mode is a way to execute a test case. "
        "A device such as `cuda` is a mode as well. [Oracles](../explanation/oracles.md) explains the verdicts. "
        "[Numerics](../explanation/numerics.md) explains when a difference counts.\n\n"
        "The share of a mode is its share of the test cases. A mode on request runs only if another mode or an oracle "
        "asks for the mode. If a mode has no meaning in the table, its name explains the mode, or the mode only helps "
        "other modes."
    )
    return page(
        "Oracles and modes",
        intro,
        "## Oracles",
        table(["oracle", "share of test cases", "finds"], oracles),
        *(_modes(library) for library in KNOWN_LIBRARIES),
    )


def _modes(library: str) -> str:
    modes = dialect_of(library).modes
    rows = [_mode(name, spec) for name, spec in modes.items() if spec.relation or spec.run]
    head = ["mode", "compared with", "both must agree in", "share", "kind of a difference", "meaning"]
    return f"## Modes of {library}\n" + table(head, rows)


def _mode(name: str, spec: ModeSpec) -> list[str]:
    compared = bool(spec.against and spec.relation)
    return [
        code(name),
        code(spec.against) if compared else "",
        RELATIONS[spec.relation] if compared else "",
        f"{spec.share:.1%}" if spec.share else "on request",
        code(spec.kind) if compared else "",
        spec.meaning,
    ]


def options_page() -> str:
    """Return the page with every command: usage, options, examples."""
    program = typer.main.get_command(app)
    intro = (
        "`nightfuzz COMMAND --help` prints the section of a command. [Commands](commands.md) is the overview, and "
        "[configuration](configuration.md) has the same options as keys of `nightfuzz.toml`."
    )
    return page("Command line", intro, *_commands(typer.Context(program, info_name="nightfuzz")))


def _commands(context: typer.Context) -> Iterator[str]:
    """Yield the section of each command of a group.

    The steps of the Action are no commands for people.
    """
    group: Any = context.command
    for name in group.list_commands(context):
        inner = typer.Context(group.get_command(context, name), parent=context, info_name=name)
        if not isinstance(inner.command, TyperGroup):
            yield _command(inner)
        elif name != "action":
            yield from _commands(inner)


def _command(context: typer.Context) -> str:
    given: list[Any] = context.command.get_params(context)
    arguments = [each for each in given if isinstance(each, TyperArgument)]
    options = [each for each in given if isinstance(each, TyperOption) and each.name != "help"]
    examples = [line.strip() for line in (context.command.epilog or "").splitlines() if line.startswith("  ")]
    usage = " ".join([context.command_path, "[OPTIONS]", *map(_word, arguments)])
    parts = [f"## {context.command_path.removeprefix('nightfuzz ')}\n{context.command.help}", code(usage)]
    if explained := [[code(_word(each)), _help(each)] for each in arguments if each.help]:
        parts.append(table(["argument", "meaning"], explained))
    rows = [[", ".join(map(code, (*each.opts, *each.secondary_opts))), _help(each)] for each in options]
    parts.append(table(["option", "meaning"], rows))
    if examples:
        parts.append("\n".join(f"- {code(_unescaped(line))}" for line in examples))
    return "\n\n".join(parts)


def _word(argument: TyperArgument) -> str:
    word = (argument.name or "").upper() + ("…" if argument.nargs == -1 else "")
    return word if argument.required else f"[{word}]"


def _help(parameter: TyperArgument | TyperOption) -> str:
    return _unescaped(parameter.help or "")


def _unescaped(text: str) -> str:
    """Return a help text without the escapes that Rich needs."""
    return " ".join(text.replace("\\[", "[").split())


def state_page() -> str:
    """Return the page with the tables of a state file."""
    database = Database(memory=True)
    migrate(database)
    intro = (
        f"The state is an SQLite file, `.nightfuzz/state.db`. The schema has version {NEWEST}. nightfuzz migrates an "
        "older file when it opens the file, and refuses a newer file. Times are UTC in ISO 8601. Columns named "
        "`digest` hold content hashes. [The state](../explanation/state.md) explains where the file is kept and which "
        "data leaves a machine."
    )
    found = sorted(name for name in database.table_names() if name != "_sqlite_migrations")
    overview = [[f"[`{name}`](#{name})", TABLES[name]] for name in found]
    return page(
        "Tables of the state", intro, table(["table", "rows"], overview), *(_columns(database, name) for name in found)
    )


def _columns(database: Database, name: str) -> str:
    shown = database.table(name)
    foreign = {key.column: f"`{key.other_table}.{key.other_column}`" for key in shown.foreign_keys}
    rows = [
        [
            code(each.name),
            each.type,
            "yes" if each.is_pk else "",
            "" if each.notnull or each.is_pk else "yes",
            foreign.get(each.name, ""),
        ]
        for each in shown.columns
    ]
    head = ["column", "type", "key", "may be NULL", "refers to"]
    return f"## {name}\n{TABLES[name].capitalize()}.\n\n" + table(head, rows)


def results_page() -> str:
    """Return the page with the keys of `results.json`."""
    schema = json.loads(SCHEMA.read_text())
    intro = (
        "[Formats](formats.md#json) says who writes and reads this document, and what stays stable. The schema is "
        f"`{SCHEMA.relative_to(ROOT)}` (JSON Schema 2020-12)."
    )
    named = {"The document": schema, **schema["$defs"]}
    return page("Keys of results.json", intro, *(_keys(name, each) for name, each in named.items()))


def _keys(name: str, schema: dict[str, Any]) -> str:
    required = schema.get("required", [])
    rows = [
        [
            code(key),
            _type(each),
            "required" if key in required else code(json.dumps(each["default"])) if "default" in each else "",
        ]
        for key, each in schema["properties"].items()
    ]
    return f"## {name}\n{schema['description'].split(chr(10))[0]}\n\n" + table(["key", "value", "default"], rows)


def _type(schema: dict[str, Any]) -> str:
    """Return the type of a value in words, with a link to the section of an object."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if "const" in schema or "enum" in schema:
        return " or ".join(code(json.dumps(each)) for each in schema.get("enum", [schema.get("const")]))
    if "prefixItems" in schema:
        return f"pair of {' and '.join(map(_type, schema['prefixItems']))}"
    if schema["type"] == "array":
        return f"list of {_type(schema['items'])}"
    if "pattern" in schema:
        return f"text {code(schema['pattern'])}"
    bounds = [f"{word} {schema[key]:,}" for key, word in _BOUNDS.items() if key in schema]
    return " ".join([_WORDS.get(schema["type"], schema["type"]), *bounds])


def lab_page() -> str:
    """Return the page that lists the lab notes, the newest first."""
    notes = sorted((ROOT / "docs/lab").glob("2*.md"), reverse=True)
    titles = [(note.read_text(encoding="utf-8").split("\n")[0].removeprefix("# "), note.name) for note in notes]
    return page("All lab notes", table(["day", "note"], [[name[:10], f"[{title}]({name})"] for title, name in titles]))


_WORDS = {
    "string": "text",
    "null": "null",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "object": "object",
}
_BOUNDS = {"maxLength": "of at most", "minimum": "from", "maximum": "to", "exclusiveMaximum": "below"}
PAGES = {
    "kinds": kinds_page,
    "modes": modes_page,
    "command-line": options_page,
    "state": state_page,
    "results": results_page,
    "../lab/notes": lab_page,
}


def main() -> None:
    """Write every generated page."""
    for name, made in PAGES.items():
        (FOLDER / f"{name}.md").write_text(made(), encoding="utf-8")


if __name__ == "__main__":
    main()
