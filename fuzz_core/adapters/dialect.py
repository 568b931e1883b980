"""Facts of a library as text alone: how values are spelled, its modes, and how its errors look.

A dialect imports no module of the library, so that the controller can write scripts and judge outcomes with it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from collections.abc import Callable, Collection, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from fuzz_core.adapters import literals
from fuzz_core.adapters.library import KNOWN_LIBRARIES, Profile, library_of
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import BuildError, UserError
from fuzz_core.ir.values import Invocation, Ref, Tensor

# A statement that prints both results of a script. Its text is also the message of the assertion; checks of modes write
# `{told}` for it.
TELL = 'print(told := f"expected {expected}, got {actual}")'
TOLD = "{told}\n"
# First statements of a check in a mode that is right if it differs from the plain call.
TRUSTED = f"expected = {{actual}}\nactual = {{expected}}\n{TOLD}"


class Way(NamedTuple):
    """A mode as text: how the plain call becomes the mode's own, and which relation the two results must have."""

    # Statements that raise AssertionError if the relation does not hold. `{actual}` and `{expected}` stand for the two
    # calls. `{told}` stands for the statement TELL.
    check: str
    # Returns an expression for the changed tensor, from the expression of the plain one and the test case's seed.
    tensor: Callable[[str, Tensor, int], str] = lambda source, tensor, seed: source
    actual: str = "f({x})"  # the mode's call of a function `f` of the tensors, with `{x}` for the changed tensors
    # An object with state in both calls, from its construction `{m}` and the name `{x}` of the first tensor.
    instance: str = "{m}"
    owner: str = ""  # first part of the names of the apis that `instance` is for
    more: str = ""  # a further parameter of `f`, which `f` passes on
    shared: bool = False  # whether both calls use one object with state, made before
    # The mode's own call if it is another one, written as a second function `g`.
    call: Callable[[Invocation], Invocation | None] | None = None
    imports: tuple[str, ...] = ()  # statements that these texts need beyond the dialect's own


class ModeSpec(NamedTuple):
    """A mode of a library: a description of one way to execute a test case."""

    run: str = ""  # `module:attr` of the mode's code in the target, see `adapters.modes`; empty for a device
    script: Way | None = None  # the mode as text, if a script can show it
    against: str = "cpu"  # the mode that it is compared with, if any
    # The part of the result that must agree with the reference. `values`, `shape` (with dtype), `strides` (of
    # dimensions that have any) and `metadata` (all three) name parts. `behaviour` means values, and to be accepted or
    # refused alike. `gradient` means derivatives, by the tolerances for numerical ones. `finite` means no NaN or
    # infinity if the reference has a number. `memory` means values of calls that differ only in the memory around their
    # arguments. Empty means that the mode is not compared, so that only a death counts.
    relation: str = "values"
    share: float = 0.25  # share of the test cases, the dearer the fewer; 0 if only other modes or oracles ask for it
    kind: str = "wrong-result"  # kind of the verdict if it disagrees
    equivalent: bool = False  # whether it does the same work by other code, so that costs can be compared
    # For a mode without the elements of the arguments: the mode that differs from it only in knowing them. A blind mode
    # cannot refuse a call for its elements.
    blind: str = ""
    dear: bool = False  # whether it takes long, as compilers do
    keeps_nan: bool = True  # false if it is documented to lose NaN
    noise: float = 0.0  # see `adapters.doubles`
    trusted: bool = False  # whether its result is the right one if it differs from the reference
    # Whether it finds shapes by code of its own, so that it is a witness against the plain call.
    independent: bool = False
    meaning: str = ""  # for readers of a report who do not know nightfuzz; empty if the name speaks for itself
    # The names of the mode and of its reference in a sentence such as "dtype float32 on the meta device, bfloat16 on
    # the CPU".
    phrases: tuple[str, str] = ("", "by the plain call")
    swept: bool = False  # whether each cell of the sweep that returns is executed in it too


