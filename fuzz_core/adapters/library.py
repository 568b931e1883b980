"""The libraries that can be fuzzed, as data: the only table that names a library."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple


class Library(NamedTuple):
    """How a library is installed, called and reported.

    The defaults suit a library without special needs.
    """

    name: str  # what is imported
    adapter: str = ""  # `module:class`, as in every plug-in table
    dialect: str = ""
    distributions: tuple[str, ...] = ()  # packages that install it
    nightly: str = ""  # target that means the newest nightly build
    own_index: bool = False  # its own index has a part for each flavour, and its nightly builds
    dual: tuple[str, ...] = ()  # distributions that are one build for CPU and GPU; an extra brings the CUDA libraries
    companions: tuple[str, ...] = ()  # what the library and its seeds need beside it
    space: Mapping[str, int] = {}  # bytes of an environment and its cached wheels by flavour, rounded up
    tested_packages: tuple[str, ...] = ()  # packages whose wheels ship runnable tests, and not only helpers of tests
    model_packages: tuple[str, ...] = ()  # packages with ready-made models of the library
    followers: tuple[str, ...] = ()  # packages that show that a project uses the library
    conda: Mapping[str, str] = {}  # names of packages of conda, and what they are called on PyPI
    repository: str = ""
    roots: Mapping[str, str] = {}  # first parts of public names, and the statement that binds each

    @property
    def newest(self) -> str:
        """The target that means the newest build: for most libraries, the newest release."""
        return self.nightly or self.name


_HOME = "fuzz_core.adapters."
DEFAULT_TARGET = "torch-nightly"
KNOWN_LIBRARIES: dict[str, Library] = {
    "torch": Library(
        "torch",
        adapter=f"{_HOME}pytorch.adapter:TorchAdapter",
        dialect=f"{_HOME}pytorch.dialect:TorchDialect",
        distributions=("torch",),
        nightly=DEFAULT_TARGET,
        own_index=True,
        companions=("numpy", "expecttest", "scipy", "pyyaml", "pytest"),
        space={"cpu": 2_000_000_000, "cuda": 10_000_000_000},  # torch 2.13.0 (CPU) takes 1.2 GB
        model_packages=("timm", "transformers"),
        followers=("torchvision", "torchaudio", "lightning"),
        conda=dict.fromkeys(("pytorch", "pytorch-cpu", "pytorch-gpu"), "torch"),
        repository="pytorch/pytorch",
        roots={"torch": "import torch"},
    ),
    "tensorflow": Library(
        "tensorflow",
        adapter=f"{_HOME}tensorflow.adapter:TensorFlowAdapter",
        dialect=f"{_HOME}tensorflow.dialect:TensorFlowDialect",
        distributions=("tensorflow", "tensorflow-cpu", "tf-nightly", "tf-nightly-cpu"),
        nightly="tf-nightly-cpu",
        dual=("tensorflow", "tf-nightly"),
        # Spectrograms of Keras take their windows from scipy.
        companions=("scipy", "pytest"),
        space={"cpu": 2_500_000_000, "cuda": 8_000_000_000},  # TensorFlow 2.21.0 (CPU) takes 1.6 GB
        tested_packages=("keras",),
        model_packages=("keras",),
        followers=("keras",),
        conda={"tensorflow-gpu": "tensorflow"},
        repository="tensorflow/tensorflow",
        roots={"tf": "import tensorflow as tf", "keras": "import keras"},
    ),
    "jittor": Library(
        "jittor",
        adapter=f"{_HOME}jittor.adapter:JittorAdapter",
        dialect=f"{_HOME}jittor.dialect:JittorDialect",
        distributions=("jittor",),
        # On numpy 2 it reads and writes wrong numbers without a word (1.3.7.16); only newer releases say so themselves.
        companions=("numpy<2", "pytest"),
        space={"cpu": 1_000_000_000, "cuda": 1_000_000_000},
        tested_packages=("jittor",),
        model_packages=("jittor",),
        followers=("jittor_utils", "jittor_geometric", "jdet"),
        repository="Jittor/jittor",
        roots={"jittor": "import jittor"},
    ),
}


class RulePage(NamedTuple):
    """The page on which a rule was read, and the day."""

    page: str
    read: date


class Disclosure(NamedTuple):
    """The rules of one tracker for reports.

    See `adapters/disclosure.py`.
    """

    repository: str  # the tracker: owner/name
    accepts: bool  # whether reports of fuzzers are welcome
    why: str  # what the maintainers say, for the person who approves a report
    sources: Mapping[str, RulePage]  # where the rule of each field was read; the names of fields are the only keys
    memory_errors: Literal["private", "public"] = "private"  # how a memory error on bad input is told
    newest_only: bool = False  # whether a report about an older build is refused
    refused_apis: tuple[str, ...] = ()  # wildcards; a bug that only these apis show is not reported
    umbrella: int = 0  # issue that collects crashes on bad input; 0: none
    proposed_fix: str = ""  # the fix that maintainers prefer to one check for each operator
    human_part: str = ""  # what a person has to add in words of their own
    labels: Mapping[str, tuple[str, ...]] = {}  # labels to suggest, by kind of verdict, validity, mode or `regression`
    title_prefix: str = ""
    confirmations: tuple[str, ...] = ()  # boxes of the form that only the person who files can tick
    security: str = ""  # the address for reports of vulnerabilities

    def takes(self, api: str) -> bool:
        """Return whether a bug of this api is worth a report."""
        return not any(fnmatchcase(api, glob) for glob in self.refused_apis)


class Profile(NamedTuple):
    """Names that examples of a library use without importing them, and facts for scripts and reports."""

    imports: Mapping[str, str]  # the statement that brings each name in
    stand_ins: Mapping[str, str]  # an expression for each value; expressions may use other names of this table
    constant: str  # the function that makes a tensor of data
    ones: str  # the function that makes a tensor of ones of a shape
    form: tuple[str, ...]  # headings of the library's issue form
    disclosures: Mapping[str, Disclosure]  # rules about reports, by the beginning of the names of apis
    facts: str = ""  # functions that describe a build in the target's own interpreter: see `targets/facts.py`


def bound(statements: str) -> dict[str, str]:
    """Import statements of one name by the name that each binds, which is its last word."""
    lines = (line.rpartition("import ") for line in statements.strip().splitlines())
    return {name.split()[-1]: f"{source}import {name}" for source, _, names in lines for name in names.split(", ")}


def assigned(statements: str) -> dict[str, str]:
    """Return the expressions of assignments by each of their names."""
    lines = (line.split(" = ") for line in statements.strip().splitlines())
    return {name: expression for *names, expression in lines for name in names}


def library_of(name: str | None) -> Library:
    """Return the record of a library; for a library from outside the project, a record of defaults."""
    return KNOWN_LIBRARIES.get(name or "") or Library(name or "")
