"""A type for secrets that never shows them, and a scrubber for foreign texts (logs, exceptions)."""

from __future__ import annotations

import logging
import re
import threading
import traceback
from typing import Any, NoReturn

HIDDEN = "***"
# The shapes of GitHub's tokens, signed requests and private keys, so that unknown secrets are found as well.
_SHAPES = re.compile(
    r"\bgh[a-z]_[A-Za-z0-9_-]{16,}|\bgithub_pat_[A-Za-z0-9_]{16,}|\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_SHORTEST = 8
_known: set[str] = set()
_lock = threading.Lock()


class Secret:
    """A text that is neither shown, compared, formatted nor pickled by accident; `reveal` gives it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text
        with _lock:
            parts = (text, *text.splitlines())
            _known.update(part for part in parts if len(part) >= _SHORTEST and not part.startswith("-----"))

    def reveal(self) -> str:
        """Return the text itself, for the one place that sends it."""
        return self._text

    def __repr__(self) -> str:
        return f"Secret({HIDDEN})"

    def __str__(self) -> str:
        return HIDDEN

    def __format__(self, specification: str) -> str:
        return HIDDEN

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not pickled")


def scrub(text: str) -> str:
    """Return the text without the secrets that this process knows, and without texts that look like a secret."""
    with _lock:
        known = sorted(_known, key=len, reverse=True)
    text = _SHAPES.sub(HIDDEN, text)
    for each in known:
        text = text.replace(each, HIDDEN)
    return text


class ScrubbedRecord(logging.LogRecord):
    """A log record that holds no secret, whoever logs: PyGithub logs whole answers, and one of them is a token."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.msg, self.args = scrub(super().getMessage()), None
        if self.exc_info and self.exc_info[0]:
            self.exc_text = scrub("".join(traceback.format_exception(*self.exc_info)).rstrip("\n"))
            self.exc_info = None


def scrub_logs() -> None:
    """Scrub every log record of this process from now on."""
    logging.setLogRecordFactory(ScrubbedRecord)
