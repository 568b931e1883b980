"""A state file small enough for a branch, and back: within bounds, since what is unpacked may come from anywhere."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from pathlib import Path

from bot.state.place import STATE, TOO_LARGE, Files
from fuzz_core.ir.errors import UserError

# Targets of one library repeat each other: a window as large as this finds that, for a few seconds more.
WINDOW, LEAST = 64 << 20, 1 << 16
PRESET = 1
# GitHub warns from 50 MiB on and refuses files from 100 MiB on.
PART = 45 << 20
MAX_BYTES = 2 << 30
MEMORY = 256 << 20
CHUNK = 1 << 20
REMEDY = "the copy that is kept aside may be mended; nightfuzz begins anew without it"


def pack(path: Path, name: str = STATE) -> dict[str, bytes]:
    """The file, compressed, as parts `state.db.xz`, `state.db.xz.1`, … that every place takes.

    Raises UserError for one that `unpack` would refuse.
    """
    if path.stat().st_size > MAX_BYTES:
        raise UserError(f"the state is larger than {MAX_BYTES >> 20} MiB", TOO_LARGE)
    content = path.read_bytes()
    window = min(WINDOW, max(len(content), LEAST))
    filters = [{"id": lzma.FILTER_LZMA2, "preset": PRESET, "dict_size": window}]
    packed = lzma.compress(content, check=lzma.CHECK_SHA256, filters=filters)
    starts = range(0, max(len(packed), 1), PART)
    return {_part(name, number): packed[start : start + PART] for number, start in enumerate(starts)}


def _part(name: str, number: int) -> str:
    return name if number == 0 else f"{name}.{number}"


def parts(files: Files, name: str = STATE) -> list[bytes]:
    """The parts of a packed file, in order; none where there is none."""
    found: list[bytes] = []
    while (part := _part(name, len(found))) in files:
        found.append(files[part])
    return found


def unpack(packed: list[bytes], path: Path, max_bytes: int = MAX_BYTES) -> None:
    """Writes the file that these parts are. Raises UserError: damaged, cut short, or more than `max_bytes`."""
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
    """A megabyte at a time: a bomb is noticed before it has gone off."""
    reader = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY)
    size = 0
    try:
        for data in packed:
            left = data
            while not reader.eof and (left or not reader.needs_input):
                chunk = reader.decompress(left, max_length=CHUNK)
                left = b""
                size += len(chunk)
                if size > max_bytes:
                    raise UserError(f"the packed state unpacks to more than {max_bytes >> 20} MiB", REMEDY)
                yield chunk
    except lzma.LZMAError as error:
        raise UserError(f"the packed state is damaged ({error})", REMEDY) from error
    if not reader.eof or reader.unused_data:
        raise UserError("the packed state is damaged (it is cut short, or something follows it)", REMEDY)
