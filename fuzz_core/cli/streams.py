"""Standard output and standard error in any encoding, and after their reader has left."""

from __future__ import annotations

import codecs
import os
import sys
from io import TextIOWrapper

# Signs of ours that an encoding may lack, in ASCII. Signs from a library are escaped.
_PLAIN = {"…": "...", "→": "->", "≥": ">=", "≤": "<=", "\N{MINUS SIGN}": "-", "\N{REPLACEMENT CHARACTER}": "?"}
_HANDLER = "nightfuzz.plain"


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """Spell the signs that an encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    spelt = (_PLAIN.get(sign) or sign.encode("ascii", "backslashreplace").decode() for sign in found)
    return "".join(spelt), error.end


def open_output() -> None:
    """Let both streams take every text in any encoding."""
    codecs.register_error(_HANDLER, _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=_HANDLER)


def close_output() -> bool:
    """Write what is still held back.

    Returns:
        Whether standard output took it, or its reader had seen enough.
    """
    try:
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
    except OSError:
        # Python would try once more at its end, and print a traceback.
        discard_output()
        return False
    return True


def discard_output() -> None:
    """Discard further output: standard output has no reader any more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def printable(text: object) -> str:
    """Return the text without what a terminal would obey: names and messages come from untrusted code."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "\N{REPLACEMENT CHARACTER}" for sign in str(text))
