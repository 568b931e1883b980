"""Space files: the value space of one build, compressed, for machines that have not traced that build."""

from __future__ import annotations

import lzma
from collections.abc import Collection
from pathlib import Path

from fuzz_core.ir.errors import UserError
from fuzz_core.store.base import to_json
from fuzz_core.store.content import ORPHANS, table_of
from fuzz_core.store.statefile import open_store
from fuzz_core.store.store import Store

# A space file of torch 2.13.0 has 5 MB, and 40 MB unpacked.
MAX_PACKED, MAX_UNPACKED = 256 << 20, 1 << 30
# Memory that unpacking may take, in bytes.
MAX_MEMORY = 128 << 20
REMEDY = "get the file again, or write it again with `nightfuzz pack`"
_CHUNK = 1 << 20
_EPOCH = "1970-01-01T00:00:00+00:00"
_OF_SEEDS = "target = :target AND seed IN (SELECT digest FROM main.seeds)"
_OF_CALLS = "invocation IN (SELECT id FROM main.invocations)"
# The rows of the database `other` that a space file has, by table, parents first.
_ROWS = {
    "targets": "key = :target",
    "apis": "target = :target",
    "seeds": "target = :target AND digest IN (SELECT value FROM json_each(:seeds)) AND outcome_kind <> 'signal'",
    # The elements of a call that a seed of the user brings as well may be the user's.
    "invocations": """
        id IN (SELECT invocation FROM other.validity WHERE target = :target AND outcome_kind IN ('ok', 'exception'))
        AND id IN (SELECT invocation FROM other.provenance JOIN main.seeds ON digest = seed)
        AND id NOT IN (SELECT invocation FROM other.provenance WHERE seed NOT IN (SELECT value FROM json_each(:seeds)))
    """,
    "validity": f"target = :target AND {_OF_CALLS}",
    "provenance": f"{_OF_CALLS} AND seed IN (SELECT digest FROM main.seeds)",
    "arguments": f"id IN (SELECT argument FROM other.argument_values WHERE {_OF_CALLS})",
    "argument_values": _OF_CALLS,
    "undescribed": _OF_SEEDS,
    "dropped": _OF_SEEDS,
    "constraints": "target = :target",
}
# Columns that differ from machine to machine, or describe one, get fixed values in the file.
_SHOWN = {
    "targets": {"spec": "library || '==' || version", "python": "''", "info": "'{}'", "made_at": f"'{_EPOCH}'"},
    "seeds": {"reason": "''", "seconds": "0", "traced_at": f"'{_EPOCH}'"},
}


def pack(store: Store, target: str, seeds: Collection[str], file: Path) -> int:
    """Write the value space of a target to a space file: equal value spaces give equal bytes.

    The file holds apis, seeds, the calls that were valid or raised an exception when they were re-run, their arguments
    and constraints. The file holds no bug, no finding and no part of a user's own seeds.

    Args:
        seeds: digests of the seeds that everybody has who has the build.

    Returns:
        The number of calls in the file.

    Raises:
        UserError: the target has no calls.
    """
    plain = file.with_name(f"{file.name}.unpacked")
    try:
        calls = _write(store, target, seeds, plain)
        if not calls:
            raise UserError(
                f"the state has no checked call of {target} to pack", f"run `nightfuzz trace --target {target}` first"
            )
        _compress(plain, file)
    finally:
        for end in ("", ".lock", "-wal", "-shm"):
            plain.with_name(f"{plain.name}{end}").unlink(missing_ok=True)
    return calls


def take(store: Store, plain: Path) -> int:
    """Add the rows of an unpacked space file that the store does not have; return how many calls are new to a build.

    If the store has a row already, the store's row stays.
    """
    connection = store._db.conn
    connection.execute("ATTACH ? AS other", (str(plain),))
    try:
        with store._transaction():
            # A file of a stranger's makes no interpreter and no path known here.
            new = {name: connection.execute(_copy(name, "true")).rowcount for name in _ROWS}
    finally:
        connection.execute("DETACH other")
    return new["validity"]


