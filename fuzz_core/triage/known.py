"""The registry of known findings: what is reported already, and what a library declares. A match is counted alone.

Entries come from a TOML file that people review, and from the one shipped with nightfuzz. See
docs/how-to/known-findings.md.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import date
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

import tomlkit
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from rapidfuzz import process as nearest

from fuzz_core.ir.errors import UserError
from fuzz_core.ir.files import write_whole

DEFAULT_FILE = "nightfuzz-known.toml"
SHIPPED = "known.toml"
_RANGE = "range of versions: write, for example, '>=2.9,<2.14'"
_GUIDE = "correct the entry; docs/how-to/known-findings.md has its form"


class RegistryQuery(NamedTuple):
    """A bug, in the form in which the registry is asked about it."""

    signature: str  # the signature's text
    api: str
    oracle: str
    kind: str
    modes: frozenset[str]  # modes that have shown the bug
    library: str
    version: str


def _several(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _is_link(value: str) -> str:
    if not re.fullmatch(r"https?://\S+", value):
        raise ValueError(f"{value!r} is not a URL")
    return value


def _is(parse: Callable[[str], object], refusal: type[Exception], what: str) -> AfterValidator:
    """Return a validator of text that `parse` accepts; `parse` refuses other text with `refusal`."""

    def check(value: str) -> str:
        try:
            parse(value)
        except refusal as error:
            raise ValueError(f"{value!r} is not a {what.format(error)}") from error
        return value

    return AfterValidator(check)


Text = Annotated[str, Field(min_length=1)]
Link = Annotated[str, AfterValidator(_is_link)]
Globs = Annotated[tuple[Text, ...], BeforeValidator(_several)]


class KnownEntry(BaseModel):
    """An entry of the registry, which matches if all its conditions hold."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Text
    signature: Text | None = None  # the whole text of the signature
    # A regular expression that is searched for in the signature.
    pattern: Annotated[Text, _is(re.compile, re.error, "regular expression: {}")] | None = None
    api: Globs = ()  # names of apis, with wildcards
    oracle: Text | None = None
    kind: Text | None = None
    mode: Text | None = None  # a wildcard that fits every mode that shows the bug
    library: Text | None = None
    # A range of versions, such as `>=2.9,<2.14`.
    versions: Annotated[Text, _is(SpecifierSet, InvalidSpecifier, _RANGE)] | None = None
    reason: str = ""
    issue: Link | None = None
    documentation: Link | None = None
    expires: date | None = None  # the first day on which the entry does not match any more

    @model_validator(mode="after")
    def _says_enough(self) -> Self:
        if not (self.signature or self.pattern or self.api):
            raise ValueError("the entry matches no bug: give a signature, a pattern or an api")
        if not self.issue and not (self.reason and self.expires):
            raise ValueError("the entry would never expire: give an issue, or a reason and a date in `expires`")
        return self

    def matches(self, seen: RegistryQuery) -> bool:
        """Return whether all conditions of the entry hold.

        Its expiry date does not count.
        """
        equal = ("signature", "oracle", "kind", "library")
        return (
            all(getattr(self, name) in (None, getattr(seen, name)) for name in equal)
            and (self.pattern is None or re.search(self.pattern, seen.signature) is not None)
            and (not self.api or any(fnmatchcase(seen.api, glob) for glob in self.api))
            # A bug that another mode shows too is not specific to that mode.
            and (self.mode is None or {fnmatchcase(mode, self.mode) for mode in seen.modes} == {True})
            and (self.versions is None or _contains(self.versions, seen.version))
        )

    def expired(self, today: date) -> bool:
        """Return whether the entry has reached its expiry date."""
        return self.expires is not None and self.expires <= today


def _contains(versions: str, version: str) -> bool:
    try:
        return SpecifierSet(versions).contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False


class Registry:
    """Entries on one day, the user's own first.

    An entry of the user replaces a shipped one of the same name.
    """

    def __init__(
        self, own: Iterable[KnownEntry] = (), shipped: Iterable[KnownEntry] = (), today: date = date.min
    ) -> None:
        self.own = {entry.name: entry for entry in own}
        self.shipped = {entry.name: entry for entry in shipped if entry.name not in self.own}
        self.entries = (*self.own.values(), *self.shipped.values())
        self.today = today

    def match(self, seen: RegistryQuery) -> KnownEntry | None:
        """Return the first entry that matches and has not expired."""
        return next((each for each in self.entries if not each.expired(self.today) and each.matches(seen)), None)


