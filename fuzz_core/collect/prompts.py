"""Code of interactive sessions (`>>>` and `...`)."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator

from fuzz_core.collect.salvage import syntax_error

_PROMPT = re.compile(r"^(?P<indent>\s*)(?P<mark>>>>>?|>>(?=\s)|\.\.\.)(?P<rest>.*)$")
_IPYTHON = re.compile(r"^(?P<indent>\s*)(?P<mark>In ?\[\d*\]:|\.{3,}:)(?P<rest>.*)$")
_IPYTHON_OUTPUT = re.compile(r"^\s*Out ?\[\d*\]:")
_DIRECTIVE = re.compile(r"\s*#\s*x?doctest:.*$", re.IGNORECASE)


def has_prompts(text: str) -> bool:
    """Return whether any line starts with a primary prompt, Python's or IPython's."""
    marks = (_IPYTHON.match(line) or _PROMPT.match(line) for line in text.splitlines())
    return any(mark is not None and not mark["mark"].startswith("..") for mark in marks)


def remove_prompts(text: str) -> str:
    """Return the code of a session without prompts, directives and output.

    Every statement is kept, those marked `+SKIP` too. Lines that lack a continuation prompt are recovered if the
    statement before them is incomplete.
    """
    session = "\n".join(_aligned(text))
    examples = doctest.DocTestParser().get_examples(session)
    return "".join(_complete(example.source, example.want) for example in examples)


def _aligned(text: str) -> Iterator[str]:
    """Yield the lines with each prompt in column 0 and a blank after it, as the parser wants them."""
    indent = ""
    for raw in text.expandtabs(4).replace("\N{NO-BREAK SPACE}", " ").splitlines():
        line = _IPYTHON_OUTPUT.sub("", raw)
        match = _IPYTHON.match(line) or _PROMPT.match(line)
        if match is None:
            yield line.removeprefix(indent)
            continue
        indent = match["indent"]
        rest = _DIRECTIVE.sub("", match["rest"]).rstrip()
        mark = "..." if match["mark"].startswith("..") else ">>>"
        yield mark if not rest else f"{mark}{'' if rest.startswith(' ') else ' '}{rest}"


def _complete(source: str, printed: str) -> str:
    """Return the statement with as many of the following lines as it needs to compile."""
    error = syntax_error(source)
    if error is None or not printed or not _is_open(error):
        return source
    lines = printed.splitlines(keepends=True)
    if "unterminated string" in str(error.msg):
        rejoined = source.rstrip("\n") + "\\n" + lines[0]
        return rejoined if syntax_error(rejoined) is None else source
    block = "indented block" in str(error.msg)
    whole = None
    for count in range(1, len(lines) + 1):
        if block and not lines[count - 1][:1].isspace():
            break
        longer = source + "".join(lines[:count])
        if syntax_error(longer) is None:
            whole = longer
            if not block:
                break
    return source if whole is None else whole


def _is_open(error: SyntaxError) -> bool:
    message = str(error.msg)
    return any(sign in message for sign in ("never closed", "indented block", "unterminated", "unexpected EOF"))
