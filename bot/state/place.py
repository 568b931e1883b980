"""Common parts of all storages: a few named files that are replaced together, and how a state is packed into them."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from fuzz_core.ir.errors import UserError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Files = Mapping[str, bytes]
STATE, FILINGS = "state.db.zst", "filings.json"
PLAIN = "private.db.zst"
FINGERPRINTS, README, MARKER = "private.fingerprints", "README.md", "nightfuzz-state.json"
PRIVATE = "private/"
SCHEMA = "nightfuzz-state/1"
MAX_FILES = 500
MAX_FILE = 95 << 20
MAX_TOTAL = 1 << 30
FOREIGN = "choose another ref (state-ref) or directory (state-path) for the state, or delete the old one if you can"
TOO_LARGE = "begin a new state in another ref (state-ref), or keep the state in a directory of the runner"
# Targets of one library repeat each other, and a window of this size finds the repetitions. It is the largest window
# that `zstd -d` takes without a flag, and the memory that a reader needs.
WINDOW_LOG = 27
SETTINGS: Mapping[int, int] = {
    zstd.CompressionParameter.compression_level: 9,
    zstd.CompressionParameter.window_log: WINDOW_LOG,
    zstd.CompressionParameter.enable_long_distance_matching: 1,
    zstd.CompressionParameter.checksum_flag: 1,
    zstd.CompressionParameter.content_size_flag: 1,
    zstd.CompressionParameter.nb_workers: os.cpu_count() or 1,
}
# GitHub warns from 50 MiB on and refuses files from 100 MiB on.
PART = 45 << 20
MAX_BYTES = 2 << 30
CHUNK = 1 << 20
REMEDY = "no action is needed: nightfuzz begins a new state, and keeps the damaged copy beside it"
_NAME = re.compile(r"(?:private/)?[A-Za-z0-9][A-Za-z0-9._-]{0,120}")
_ABOUT = f"""# The state of nightfuzz

nightfuzz writes this, never a person. It shares no history with any branch, and always has one commit.
Deleting it makes nightfuzz begin anew: it traces again, and finds again what is still there; issues that it has filed
are recognised by their markers.

