"""Measure one thing about nightfuzz and print a table: `python -m bench NAME [options] [--json FILE]`."""

from __future__ import annotations

import argparse
import json
import sys
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from bench.harness import Measurement, machine
from fuzz_core.ir.errors import NightfuzzError

# Modules with a function `measure`, whose parameters are the options.
MEASUREMENTS = {
    "throughput": "how many tests a second the engine executes, and where a worker's time goes",
    "ablation": "how many bugs the engine finds without each of its parts",
    "latency": "how long a worker needs after a crash or a hang until its next test",
    "soak": "whether a long run leaks memory, processes or files",
    "dashboard": "time and memory that the dashboard of a large generated state needs",
    "filings": "whether each issue is filed once while GitHub fails",
    "mutants": "share of sampled faults in our own code that the tests find",
    "papers": "each paper's figures with --paper, without it, and as published",
    "guidance": "how many bugs the Gandalf engine finds with each guidance",
    "freefuzz": "how many calls of the FreeFuzz authors' database become seeds of a target",
}


def main(given: list[str]) -> None:
    """Run one measurement.

    The process ends with 1 after a report that is not sound, with 2 after a user error.
    """
    listed = "\n".join(f"  {name:12}{what}" for name, what in MEASUREMENTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=__doc__,
        epilog=f"measurements:\n{listed}\n\n`python -m bench NAME --help` lists the options of a measurement.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=bool(given) and given[0].startswith("-"),
        allow_abbrev=False,
    )
    parser.add_argument("name", choices=MEASUREMENTS, metavar="NAME", help="the measurement to make")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to this file")
    common, rest = parser.parse_known_args(given)
    measure = import_module(f"bench.{common.name}").measure

    @wraps(measure)
    def run(*values: Any, **options: Any) -> None:
        before = machine()
        try:
            report: Measurement = measure(*values, **options)
        except NightfuzzError as error:
            print(f"error: {error}", file=sys.stderr)
            raise typer.Exit(2) from error
        show(before, report)
        if common.json:
            figures = {"machine": before, "rows": report.rows, **report.details}
            common.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        raise typer.Exit(0 if report.is_sound else 1)

    app = typer.Typer(add_completion=False)
    app.command()(run)
    app(rest, prog_name=f"python -m bench {common.name}")


def show(facts: dict[str, Any], report: Measurement) -> None:
    """Print the machine's facts and the rows as a table."""
    table = Table(*report.rows[0], box=None, header_style="bold")
    for row in report.rows:
        table.add_row(*map(str, row.values()))
    console = Console(width=180)
    console.print(", ".join(f"{name} {fact}" for name, fact in facts.items()), table, sep="\n", highlight=False)


if __name__ == "__main__":
    main(sys.argv[1:])