# Modes of double precision, which excuses and oracles ask for by name: on the same numbers, and on perturbed numbers.
DOUBLE, NUDGED = "cpu-fp64", ("cpu-fp64-nudged", "cpu-fp64-nudged-back")
# Modes with large numbers in memory around each tensor argument, with zeros there, and with either behind each row.
REDZONE, REDZONE_ZEROS, GAPS = "redzone", "redzone-zeros", ("gaps-zeros", "gaps")
# A mode that is only a reference for the comparison of further modes.
REFERENCE = ModeSpec(against="", relation="", share=0.0)
DEVICE = ModeSpec()


def doubles(run: str, script: Way, dear: bool = False) -> dict[str, ModeSpec]:
    """Return the modes in double precision: the plain one, and two on inputs moved by a few roundings up or down.

    If one perturbation leaves a tie as it was, the opposite one changes it.
    """
    plain = REFERENCE._replace(run=run, dear=dear)
    return {
        DOUBLE: plain._replace(
            script=script,
            against="cpu",
            relation="finite",
            meaning="the same call in double precision",
            phrases=("in double precision", "in the call's own precision"),
        ),
        NUDGED[0]: plain._replace(noise=4.0),
        NUDGED[1]: plain._replace(noise=-4.0),
    }


def redzones(run: str, script: Way) -> dict[str, ModeSpec]:
    """Return the mode REDZONE, whose result no memory around the arguments may change, and the mode REDZONE_ZEROS.

    Args:
        run: `module:attr` of what executes REDZONE; what executes REDZONE_ZEROS has `Zeros` behind that name.
        script: see `Way`.
    """
    spec = ModeSpec(run, script, REDZONE_ZEROS, "memory", share=0.02, kind="out-of-bounds")
    return {
        REDZONE_ZEROS: REFERENCE._replace(run=f"{run}Zeros"),
        REDZONE: spec._replace(
            meaning="other numbers in memory around the arguments",
            phrases=("with large numbers in memory around its arguments", "with zeros in that memory"),
        ),
    }


def derivative(
    run: str,
    script: Way,
    share: float = 0.005,
    against: str = "grad",
    dear: bool = False,
    meaning: str = "gradients compared with finite differences in double precision",
    trusted: bool = True,
    phrases: tuple[str, str] = ("by difference quotient", "by autograd"),
) -> ModeSpec:
    """Return a mode for derivatives without backward mode: `trusted` difference quotients, or forward mode."""
    spec = ModeSpec(run, script, against, "gradient", share, "wrong-gradient", dear=dear)
    return spec._replace(meaning=meaning, trusted=trusted, phrases=phrases)


class Around(NamedTuple):
    """A mode of whole model programs as text.

    Statements stand in front of a program and behind it. They raise AssertionError if the mode's assertion does not
    hold.
    """

    before: str
    after: str = ""
    kind: str = "wrong-result"  # kind of the verdict if an assertion fails


# A program of Gandalf asserts the results of several libraries by itself, so that no statements stand around it.
LIBRARIES = "libraries"
BARE = {LIBRARIES: Around("")}
NEVER = re.compile(r"(?!)")


OUT_OF_MEMORY = (
    r"MemoryError|std::bad_alloc|[Cc]annot allocate memory|can't allocate memory|Unable to allocate|failed to alloc"
    r"|[Oo]ut of memory"
)
INTERNAL = (
    r"INTERNAL ASSERT FAILED|SystemError: |UnboundLocalError: |report (?:a|this) bug|bug,? please report|Check failed"
    r"|[Tt]his should never (?:happen|be)|[Uu]nknown (?:C\+\+ )?exception"
    r"|(?:RuntimeError|ValueError|IndexError|OverflowError): [^\n]*\bstd::(?!numeric_limits)"
    r"|vector::_M_|basic_string::|basic_string_view::|bad[ _]optional[ _]access|bad[ _]variant[ _]access"
    r"|\b(?:unordered_)?map::at|_Map_base::at"
)


def told_inside(said: str, harmless: str = OUT_OF_MEMORY) -> re.Pattern[str]:
    """Return a pattern of errors whose text matches `said` and does not match `harmless`."""
    return re.compile(rf"(?s)^(?!.*(?:{harmless})).*(?:{said})")


