"""`python -m bench`: measures the engine on a fixed sample of apis and prints a table; `--json` keeps the figures."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.machine import machine
from bench.measure import Subject, measure
from bench.table import table
from fuzz_core.ir.errors import NightfuzzError

SUBJECTS = (
    Subject("torch", "torch==2.13.0", 300, ("docs", "tests")),
    Subject("tensorflow", "tensorflow-cpu==2.21.0", 150, ("docs",)),
)


def arguments(given: list[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--library", help="torch or tensorflow [default: both]")
    parser.add_argument("--target", help="another target of the library, or the key of one on record in --state")
    parser.add_argument("--state", type=Path, help="state directory with traced invocations [default: traced anew]")
    parser.add_argument("--apis", type=int, help="size of the sample [default: 300 of torch, 150 of TensorFlow]")
    parser.add_argument("--time", type=float, default=60.0, help="seconds of a run, start-up included")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1, help="stream seed of the first run; each repeat adds one")
    parser.add_argument("--schedule", default="bandit", help="bandit, fair or uniform")
    parser.add_argument("--no-pair", action="store_true", help="leave out the runs with two workers")
    parser.add_argument("--no-profile", action="store_true", help="leave out the profile")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args(given)


def subjects(options: argparse.Namespace) -> list[Subject]:
    """What is to be measured. Without --library, all that there is."""
    chosen = [each for each in SUBJECTS if options.library in (None, each.library)]
    if not chosen:
        chosen = [Subject(options.library, options.target or options.library, 300, ("docs",))]
    if options.target:
        chosen = [each._replace(target=options.target) for each in chosen[:1]]
    return [each._replace(apis=options.apis or each.apis) for each in chosen]


def main(given: list[str]) -> int:
    """Measures, prints, and returns the exit code: 2 where the user has to do something first."""
    options = arguments(given)
    found: dict[str, Any] = {"machine": machine(), "subjects": []}
    try:
        with tempfile.TemporaryDirectory(prefix="nightfuzz-bench-") as scratch:
            for subject in subjects(options):
                found["subjects"].append(measure(subject, options, Path(scratch)))
    except NightfuzzError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
