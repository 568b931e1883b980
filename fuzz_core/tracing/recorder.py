"""Recorder of traced calls: deduplicated, capped, counted, and written at once."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Callable
from time import perf_counter
from typing import Any

from fuzz_core.ir.codec import encode
from fuzz_core.ir.errors import CodecError, Undescribable
from fuzz_core.ir.tree import outline
from fuzz_core.ir.values import Invocation
from fuzz_core.tracing.describe import Describer

UNIQUE_CAP = 256
CALL_CAP = 4000


class Recorder:
    """Writes one JSON line per new invocation: `{"call": invocation, "ok": did it return, "part": the test that runs}`.

    Calls of one api beyond 256 unique or 4,000 in all per seed are counted as dropped. Arguments that fit no
    description are counted by api and type.
    """

    def __init__(self, describer: Describer, write: Callable[[str], Any]) -> None:
        self.describer = describer
        self.write = write
        self.thread = threading.get_ident()
        self.busy = False
        self.seconds = 0.0
        self.calls: Counter[str] = Counter()
        self.unique: Counter[str] = Counter()
        self.undescribed: Counter[tuple[str, str]] = Counter()
        self.dropped: Counter[str] = Counter()
        self.seen: set[int] = set()

    def wants(self, api: str) -> bool:
        """Return whether to describe a call that begins now; false inside the recorder's work and on other threads."""
        if self.busy or threading.get_ident() != self.thread:
            return False
        self.calls[api] += 1
        if self.unique[api] >= UNIQUE_CAP or self.calls[api] > CALL_CAP:
            self.dropped[api] += 1
            return False
        return True

    def describe(self, api: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Invocation | None:
        """Return the description of a call before it happens (it may change its arguments), or None, counted."""
        began = perf_counter()
        self.busy = True
        try:
            describe = self.describer.describe
            return Invocation(api, tuple(map(describe, args)), tuple((k, describe(v)) for k, v in kwargs.items()))
        except Undescribable as reason:
            self.undescribed[api, str(reason)[:120]] += 1
        except Exception as error:  # noqa: BLE001 - a hostile __repr__ or property must not change the traced program
            self.undescribed[api, f"{type(error).__name__} while describing"] += 1
        finally:
            self.busy = False
            self.seconds += perf_counter() - began
        return None

    def keep(self, invocation: Invocation, ok: bool) -> None:
        """Write an invocation unless one that differs only in tensor elements was written before."""
        began = perf_counter()
        key = hash((outline(invocation), ok))
        if key not in self.seen:
            self.seen.add(key)
            self.unique[invocation.api] += 1
            try:
                told = {"call": encode(invocation), "ok": ok, "part": _test()}
                self.write(json.dumps(told) + "\n")
            except (CodecError, ValueError) as error:
                self.undescribed[invocation.api, f"{type(error).__name__} while writing"] += 1
        self.seconds += perf_counter() - began

    def summary(self) -> dict[str, Any]:
        """Return the counts at the end of a seed."""
        return {
            "undescribed": [[api, reason, count] for (api, reason), count in sorted(self.undescribed.items())],
            "dropped": sorted(self.dropped.items()),
            "calls": sum(self.calls.values()),
            "tracing_seconds": self.seconds,
        }


def _test() -> str:
    """Return the test that pytest reports as running; empty if there is none."""
    return os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[2].rpartition(" ")[0]