class Dialect:
    """The textual half of a library's adapter, with defaults.

    A subclass states `library`, and how a tensor is made from a numpy expression; it overrides the defaults that do not
    fit.
    """

    library: str
    distributions: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    internal_error = told_inside(INTERNAL)
    out_of_memory = re.compile(OUT_OF_MEMORY)
    poisons = NEVER  # errors of a device after which no call of the same process can be judged
    native_modules: re.Pattern[str]
    strided = False  # whether its tensors have strides and requires_grad
    # Other forms of a tensor, by name: calls whose first argument is the tensor and is left out.
    forms: Mapping[str, Invocation] = {}
    # Names of dtypes that it does not have.
    lacking: Collection[str] = tuple(name for name, dtype in DTYPES.items() if dtype.storage != name)
    neighbours = False  # whether recorded calls run in further ways, see `Adapter.neighbours`
    searched = False  # whether calls are searched for apis without a traced one, see `Adapter.signatures`
    lazy = False  # whether results are computed when they are read
    one_thread = ""  # a statement that makes it use one thread; empty if no mode is timed
    environment: Mapping[str, str] = {}  # variables that its processes need
    verbose: Mapping[str, str] = {}  # variables that make it log everything its maintainers ask for
    compiled = ""  # the variable that names a folder for code compiled at run time; empty if it compiles no code
    # Message of a process that catches a signal itself; `number` is the signal (SIGSEGV if the pattern has no such
    # group).
    caught = NEVER
    miscompiled = NEVER  # error text when a compiler has refused code that the library has written
    static_check = NEVER  # error text of a check that sees shapes and attributes alone, while a graph is made
    chatter = NEVER  # log output during normal work, which does not show how the process ends
    modes: Mapping[str, ModeSpec] = {}  # modes of single calls, by name
    programs: Mapping[str, Around] = BARE  # modes of model programs
    identity = ""  # the api of the layer that returns its input; empty if any function may take a layer's place
    # The method in which a subclass of `identity` computes, if containers take no function in the place of a layer.
    computes = ""
    profile: Profile | None = None  # names that examples use without importing them; None if they are unknown

    def __init_subclass__(cls) -> None:
        """Fill in what follows from the library's name."""
        cls.distributions = cls.distributions or library_of(cls.library).distributions or (cls.library,)
        cls.imports = cls.imports or (f"import {cls.library}", "import numpy as np")
        if not hasattr(cls, "native_modules"):
            cls.native_modules = re.compile(rf"/{re.escape(cls.library)}/(?:[^/]+/)*[^/]+\.so")

    @property
    def ways(self) -> Mapping[str, Way]:
        """See above."""
        return {name: spec.script for name, spec in self.modes.items() if spec.script is not None}

    def way_of(self, mode: str, timed: bool = False) -> str:
        """Return the mode whose script shows a death in `mode`; empty if no script does.

        The script is that of `mode` itself, of a mode that executes the same call, or of a mode that is compared with
        it.

        Args:
            timed: whether the script must take about as long; one with a difference quotient for each element takes
                longer.
        """
        spec = self.modes.get(mode)
        if spec is None:
            return ""
        alike = [mode] if spec.script is not None else []
        alike += [name for name in self.ways if spec.run and self.modes[name].run == spec.run]
        alike += [name for name in self.ways if mode in (self.modes[name].against, self.modes[name].blind)]
        return next((name for name in alike if not (timed and self.modes[name].relation == "gradient")), "")

    def tensor(self, tensor: Tensor) -> str:
        """Return the shortest expression for a tensor, with public names of the library (and numpy) alone.

        Large uniform draws keep their range alone.

        Raises:
            BuildError: a dtype that the library does not have.
        """
        if tensor.container == "ndarray":
            return literals.numpy_array(tensor)
        if tensor.dtype in self.lacking:
            raise BuildError(f"no dtype {tensor.dtype} in {self.library}")
        return self.own(tensor if self.strided else tensor._replace(strides=None))

    def own(self, tensor: Tensor) -> str:
        """Return the expression for a tensor of the library's own type."""
        return literals.numpy_array(tensor)

    def ref(self, ref: Ref) -> str:
        """Return a Python expression for a dtype, device or name: `np.float32`, a string, the name as it is."""
        if ref.kind == "dtype":
            return "bool" if ref.name == "bool" else f"np.{DTYPES[ref.name].storage}"
        return repr(ref.name) if ref.kind == "device" else ref.name

    def seed(self, seed: int) -> str:
        """Return a statement that seeds the library's global random streams."""
        return f"np.random.seed({seed & 0xFFFFFFFF})"