| file | what it is |
|---|---|
| `{STATE}` | seeds, value spaces, bugs and findings as an SQLite file: nothing private is in it |
| `{FILINGS}` | which issue belongs to which bug |
| `{PRIVATE}*.age` | what may be a security hole, encrypted with the public key that this repository's workflow names |
| `{FINGERPRINTS}` | keyed digests of private bugs: they tell nothing without the key |
| `{MARKER}` | tells nightfuzz that all of this is its own |
"""


class Snapshot(NamedTuple):
    """The files as they were at one time.

    Attributes:
        version: names that time, in a form of the place's own.
    """

    files: Files
    version: str


FilesUpdate = Callable[[Snapshot | None], Files]
"""Makes the files that take the place of what is there (None for nothing); called again if somebody else was faster."""


class StateStorage(Protocol):
    """A place that keeps a state.

    All methods raise UserError for faults that a person has to mend.
    """

    confidential: bool

    def load(self) -> Snapshot | None:
        """Load the stored files; None if there are none yet."""

    def store(self, build: FilesUpdate, message: str) -> Snapshot:
        """Store the files that `build` makes, all at once, without loss of files that other jobs have stored."""

    def set_aside(self, snapshot: Snapshot) -> str:
        """Keep a broken snapshot for a person to look at, and return its place."""


def marked(files: Files) -> dict[str, bytes]:
    """Return the files with the files that identify the place.

    Raises:
        UserError: invalid names or sizes.
    """
    whole = {**files, README: _ABOUT.encode(), MARKER: (json.dumps({"schema": SCHEMA}) + "\n").encode()}
    checked((name, len(data)) for name, data in whole.items())
    return whole


def checked(sizes: Iterable[tuple[str, int]], what: str = "the new state") -> None:
    """Raise UserError for names of files that are none of ours, and for more or larger ones than any state has."""
    total = 0
    for count, (name, size) in enumerate(sizes, 1):
        total += size
        if not _NAME.fullmatch(name):
            raise UserError(f"{what} contains a file that is not from nightfuzz: {name[:100]!r}", FOREIGN)
        if count > MAX_FILES or size > MAX_FILE or total > MAX_TOTAL:
            raise UserError(f"{what} is too large: {name[:100]!r} is file {count} with {size >> 20} MiB", TOO_LARGE)


def is_ours(files: Files) -> bool:
    """Return whether nightfuzz has written these files."""
    try:
        told = json.loads(files.get(MARKER, b""))
    except (ValueError, RecursionError):
        return False
    return isinstance(told, dict) and told.get("schema") == SCHEMA


def revise(place: StateStorage, name: str, change: Callable[[bytes], bytes], message: str) -> bytes:
    """Change one file of the place and leaves every other file as it is.

    Args:
        place: the place.
        name: the file's name.
        change: from the current content (empty if the file does not exist) to the new content; called again if another
            job was faster.
        message: describes the change in the place's history.

    Returns:
        Its new content.
    """

    def build(before: Snapshot | None) -> Files:
        files = {} if before is None else before.files
        return {**files, name: change(files.get(name, b""))}

    return place.store(build, message).files[name]


def pack(path: Path, name: str = STATE) -> dict[str, bytes]:
    """Return the file, compressed, as parts `state.db.zst`, `state.db.zst.1`, … that every place takes.

    Raises:
        UserError: `unpack` would refuse the result.
    """
    if path.stat().st_size > MAX_BYTES:
        raise UserError(f"the state file {path.name} is larger than {MAX_BYTES >> 20} MiB", TOO_LARGE)
    packed = compressed(path.read_bytes())
    starts = range(0, len(packed), PART)
    return {_part(name, number): packed[start : start + PART] for number, start in enumerate(starts)}


def compressed(content: bytes) -> bytes:
    """Compress to one frame of Zstandard with its size and a checksum; `expanded` reads the frame."""
    return zstd.compress(content, options=SETTINGS)


def _part(name: str, number: int) -> str:
    return name if number == 0 else f"{name}.{number}"


def parts(files: Files, name: str = STATE) -> list[bytes]:
    """Return the parts of a packed file, in order; empty if the file does not exist."""
    found: list[bytes] = []
    while (part := _part(name, len(found))) in files:
        found.append(files[part])
    return found


def unpack(packed: list[bytes], path: Path, max_bytes: int = MAX_BYTES) -> None:
    """Write the file that these parts are.

    Raises:
        UserError: damaged, cut short, or more than `max_bytes`.
    """
    try:
        with path.open("wb") as file:
            for data in _unpacked(packed, max_bytes):
                file.write(data)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def expanded(packed: bytes, max_bytes: int = MAX_BYTES) -> bytes:
    """Like `unpack`, into memory."""
    return b"".join(_unpacked([packed], max_bytes))


def _unpacked(packed: list[bytes], max_bytes: int) -> Iterator[bytes]:
    """Unpack a megabyte at a time and ignore the size that the frame claims, so that a bomb is stopped in time."""
    size = 0
    try:
        whole = b"".join(packed)
        told = zstd.get_frame_info(whole).decompressed_size
        reader = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: WINDOW_LOG})
        chunk = reader.decompress(whole, CHUNK)
        while chunk:
            size += len(chunk)
            if size > max_bytes:
                raise UserError(f"the packed state unpacks to more than {max_bytes >> 20} MiB", REMEDY)
            yield chunk
            chunk = b"" if reader.eof else reader.decompress(b"", CHUNK)
    except zstd.ZstdError as error:
        raise UserError(f"the packed state is damaged ({error})", REMEDY) from error
    if not reader.eof or reader.unused_data or size != told:
        raise UserError("the packed state is damaged (its end is missing, or bytes follow its end)", REMEDY)
