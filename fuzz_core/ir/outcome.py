"""The outcome of one execution, the reason in its message, and the verdict of an oracle."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from fuzz_core.ir.errors import CodecError

_MARK = "compiler: "
_MAX_LINE = 300
_ESCAPE = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
_ERROR = re.compile(r"^(?P<file>[^\s:]+):\d+(?::\d+)?: (?:fatal )?error: (?P<said>.+)$", re.MULTILINE)
# Texts that a library writes before the reason of a failure, and heads of its log lines.
_REASON = re.compile(r"Failed reason:|\[Reason\]:|^Reason:", re.MULTILINE)
_LOG_HEAD = re.compile(r"\[[a-z] \d{4} [\d:.]{8,20} \d+(?::[A-Z]\d+)? [\w.]+:\d+\] ?")
KINDS = ("ok", "exception", "signal", "timeout", "oom", "exit", "skipped")


class Outcome(NamedTuple):
    """The result of one execution; never a judgement."""

    # Ok, exception, signal, timeout, oom, exit (the process ended by itself), skipped (the mode does not apply).
    kind: str
    name: str = ""  # exception class, signal name or exit code; for `ok`, the excuse of a difference
    # Bounded message, or the tail of stderr for a signal; for `ok`, the difference from another mode's result.
    text: str = ""
    frames: tuple[str, ...] = ()  # innermost native or Python frames, outermost last
    seconds: float = 0.0  # wall time of the call

    @classmethod
    def from_json(cls, data: Any) -> Outcome:
        """Read back what JSON makes of an outcome: a list.

        Raises:
            CodecError: the data comes from untrusted code.
        """
        match data:
            case [str(kind), str(name), str(text), list(frames), (int() | float()) as seconds] if kind in KINDS:
                return cls(kind, name, text, tuple(map(str, frames)), float(seconds))
        raise CodecError(f"not an outcome: {str(data)[:200]}")


class Verdict(NamedTuple):
    """An oracle's judgement."""

    oracle: str
    kind: str  # clean, or one of `oracles.kinds`
    detail: str = ""  # `MODE: what was seen`

    @property
    def clean(self) -> bool:
        """Whether there is no fault to report."""
        return self.kind == "clean"

    @property
    def mode(self) -> str:
        """The mode that it is about."""
        return self.detail.partition(":")[0]


def with_complaint(text: str, output: str) -> str:
    """Return a message after the first error that the last compilation printed.

    Without an error in the output, the message is as it was.
    """
    errors = list(_ERROR.finditer(_ESCAPE.sub("", output)))
    if not errors:
        return text
    first = next(each for each in errors if each.group("file") == errors[-1].group("file"))
    return f"{_MARK}{first.group('said')[:_MAX_LINE]}\n{text}"


def complaint_in(text: str) -> str:
    """Return the error that was put before a message; empty where there is none."""
    line, _, _ = text.partition("\n")
    return line if line.startswith(_MARK) else ""


def announced(text: str) -> str:
    """Return the part of a message after the last words that announce a reason; without them, the whole message."""
    return _REASON.split(text)[-1]


def reason_of(text: str) -> str:
    """Extract the reason from a message, without log heads.

    The reason is the compiler's complaint, or the text after the words that announce a reason, or the whole message.
    """
    return complaint_in(text) or _LOG_HEAD.sub("", _ESCAPE.sub("", announced(text)))