DIALECTS: dict[str, str] = {each.name: each.dialect for each in KNOWN_LIBRARIES.values()}


def load_plugin(table: dict[str, str], name: str, what: str) -> Any:
    """Resolve `module:attr` from a plug-in table.

    Raises:
        UserError: the table has no such name; the message lists the names.
    """
    if name not in table:
        raise UserError(f"unknown {what} {name!r}", f"choose one of: {', '.join(sorted(table))}")
    module, attribute = table[name].split(":")
    return getattr(importlib.import_module(module), attribute)


def load_half(table: dict[str, str], library: str, attribute: str) -> Any:
    """Return the `Adapter` or `Dialect` of a library: from the table, or from a module `nightfuzz_LIBRARY` of its own.

    Such a module in a folder of NIGHTFUZZ_PATH adds a library from outside.

    Raises:
        UserError: an unknown library.
    """
    outside = f"nightfuzz_{library}"
    if library not in table and importlib.util.find_spec(outside) is not None:
        table = {**table, library: f"{outside}:{attribute}"}
    return load_plugin(table, library, "library")


def dialect_of(library: str) -> Dialect:
    """Return the dialect of a library by name.

    Raises:
        UserError: the library is unknown.
    """
    made: Dialect = load_half(DIALECTS, library, "Dialect")()
    return made


def profile_of(library: str) -> Profile | None:
    """Return the names that examples of a library use without importing them.

    The result is None for an unknown library or profile.
    """
    return dialect_of(library).profile if library in DIALECTS else None


COMPILED_FOLDER = "compiled"
# A variable that names a folder for compiled code of all targets, if an environment cannot be written to.
COMPILED_VARIABLE = "NIGHTFUZZ_COMPILED"


def surroundings(dialect: Dialect, python: str | Path) -> dict[str, str]:
    """Return environment variables for processes of a target: the library's own ones, and the folder for compiled code.

    A variable that the user has set keeps the user's value.
    """
    wanted = {**dialect.environment, **({dialect.compiled: str(compiled(python))} if dialect.compiled else {})}
    return {name: os.environ.get(name, value) for name, value in wanted.items()}


def all_surroundings(python: str | Path) -> dict[str, str]:
    """Return the surroundings for an interpreter that is yet to say which library it holds."""
    return {name: value for library in DIALECTS for name, value in surroundings(dialect_of(library), python).items()}


def compiled(python: str | Path) -> Path:
    """Return the folder for compiled code: in the interpreter's virtual environment, which is removed with it.

    If there is no virtual environment, the folder is the library's own. A sandbox can write to neither of them. There
    COMPILED_VARIABLE names a folder, of which each environment has a part.
    """
    environment = Path(python).absolute().parent.parent
    if COMPILED_VARIABLE in os.environ:
        return Path(os.environ[COMPILED_VARIABLE]) / blake2b(str(environment).encode(), digest_size=8).hexdigest()
    return environment / COMPILED_FOLDER if (environment / "pyvenv.cfg").is_file() else Path.home()


def compiled_folders(dialect: Dialect, python: str | Path) -> list[Path]:
    """Return the folder that the library writes what it compiles to, and make it; an empty list for most libraries."""
    if not dialect.compiled:
        return []
    folder = Path(surroundings(dialect, python)[dialect.compiled])
    # If the folder is the user's home, only the folder of caches is meant.
    folder = folder / ".cache" if folder == Path.home() else folder
    folder.mkdir(parents=True, exist_ok=True)
    return [folder]