def load_registry(file: Path, today: date) -> Registry:
    """Return the entries of the user's file, if there is one, and the shipped ones.

    Raises:
        UserError: an entry does not fit; the message names the file, entry and key.
    """
    own = read_entries(file.read_bytes(), str(file)) if _is_there(file) else []
    return Registry(own, shipped_entries(), today)


def shipped_entries() -> list[KnownEntry]:
    """Return the entries shipped with nightfuzz: behaviour that libraries declare in their documentation."""
    return read_entries(resources.files(__package__).joinpath(SHIPPED).read_bytes(), SHIPPED)


def _is_there(file: Path) -> bool:
    if file.is_dir():
        raise UserError(f"{file} is a directory, not a file of known findings", "name a file in the setting `known`")
    return file.exists()


def read_entries(content: bytes, origin: str) -> list[KnownEntry]:
    """Return the entries of a TOML file.

    Raises:
        UserError: an entry does not fit; the message names origin, entry and key.
    """
    try:
        data = tomllib.loads(content.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{origin} is not valid TOML: {error}", _GUIDE) from error
    strange = [key for key in data if key != "known"]
    rows = data.get("known", [])
    if strange or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        what = f"unknown key {strange[0]!r}" if strange else "`known` is not a list of tables"
        raise UserError(
            f"{origin}: {what}", "begin each entry with a line [[known]]; docs/how-to/known-findings.md has the form"
        )
    entries = [entry_of(row, f"{origin}, entry {place}") for place, row in enumerate(rows, 1)]
    (name, count), *_ = [*Counter(entry.name for entry in entries).most_common(1), ("", 0)]
    if count > 1:
        raise UserError(f"{origin}: two entries are named {name!r}", "give one of them another name")
    return entries


def entry_of(row: dict[str, Any], where: str) -> KnownEntry:
    """Return an entry from its keys and values.

    Raises:
        UserError: a key does not fit; the message begins with `where` and names the key.
    """
    name = row.get("name")
    at = f"{where} ({name!r})" if isinstance(name, str) else where
    for key in row:
        if key not in KnownEntry.model_fields:
            close = nearest.extractOne(key, list(KnownEntry.model_fields))
            raise UserError(f"{at}: unknown key {key!r}", f"did you mean {close[0]!r}?")
    try:
        return KnownEntry(**row)
    except ValidationError as error:
        first = error.errors()[0]
        keys = ".".join(map(str, first["loc"]))
        said = first["msg"].removeprefix("Value error, ")
        raise UserError(f"{at}: {keys + ': ' if keys else ''}{said}", _GUIDE) from error


def add_entry(file: Path, entry: KnownEntry) -> None:
    """Append an entry to the user's file, which is made if there is none; comments and order stay.

    Raises:
        UserError: the name is taken, or the file is not valid or not writable.
    """
    document = _document(file)
    rows = document.setdefault("known", tomlkit.aot())
    if any(row.get("name") == entry.name for row in rows):
        raise UserError(
            f"{file} has an entry {entry.name!r} already",
            f"run `nightfuzz known remove {entry.name}` first, or edit the file",
        )
    row = {key: list(value) if isinstance(value, tuple) else value for key, value in entry if value}
    rows.append(tomlkit.item(row))
    _write(file, document)


def remove_entry(file: Path, name: str) -> None:
    """Remove an entry from the user's file and keep all other lines.

    Raises:
        UserError: an unknown name.
    """
    document = _document(file)
    rows = document.get("known", [])
    names = [row.get("name") for row in rows]
    if name not in names:
        raise UserError(f"{file} has no entry {name!r}", "write a name that `nightfuzz known list` prints")
    del rows[names.index(name)]
    _write(file, document)


def _document(file: Path) -> tomlkit.TOMLDocument:
    """Return the user's file for editing, checked first: an edit never builds on a file that would be refused."""
    content = file.read_bytes() if _is_there(file) else b""
    read_entries(content, str(file))
    return tomlkit.parse(content)


def _write(file: Path, document: tomlkit.TOMLDocument) -> None:
    """Write the file whole: the old file stays until the new one is complete.

    Raises:
        UserError: the file cannot be written.
    """
    text = tomlkit.dumps(document)
    read_entries(text.encode(), str(file))
    try:
        write_whole(file, text)
    except OSError as error:
        raise UserError(
            f"cannot write {file}: {error.strerror}",
            f"make {file.parent} writable, or name another file in the setting `known`",
        ) from error
