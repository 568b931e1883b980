"""Specs: the text with which a user names a target, parsed into a TargetSpec."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from pkgutil import iter_modules
from typing import Literal

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import Specifier
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version
from rapidfuzz import fuzz, process

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.adapters.library import KNOWN_LIBRARIES
from fuzz_core.ir.errors import UserError
from fuzz_core.targets.artifact import check_address

FORMS = (
    "write torch==2.13.0, torch (the newest), torch-nightly/cpu, index:https://HOST/PATH#PACKAGE, path/to/file.whl or "
    "python:/path/to/bin/python"
)
Flavour = Literal["auto", "cpu", "cuda"]
_NAME = re.compile(r"(?P<name>[^/=<>~!\s]+)(?:/(?P<label>[A-Za-z0-9._]+))?\s*(?P<version>[=<>~!].*)?", re.DOTALL)
_PLUGIN = "nightfuzz_"
_ALIKE = 60  # of 100: below that a guess is noise


@dataclass(frozen=True)
class TargetSpec:
    """A target as asked for.

    `library` is None only if the interpreter is to say which library it holds.
    """

    text: str
    kind: Literal["index", "wheel", "python"]
    library: str | None
    distribution: str | None = None
    version: str | None = None
    path: Path | None = None
    index: str | None = None  # address of the package index of an `index` spec, None for the configured one
    nightly: bool = False  # whether the spec means the newest dated build, not the newest release
    label: str | None = None  # the flavour of a nightly build, `cu130`


def distributions() -> dict[str, str]:
    """Return which library (the name that is imported) a distribution (the name that is installed) holds."""
    return {name: library.name for library in KNOWN_LIBRARIES.values() for name in library.distributions}


def libraries() -> list[str]:
    """Return the libraries that a target can hold, sorted."""
    return sorted({*KNOWN_LIBRARIES, *plugins()})


def plugins() -> list[str]:
    """Return the libraries from outside the project: those of the modules `nightfuzz_NAME` on the path, sorted."""
    return sorted({found.name.removeprefix(_PLUGIN) for found in iter_modules() if found.name.startswith(_PLUGIN)})


def parse_spec(text: str, library: str | None = None, index: str | None = None) -> TargetSpec:
    """Read a pin, `torch-nightly/LABEL`, `index:URL#PACKAGE`, a wheel file or `python:PATH`.

    `library` says what an unknown distribution or interpreter holds. `index` is the address of the package index in
    which what names none is looked up.

    Raises:
        UserError: a malformed spec, an unknown distribution or library, and a file that isn't there.
    """
    text = text.strip()
    if library is not None and library not in libraries():
        raise UserError(f"unknown library {library!r}", _nearest(library, libraries()))
    if text.startswith("python:"):
        return _parse_python(text.removeprefix("python:"), library)
    if text.lower().endswith(".whl"):
        return _parse_wheel(text, library)
    if text.startswith("index:"):
        address, hash_sign, package = text.removeprefix("index:").partition("#")
        if not hash_sign:
            raise UserError(f"{text!r} names no package", f"add the package: {text}#PACKAGE")
        return _parse_listed(package.strip(), library, check_address(address.strip()))
    return _parse_listed(text, library, check_address(index) if index else None)


def _parse_python(text: str, library: str | None) -> TargetSpec:
    if not text.strip():
        raise UserError("the target `python:` names no interpreter", "write python:/path/to/bin/python")
    # Not resolved: the python of a virtual environment is a link, and following it leaves the environment.
    path, there = _look_at(text.strip())
    if not there:
        raise UserError(
            f"there is no interpreter {path}",
            "give the Python executable and not its folder, for example python:/path/to/bin/python",
        )
    if path.is_dir():
        raise UserError(f"{path} is a directory, not an interpreter", f"write python:{path / 'bin' / 'python'}")
    return TargetSpec(f"python:{path}", "python", library, path=path)


def _look_at(text: str) -> tuple[Path, bool]:
    """Return the absolute path, and whether it exists."""
    try:
        path = Path(text).expanduser().absolute()
        return path, path.exists()
    except (OSError, ValueError, RuntimeError) as error:  # too long, a NUL character, an unknown ~user
        raise UserError(f"{text[:200]!r} is not a path: {error}", FORMS) from error


def _parse_wheel(text: str, library: str | None) -> TargetSpec:
    path, there = _look_at(text)
    try:
        name, version, _build, _tags = parse_wheel_filename(path.name)
    except InvalidWheelFilename as error:
        raise UserError(
            f"{path.name} is not the name of a wheel: {error}",
            "rename the file to NAME-VERSION-PYTHON-ABI-PLATFORM.whl",
        ) from error
    held = library or _library_of(name)
    if not there:
        raise UserError(f"there is no wheel file {path}", _nearest_file(path))
    if not path.is_file() or not zipfile.is_zipfile(path):
        raise UserError(f"{path} is not a wheel: the file is not a zip archive", "download or build the wheel again")
    return TargetSpec(str(path), "wheel", held, distribution=name, version=str(version), path=path)


def _parse_listed(text: str, library: str | None, index: str | None) -> TargetSpec:
    """Return a package of an index.

    `torch-nightly` means the nightly builds of the distribution torch.
    """
    found = _NAME.fullmatch(text)
    nights = {each.nightly: each.name for each in KNOWN_LIBRARIES.values() if each.own_index}
    if found is None or found["name"].lower() not in nights:
        pin = _parse_pin(text, library)
        nightly = "nightly" in str(pin.distribution).split("-")
        return replace(pin, text=_address(index, pin.text), index=index, nightly=nightly)
    pin = _parse_pin(nights[found["name"].lower()] + (found["version"] or ""), library)
    label = found["label"].lower() if found["label"] else None
    name = found["name"].lower() + (f"/{label}" if label else "") + (f"=={pin.version}" if pin.version else "")
    return replace(pin, text=_address(index, name), index=index, nightly=True, label=label)


def _address(index: str | None, package: str) -> str:
    return package if index is None else f"index:{index}#{package}"


def _parse_pin(text: str, library: str | None) -> TargetSpec:
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        raise UserError(f"{text!r} is not a target: {str(error).splitlines()[0]}", FORMS) from error
    if requirement.url or requirement.extras or requirement.marker:
        raise UserError(f"{text!r}: a target must not have a URL, extras or markers", FORMS)
    name = canonicalize_name(requirement.name)
    held = library or _library_of(name)
    version = _pinned_version(text, requirement)
    return TargetSpec(f"{name}=={version}" if version else name, "index", held, distribution=name, version=version)


def _pinned_version(text: str, requirement: Requirement) -> str | None:
    specifiers: list[Specifier] = list(requirement.specifier)
    if not specifiers:
        return None
    if len(specifiers) > 1 or specifiers[0].operator != "==" or specifiers[0].version.endswith(".*"):
        raise UserError(f"{text!r} names no single version", f"name one version: {requirement.name}==VERSION")
    try:
        return str(Version(specifiers[0].version))
    except InvalidVersion as error:
        raise UserError(f"{text!r}: {specifiers[0].version!r} is not a version", FORMS) from error


def _library_of(distribution: str) -> str:
    known = distributions()
    if distribution in known:
        return known[distribution]
    for library in plugins():
        if distribution in dialect_of(library).distributions:
            return library
    hint = _nearest(distribution, sorted(known))
    raise UserError(
        f"{distribution!r} holds no library that can be fuzzed",
        f"{hint}; or name the library of the package with --library",
    )


def _nearest(name: str, known: list[str]) -> str:
    best = process.extractOne(name, known, scorer=fuzz.ratio, score_cutoff=_ALIKE)
    guess = f"did you mean {best[0]}? " if best else ""
    return f"{guess}known: {', '.join(known)}"


def _nearest_file(path: Path) -> str:
    wheels = sorted(each.name for each in path.parent.glob("*.whl"))
    best = process.extractOne(path.name, wheels, scorer=fuzz.ratio, score_cutoff=_ALIKE)
    return f"did you mean {path.parent / best[0]}?" if best else "correct the path of the file"
