"""Why a call failed, in a message that says more: what a compiler says of code, what is announced as the reason."""

from __future__ import annotations

import re

_MARK = "compiler: "
_MAX_LINE = 300
_ESCAPE = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
_ERROR = re.compile(r"^(?P<file>[^\s:]+):\d+(?::\d+)?: (?:fatal )?error: (?P<said>.+)$", re.MULTILINE)
# What a library writes before the reason of a failure, and its log before what it logs.
_REASON = re.compile(r"Failed reason:|\[Reason\]:|^Reason:", re.MULTILINE)
_LOG_HEAD = re.compile(r"\[[a-z] \d{4} [\d:.]{8,20} \d+(?::[A-Z]\d+)? [\w.]+:\d+\] ?")


def with_complaint(text: str, output: str) -> str:
    """A message with the first error of the last compilation in the output put before it; as it is without any."""
    errors = list(_ERROR.finditer(_ESCAPE.sub("", output)))
    if not errors:
        return text
    first = next(each for each in errors if each.group("file") == errors[-1].group("file"))
    return f"{_MARK}{first.group('said')[:_MAX_LINE]}\n{text}"


def complaint_in(text: str) -> str:
    """The error that was put before a message; empty where there is none."""
    line, _, _ = text.partition("\n")
    return line if line.startswith(_MARK) else ""


def reason_of(text: str) -> str:
    """What a compiler complains of; else what follows the words that announce a reason, or all, without log heads."""
    return complaint_in(text) or _LOG_HEAD.sub("", _ESCAPE.sub("", _REASON.split(text)[-1]))
