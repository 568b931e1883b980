"""A state file small enough for a branch, and back: within bounds, since what is unpacked may come from anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from zstandard import ZstdCompressionParameters, ZstdCompressor, ZstdDecompressor, ZstdError, frame_content_size

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.state.place import STATE, TOO_LARGE, Files

# Targets of one library repeat each other: a window as large as this finds that. It is the largest that `zstd -d`
# takes without being asked, and what a reader needs of memory.
WINDOW_LOG = 27
LEVEL = 9
# GitHub warns from 50 MiB on and refuses files from 100 MiB on.
PART = 45 << 20
MAX_BYTES = 2 << 30
CHUNK = 1 << 20
REMEDY = "the copy that is kept aside may be mended; nightfuzz begins anew without it"


def pack(path: Path, name: str = STATE) -> dict[str, bytes]:
    """The file, compressed, as parts `state.db.zst`, `state.db.zst.1`, … that every place takes.

    Raises UserError for one that `unpack` would refuse.
    """
    if path.stat().st_size > MAX_BYTES:
        raise UserError(f"the state is larger than {MAX_BYTES >> 20} MiB", TOO_LARGE)
    packed = compressed(path.read_bytes())
    starts = range(0, len(packed), PART)
    return {_part(name, number): packed[start : start + PART] for number, start in enumerate(starts)}


def compressed(content: bytes) -> bytes:
    """One frame of Zstandard with its size and a checksum, as `expanded` reads it back."""
    settings = ZstdCompressionParameters.from_level(
        LEVEL, window_log=WINDOW_LOG, enable_ldm=True, write_checksum=True, write_content_size=True, threads=-1
    )
    return ZstdCompressor(compression_params=settings).compress(content)


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
    """A megabyte at a time, whatever the frame says of itself: a bomb is noticed before it has gone off."""
    size = 0
    try:
        whole = b"".join(packed)
        told = frame_content_size(whole)
        reader = ZstdDecompressor(max_window_size=1 << WINDOW_LOG).stream_reader(whole, read_across_frames=True)
        while chunk := reader.read(CHUNK):
            size += len(chunk)
            if size > max_bytes:
                raise UserError(f"the packed state unpacks to more than {max_bytes >> 20} MiB", REMEDY)
            yield chunk
    except ZstdError as error:
        raise UserError(f"the packed state is damaged ({error})", REMEDY) from error
    # A reader takes the end of what it is given for the end of the frame.
    if size != told:
        raise UserError("the packed state is damaged (it is cut short, or something follows it)", REMEDY)
