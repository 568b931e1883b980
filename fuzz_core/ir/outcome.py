"""What one execution did, and what an oracle thinks of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from fuzz_core.ir.errors import CodecError

KINDS = ("ok", "exception", "signal", "timeout", "oom", "exit", "skipped")


class Outcome(NamedTuple):
    """What one execution did; never a judgement.

    kind: ok, exception, signal, timeout, oom, exit (the process ended by itself), skipped (the mode does not apply).
    name: exception class, signal name or exit code; of `ok`, why a difference is no fault.
    text: bounded message, or the tail of stderr for a signal; of `ok`, how the result differs from another mode's.
    frames: innermost native or Python frames, outermost last. seconds: wall time of the call.
    """

    kind: str
    name: str = ""
    text: str = ""
    frames: tuple[str, ...] = ()
    seconds: float = 0.0

    @classmethod
    def from_json(cls, data: Any) -> Outcome:
        """Reads back what JSON makes of an outcome: a list. Raises CodecError: the data comes from untrusted code."""
        match data:
            case [str(kind), str(name), str(text), list(frames), (int() | float()) as seconds] if kind in KINDS:
                return cls(kind, name, text, tuple(map(str, frames)), float(seconds))
        raise CodecError(f"not an outcome: {str(data)[:200]}")


class Verdict(NamedTuple):
    """An oracle's judgement. kind: clean, or one of `oracles.kinds`."""

    oracle: str
    kind: str
    detail: str = ""

    @property
    def clean(self) -> bool:
        """True where there is nothing to report."""
        return self.kind == "clean"
