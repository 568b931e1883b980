"""The program `nightfuzz`: its commands, each with its words on the command line.

A command's code is loaded when the command is named.
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
    "known": "Manage known findings: bugs that are reported already, and limitations that a library declares.",
    "moco": "Inspect the knowledge, the programs and the mutants of the MoCo engine. MoCo mutates model programs.",
    "gandalf": "Inspect the operators of the Gandalf engine and their order. "
    "Gandalf runs generated models in several libraries.",
}
_BUG = argument(int, "Number of the bug, as `bugs` lists it")
_REPORTED = "Number of the bug. With --umbrella: several numbers, or none for all bugs that an umbrella issue can hold"
_UMBRELLA = "Write one issue for many bugs: missing checks, and failures on input that is not known to be valid"
_FAILING = "Exit with code 1 if the run finds new bugs, or results that differ from --baseline"
_COMPARED = "Libraries or builds, separated by commas, to compare the target with [default: no comparison]"
_LOCK = "Install only the files that this lock file (JSON) lists; the plan job of the GitHub Action writes it"
_EXPERIMENTS = "Time limit of the experiments [default: 2m, or 10m for a library that compiles at run time (jittor)]"
_ONE_BUILD = "Only this build, a name in `history` [default: all]"
_TARGET = "target flavour library"
_FUZZING = f"{_TARGET} workers time seed tests_count api libraries models disable schedule grow fail_on_bugs sandbox"
COMMANDS = {
    "doctor": CommandLine(
        "Check this machine, and name a remedy for each missing part.",
        "doctor:doctor",
        "state",
        examples=("doctor", "doctor --json"),
    ),
    "pull": CommandLine(
        "Install the builds to fuzz (targets), and print their exact versions.",
        "pull:pull",
        "state flavour library index allow_cached sandbox",
        {
            "specs": argument(
                list[str],
                "Builds: torch==2.13.0, jittor, torch-nightly/cpu, index:URL#PACKAGE, a wheel file, python:PATH",
            ),
            "lock": option(Path, "--lock", _LOCK),
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
        "Collect code that calls the library (seeds), run the seeds that are new or changed, and record their calls.",
        "trace:trace",
        f"state {_TARGET} workers space source docs tests models seed_time api sandbox",
        {
            "since": option(
                str, "--since", "Reuse the calls of this earlier build, a name in `history` [default: newest]"
            )
        },
        examples=("trace --target torch==2.13.0", "trace --tests tests/ --source tests", "trace --api 'torch.nn.*'"),
    ),
    "pack": CommandLine(
        "Write a file of the calls that were recorded from a build's own documentation and tests. "
        "`trace --space FILE` loads the file.",
        "pack:pack",
        f"state {_TARGET}",
        {"file": option(Path, "--output", "File to write [default: TARGET.space in this directory]")},
        examples=("pack --target torch==2.13.0", "pack --target torch==2.13.0 --output torch.space"),
    ),
    "apis": CommandLine(
        "List the apis (public functions and classes) and their recorded calls, with a reason if no call is valid.",
        "apis:apis",
        "state target api",
        {
            "gaps": switch("--gaps", "Only apis without a valid recorded call (gaps), with the reason"),
            "coverage": switch("--coverage", "Count the boundary values tried; list the internal operators reached"),
            "changes": switch("--changes", "List the apis that differ from an earlier build"),
            "since": option(str, "--since", "For --changes: earlier build, a name in `history` [default: previous]"),
        },
        helps={"target": "Build on record, a name in `history` [default: the last used]"},
        examples=("apis --gaps", "apis --coverage --api 'torch.fft.*'", "apis --json"),
    ),
    "oracles": CommandLine(
        "List the oracles (checks that find a bug): what each finds, its share of the tests, and whether it is on.",
        "oracles:oracles",
        examples=("oracles",),
    ),
    "fuzz": CommandLine(
        "Run mutated calls of the recorded apis (public functions, classes). Then confirm and minimise the failures.",
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
        "Do all steps within one time limit: install, record calls, fuzz, confirm bugs, write a report.",
        "run:run",
        f"state {_FUZZING} baseline index allow_cached space source tests docs models_share shard changed base",
        helps={"fail_on_bugs": _FAILING, "libraries": _COMPARED},
        examples=(
            "run --target torch==2.13.0 --time 45m",
            "run --target torch-nightly --baseline torch==2.13.0",
            "run --tests tests/ --changed --fail-on-bugs",
        ),
    ),
    "bugs": CommandLine(
        "List the confirmed bugs, the most urgent first, with one line for all bugs of one likely cause (cluster).",
        "bugs:bugs",
        "state",
        {
            "target": option(str, "--target", _ONE_BUILD),
            "members": switch("--all", "One line for each bug, not for each cluster"),
        },
        examples=("bugs", "bugs --all", "bugs --json"),
    ),
    "explain": CommandLine(
        "Explain a kind of bug: what it means, how it is confirmed, and when the verdict is wrong.",
        "explain:explain",
        own={"kind": argument(str, "Kind of bug, e.g. crash [default: list all kinds]", None)},
        examples=("explain", "explain wrong-gradient"),
    ),
    "show": CommandLine(
        "Show all recorded facts about a bug.",
        "bugs:show",
        "state",
        {"bug": _BUG},
        examples=("show 3",),
    ),
    "repro": CommandLine(
        "Print the script that reproduces a bug. With --run, run it, and exit with code 1 if the bug shows itself.",
        "repro:repro",
        "state",
        {"bug": _BUG, "run_now": switch("--run", "Run the script now in a fresh process")},
        speaks_json=False,
        examples=("repro 3 > bug.py", "repro 3 --run"),
    ),
    "report": CommandLine(
        "Print a bug as the text of an issue, in the form that its library asks for. The command sends no data.",
        "report:report",
        "state target",
        {
            "bugs": argument(list[int], _REPORTED, None),
            "umbrella": switch("--umbrella", _UMBRELLA),
            "regression": switch("--regression", "Report a regression: the --baseline build does not show the bug"),
            "baseline": option(str, "--baseline", "For --regression: build without the bug, a name in `history`"),
            "run_now": switch("--run", "Run the script now, and put its whole output into the text"),
            "private": switch("--private", "Allow a private (security) bug; post the text only in a private place"),
            "file": option(Path, "--output", "File to write [default: print]"),
        },
        helps={"target": "For --umbrella: build of the bugs, a name in `history` [default: the last used]"},
        examples=("report 3", "report 3 --run --output issue.md", "report --umbrella"),
    ),
    "results": CommandLine(
        "Print the bugs of a build as JSON, Markdown, SARIF or JUnit. Private (security) bugs are only counted.",
        "results:results",
        "state target",
        {
            "form": option(str, "--format", "Format: json, markdown, sarif or junit", "json"),
            "since": option(str, "--since", "Mark as new only bugs found since this day or time (UTC) [default: all]"),
            "file": option(Path, "--output", "File to write [default: print]"),
        },
        helps={"target": "Build on record, a name in `history` [default: the last used]"},
        examples=("results --format sarif --output nightfuzz.sarif", "results --format junit --since 2026-11-25"),
    ),
    "dashboard": CommandLine(
        "Write a web site that needs no server, with the apis, the builds and the public bugs (no security problems).",
        "dashboard:dashboard",
        "state",
        {
            "folder": argument(Path, "Folder to write, which must not hold other files"),
            "single": switch("--single", "Write one HTML file that holds pages, scripts and data"),
        },
        examples=("dashboard site", "dashboard site --single"),
    ),
    "judge": CommandLine(
        "Record whether bugs are real. All bugs of one likely cause (a cluster) get one judgement.",
        "judge:judge",
        "state target",
        {
            "bug": argument(
                int, "Number of a bug of the cluster [default: ask about each cluster without a judgement]", None
            ),
            "verdict": option(str, "--as", "Judgement: real, not-real, duplicate or wont-fix"),
            "reason": option(str, "--reason", "Evidence for the judgement, required with --as"),
            "benign": option(
                Path, "--benign", "Add the bug to this file of false alarms (Python); needs the judgement not-real"
            ),
        },
        helps={"target": _ONE_BUILD},
        examples=(
            "judge",
            "judge 3 --as real --reason 'the CPU gives NaN, NumPy 1.5'",
            "judge 4 --as not-real --reason 'the documentation allows either order' --benign benign.py",
        ),
    ),
    "known add": CommandLine(
        "Add a bug to the file of known findings. Later runs count the bug and do not report it.",
        "known:add",
        "state",
        {
            "bug": _BUG,
            "issue": option(str, "--issue", "URL of the issue that reports the bug"),
            "reason": option(str, "--reason", "Reason why the bug is not reported"),
            "expires": option(
                str, "--expires", "Day from which the bug is reported again, e.g. 2027-03-31 [default: never]"
            ),
        },
        examples=(
            "known add 3 --issue https://github.com/pytorch/pytorch/issues/1",
            "known add 3 --reason 'documented' --expires 2027-03-31",
        ),
    ),
    "known list": CommandLine(
        "List the known findings: what each entry matches, how often it matched, and when it expires.",
        "known:list_entries",
        "state",
        examples=("known list",),
    ),
    "known remove": CommandLine(
        "Remove an entry from the file of known findings. Bugs that only this entry matched are reported again.",
        "known:remove",
        "state",
        {"name": argument(str, "Name of the entry, as `known list` prints it")},
        examples=("known remove torch-as-strided",),
    ),
    "changes": CommandLine(
        "List the results that differ between a build and an older one (its baseline), the worst first.",
        "changes:changes",
        "state target baseline",
        helps={
            "target": "Newer build of the comparison, a name in `history` [default: the last comparison]",
            "baseline": "Older build of the comparison, a name in `history` [default: the last comparison]",
        },
        examples=("changes", "changes --json"),
    ),
    "bump": CommandLine(
        "Run the calls that your own tests make, and similar calls, on two builds of a dependency, "
        "and compare the results.",
        "bump:bump",
        "state flavour library tests workers time tests_count seed fail_on_bugs sandbox",
        {
            "old": option(str, "--from", "Build in use now, e.g. torch==2.12.0; `pull --help` has all forms", ...),
            "new": option(str, "--to", "Build to change to, e.g. torch==2.13.0", ...),
        },
        helps={
            "tests": "Directory of your pytest or unittest files, whose calls are compared",
            "tests_count": "Number of tests after which the command ends, even before its time limit",
            "seed": "Seed of the random number generator, an integer [default: 0]",
            "fail_on_bugs": "Exit with code 1 if the builds differ, or if an api is removed or deprecated",
        },
        defaults={"time": "10m"},
        examples=("bump --from tensorflow-cpu==2.20.0 --to tensorflow-cpu==2.21.0 --tests tests/",),
    ),
    "recheck": CommandLine(
        "Run known bugs again on another build, and list the bugs that changed, were fixed, or are back.",
        "recheck:recheck",
        f"state {_TARGET} workers time fail_on_bugs sandbox",
        {
            "bugs": argument(
                list[int], "Numbers of bugs, as `bugs` lists them [default: all open and fixed bugs]", None
            ),
            "runs": option(
                int, "--runs", "Number of runs of each bug [default: the setting confirm_runs, 5]", min=1, max=100
            ),
        },
        helps={
            "target": "Build to run the bugs on, e.g. torch-nightly [default: the newest on record]",
            "fail_on_bugs": "Exit with code 1 if a fixed bug is back",
        },
        examples=("recheck --target torch-nightly", "recheck 3 5 --runs 10"),
    ),
    "watch": CommandLine(
        "Show, in this terminal, the live screen of a run that was started in another terminal. "
        "If the output is no terminal, print the status once.",
        "watch:watch",
        "state",
        examples=("watch", "watch --state DIR --json"),
    ),
    "history": CommandLine(
        "List the builds on record. For each build, count its tests, and the bugs found, fixed and back again.",
        "history:history",
        "state target",
        helps={"target": "Only this build, by its name in the list [default: all]"},
        examples=("history", "history --json"),
    ),
    "bisect": CommandLine(
        "Find the build that introduced or fixed a bug, among the builds in a package index.",
        "bisect:bisect",
        "state index allow_cached flavour workers",
        {
            "bug": _BUG,
            "good": option(
                str, "--good", "Build without the bug, e.g. 2.11.0 or torch==2.11.0 [default: search for such a build]"
            ),
            "bad": option(
                str, "--bad", "Build with the bug, in the same form [default: the build on which the bug was found]"
            ),
            "first_fixed": switch("--first-fixed", "Search newer builds for the first build without the bug"),
            "runs": option(
                int,
                "--runs",
                "Number of runs on each build [default: more for a bug that seldom shows itself]",
                min=1,
                max=100,
            ),
            "keep": option(int, "--keep", "Largest number of installed builds on disk at a time", 2, min=1),
        },
        examples=("bisect 3", "bisect 3 --good 2.11.0 --bad 2.13.0"),
    ),
    "moco knowledge": CommandLine(
        "Gather knowledge for MoCo: how to call the apis that models are made of. The sources are documentation, "
        "recorded calls and experiments. Save the knowledge as YAML.",
        "moco:knowledge",
        f"state {_TARGET} knowledge_import llm_endpoint llm_model llm_embedding_model llm_key_variable",
        {"time": option(str, "--time", _EXPERIMENTS)},
        examples=("moco knowledge --target torch==2.13.0 --time 2m",),
    ),
    "moco seeds": CommandLine(
        "Run and list the model programs that MoCo mutates (seeds), and say why other programs cannot be used.",
        "moco:seeds",
        "state target models",
        examples=("moco seeds --models models/",),
    ),
    "moco tree": CommandLine(
        "List the recorded trees of programs (a model program and its mutants), or describe or draw one tree.",
        "moco:tree",
        "state",
        {
            "number": argument(int, "Number of a tree [default: list all trees]", None),
            "draw": option(Path, "--draw", "Draw the tree into this file (Markdown with a Mermaid flowchart)"),
        },
        examples=("moco tree", "moco tree 1 --draw tree.md"),
    ),
    "gandalf operators": CommandLine(
        "List the operators of the models. For each library: supported or not, limits, known faults.",
        "gandalf:operators",
        examples=("gandalf operators",),
    ),
    "gandalf order": CommandLine(
        "List pairs of operators that follow each other in model programs: how often, and in which programs.",
        "gandalf:order",
        "models",
        {"name": argument(str, "First operator of the pairs [default: all pairs]", None)},
        examples=("gandalf order conv2d",),
    ),
    "gandalf verify": CommandLine(
        "Run each operator in all libraries on random and extreme data. Exit with code 1 if the libraries disagree.",
        "gandalf:verify",
        "state libraries seed",
        {
            "names": argument(list[str], "Names of operators [default: all operators that every library has]", None),
            "draws": option(int, "--draws", "Number of random inputs for each kind of data", 1, min=1),
        },
        helps={
            "seed": "Seed of the random number generator, an integer [default: 0]",
            "libraries": "Libraries or builds that run the operators [default: torch,tensorflow]",
        },
        examples=("gandalf verify --libraries torch,jittor --draws 3",),
    ),
}


def _made() -> typer.Typer:
    """Return the application with all commands."""
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
    """Run the console script."""
    open_output()
    app()