def forget_foreign(store: Store) -> None:
    """Forget the builds that came from space files and are not on this machine: what is carried over from them stays.

    A build without an interpreter could be taken for the newest of its library.
    """
    foreign = "SELECT key FROM targets WHERE python = ''"
    with store._transaction():
        execute = store._db.conn.execute
        if not execute(foreign).fetchall():
            return
        execute(
            f"UPDATE targets SET info = json_remove(info, '$.since') WHERE json_extract(info, '$.since') IN ({foreign})"
        )
        of_builds = [name for name in _ROWS if "target" in table_of(name).stored]
        for name in of_builds:
            execute(f"DELETE FROM {name} WHERE target IN ({foreign})")
        for sql in ORPHANS:
            execute(sql)
        execute("DELETE FROM targets WHERE python = ''")


def _copy(name: str, where: str) -> str:
    """Return SQL that copies rows of a table from the database `other`, in the order in which they came."""
    table, shown = table_of(name), _SHOWN.get(name, {})
    values = {column: shown.get(column, column) for column in table.stored}
    return (
        f"INSERT OR IGNORE INTO main.{name} ({', '.join(values)}) SELECT {', '.join(values.values())}"
        f" FROM other.{name} WHERE {where} ORDER BY {'id' if table.numbered else ', '.join(table.key.split())}"
    )


def _write(store: Store, target: str, seeds: Collection[str], plain: Path) -> int:
    named = {"target": target, "seeds": to_json(sorted(seeds))}
    plain.unlink(missing_ok=True)
    with open_store(plain) as packed:
        connection = packed._db.conn
        connection.execute("ATTACH ? AS other", (str(store.path),))
        with packed._transaction():
            connection.execute("UPDATE main._sqlite_migrations SET applied_at = ?", (_EPOCH,))
            for name, where in _ROWS.items():
                connection.execute(_copy(name, where), named)
        (calls,) = connection.execute("SELECT COUNT(*) FROM main.invocations").fetchone()
        connection.execute("DETACH other")
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("VACUUM")
    return int(calls)


def _compress(plain: Path, file: Path) -> None:
    part = file.with_name(f"{file.name}.part")
    try:
        with plain.open("rb") as source, lzma.open(part, "wb", preset=6) as packed:
            while chunk := source.read(_CHUNK):
                packed.write(chunk)
        part.replace(file)
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror}", "name another file: --output FILE") from error
    finally:
        part.unlink(missing_ok=True)


def unpack(file: Path, plain: Path) -> None:
    """Write the state file that a space file holds to `plain`, without looking at what is in it.

    Raises:
        UserError: a file that cannot be read, is no space file, is damaged, or is larger than any space file.
    """
    try:
        if file.stat().st_size > MAX_PACKED:
            raise UserError(f"{file} is larger than {MAX_PACKED >> 20} MiB, the limit for a space file", REMEDY)
        with file.open("rb") as source, plain.open("wb") as out:
            decoder, left = lzma.LZMADecompressor(lzma.FORMAT_XZ, MAX_MEMORY), MAX_UNPACKED
            while not decoder.eof:
                chunk = source.read(_CHUNK) if decoder.needs_input else b""
                if decoder.needs_input and not chunk:
                    raise UserError(f"the space file {file} ends too early", REMEDY)
                data = decoder.decompress(chunk, _CHUNK)
                left -= len(data)
                if left < 0:
                    raise UserError(f"the space file {file} unpacks to more than {MAX_UNPACKED >> 20} MiB", REMEDY)
                out.write(data)
    except lzma.LZMAError as error:
        raise UserError(f"{file} is not a space file, or is damaged ({error})", REMEDY) from error
    except OSError as error:
        raise UserError(f"{error.filename or file} cannot be read or written: {error.strerror}", REMEDY) from error
