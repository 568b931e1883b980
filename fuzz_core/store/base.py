"""The connection under the tables' methods: transactions, rows, text and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from sqlite_utils import Database

from fuzz_core.store.faults import user_errors
from fuzz_core.store.rescue import gone, place_of, rescue


class Base:
    """An open state file.

    WAL with synchronous=NORMAL: what is committed survives a SIGKILL at any instant; a power failure may take the
    newest transactions but never damages the file.
    """

    def __init__(
        self, path: Path, db: Database, clock: Callable[[], datetime], on_close: Callable[[], None] = lambda: None
    ) -> None:
        self.path = path
        self._db = db
        self._clock = clock
        self._on_close = on_close
        self._inode = place_of(path)
        self._rescued = False
        # Names of parameters by target: read for every seed, changed by `save_apis` alone.
        self._known_params: dict[str, dict[str, list[str]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file and gives the lock back. Closing twice is fine."""
        self._db.close()
        self._on_close()

    def _now(self) -> str:
        return self._clock().isoformat(timespec="milliseconds")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with user_errors(self.path), self._db.atomic():
            yield
        self._check_still_there()

    def _check_still_there(self) -> None:
        """SQLite writes on into a file that was deleted, and nobody would ever see what. Raises UserError."""
        if not self._rescued and place_of(self.path) != self._inode:
            self._rescued = True
            raise gone(self.path, rescue(self.path, self._db))

    def _each(self, sql: str, *parameters: Any) -> Iterator[dict[str, Any]]:
        """Rows one by one, for results that are larger than what is made of them."""
        with user_errors(self.path):
            yield from self._db.query(sql, parameters)

    def _rows(self, sql: str, *parameters: Any) -> list[dict[str, Any]]:
        with user_errors(self.path):
            return list(self._db.query(sql, parameters))


def text(value: str) -> str:
    """Text that SQLite can store: lone surrogates (a worker may send them) become escapes."""
    return value.encode("utf-8", "backslashreplace").decode()


def to_json(value: Any) -> str:
    """Compact JSON with sorted keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
