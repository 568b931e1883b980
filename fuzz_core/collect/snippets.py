"""Code of examples as documentation writes it: prompts, results, values in comments, and text that does not compile."""

from __future__ import annotations

import ast
import doctest
import io
import re
import textwrap
import tokenize
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from fuzz_core.adapters.dialect import profile_of
from fuzz_core.adapters.library import Profile

_PROMPT = re.compile(r"^(?P<indent>\s*)(?P<mark>>>>>?|>>(?=\s)|\.\.\.)(?P<rest>.*)$")
_IPYTHON = re.compile(r"^(?P<indent>\s*)(?P<mark>In ?\[\d*\]:|\.{3,}:)(?P<rest>.*)$")
_IPYTHON_OUTPUT = re.compile(r"^\s*Out ?\[\d*\]:")
_DIRECTIVE = re.compile(r"\s*#\s*x?doctest:.*$", re.IGNORECASE)
# Parts of the compiler's messages about statements that lack further lines.
_OPEN_SIGNS = ("never closed", "indented block", "unterminated", "unexpected EOF")


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
    message = "" if error is None else str(error.msg)
    if not printed or not any(sign in message for sign in _OPEN_SIGNS):
        return source
    lines = printed.splitlines(keepends=True)
    if "unterminated string" in message:
        rejoined = source.rstrip("\n") + "\\n" + lines[0]
        return rejoined if syntax_error(rejoined) is None else source
    block = "indented block" in message
    whole = longer = source
    for line in lines:
        if block and not line[:1].isspace():
            break
        longer += line
        if syntax_error(longer) is None:
            whole = longer
            if not block:
                break
    return whole


_RESULT = re.compile(r"(?P<comment>#\s*)?(?:={1,3}|(?<!-)-{2})>|→|⇒")
_NAME = r"[`'\"]?(?P<name>[A-Za-z_]\w*)[`'\"]?"
_KIND = r"(?:(?:a|an|the)\s+)?(?:[\w.]+\s+)?(?:tensor|matrix|vector|scalar|array)?\s*"
_IS = re.compile(
    rf"^(?P<indent>\s*)#\s*(?:(?:input|output|the)\s+)?(?:tensor\s+)?{_NAME}\s+(?:is|=|:)\s*:?\s*{_KIND}(?P<rest>.*)$"
)
_SHAPE = re.compile(r"(?:(?:of|has|with)\s+)?shape:?\s*(?:=|is)?\s*(?P<shape>[\[(][\d,\s]*[\])])", re.IGNORECASE)
_ELIDED = re.compile(rf"^(?P<indent>\s*){_NAME}\s*=\s*(?:\.\.\.|<[^>]*>)\s*(?P<rest>.*)$")
_OPEN, _CLOSE = "([{", ")]}"


def remove_results(code: str) -> str:
    """Remove the results behind arrows, with brackets that continue on further lines."""
    lines = code.splitlines()
    kept: list[str] = []
    at = 0
    while at < len(lines):
        found = _RESULT.search(lines[at])
        if found is None or _in_string(lines[at][: found.start()]):
            kept.append(lines[at])
            at += 1
            continue
        kept.append(lines[at][: found.start()].rstrip())
        depth = _balance(lines[at][found.end() :])
        at += 1
        while depth > 0 and at < len(lines) and lines[at].strip():
            depth += _balance(lines[at])
            at += 1
    return "\n".join(kept)


def _in_string(before: str) -> bool:
    return before.count('"') % 2 == 1 or before.count("'") % 2 == 1


def _balance(text: str) -> int:
    return sum(text.count(mark) for mark in _OPEN) - sum(text.count(mark) for mark in _CLOSE)


def assign_commented_values(code: str, library: str) -> str:
    """Add an assignment for each value or shape of a name that a comment gives.

    The code must use the name. A library without a known tensor constructor gets no assignment.
    """
    profile = profile_of(library)
    if profile is None:
        return code
    lines = code.splitlines()
    for at, line in enumerate(lines):
        found = _IS.match(line) or _ELIDED.match(line)
        if found is None or not _used(found["name"], lines, at):
            continue
        value = _value(found["rest"], lines[at + 1 :], profile)
        if value:
            lines[at] = f"{found['indent']}{found['name']} = {value}"
    return "\n".join(lines)


def _used(name: str, lines: list[str], at: int) -> bool:
    word = re.compile(rf"\b{re.escape(name)}\b")
    return any(word.search(line.partition("#")[0]) for line in lines[at + 1 :])


def _value(rest: str, following: list[str], profile: Profile) -> str:
    """Return an expression for a comment's value: a literal, which may continue in the next comments, or a shape."""
    if shape := _SHAPE.search(rest):
        return f"{profile.ones}({shape['shape']})"
    text = rest.strip()
    for line in ["", *following]:
        text += " " + line.strip().lstrip("#").strip() if line else ""
        literal = _literal(text)
        if literal:
            return f"{profile.constant}({literal})"
        if _balance(text) <= 0 or (line and not line.lstrip().startswith("#")):
            break
    return ""


def _literal(text: str) -> str:
    """Return the longest start of the text, up to a closing bracket, that is a list, tuple or number."""
    if text[:1] not in tuple("[(-0123456789"):
        return ""
    ends = [index + 1 for index, mark in enumerate(text) if mark in _CLOSE] or [len(text)]
    return next((text[:end] for end in reversed(ends) if _is_data(text[:end])), "")


def _is_data(text: str) -> bool:
    try:
        return isinstance(ast.literal_eval(text), (list, tuple, int, float))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False


_HEADER = re.compile(r"expected an indented block after .* on line (\d+)")


class Salvaged(NamedTuple):
    """Code that compiles (possibly empty), and the number of statements that were dropped."""

    code: str
    dropped: int


def syntax_error(code: str) -> SyntaxError | None:
    """Return the error of compiling the code as a module, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(code, "<seed>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return SyntaxError(str(error) or type(error).__name__)
    return None


def salvage(text: str) -> Salvaged:
    """Drop broken statements one by one, and put `pass` into empty blocks."""
    lines = textwrap.dedent(text.expandtabs(4)).splitlines()
    dropped = 0
    for _ in range(3 * len(lines) + 3):
        error = syntax_error("\n".join(lines) + "\n")
        if error is None:
            return Salvaged("\n".join(lines).strip("\n"), dropped)
        if error.lineno is None:
            break
        at = min(max(error.lineno - 1, 0), len(lines) - 1)
        if header := _HEADER.search(str(error.msg)):
            _fill(lines, int(header[1]) - 1, at)
        else:
            _drop(lines, at)
            dropped += 1
    return Salvaged("", dropped + 1)


def _fill(lines: list[str], header: int, at: int) -> None:
    """Put `pass` into the block of a header.

    Args:
        at: the line of the compiler's error.
    """
    indent = lines[header][: len(lines[header]) - len(lines[header].lstrip())]
    lines.insert(at if at > header else len(lines), f"{indent}    pass")


def _drop(lines: list[str], at: int) -> None:
    """Empty the statement around a line."""
    while at and not lines[at].strip():
        at -= 1
    start, end = _statement(lines, at)
    lines[start:end] = [""]


def _statement(lines: list[str], at: int) -> tuple[int, int]:
    """Return the first line and the end of the logical line that holds this line."""
    start = 0
    while start <= at:
        end = start + _logical_length(lines[start:])
        if at < end:
            return start, end
        start = end
    return at, at + 1


def _logical_length(lines: list[str]) -> int:
    """Count the lines of the logical line that starts with the first; one if it never ends."""
    stream = io.StringIO(lines[0].lstrip() + "\n" + "\n".join(lines[1:]) + "\n")
    begun = False
    try:
        for token in tokenize.generate_tokens(stream.readline):
            if token.type == tokenize.NEWLINE or (token.type == tokenize.NL and not begun):
                return token.end[0] if token.end[1] else token.start[0]
            begun = begun or token.type not in (tokenize.COMMENT, tokenize.INDENT)
    except (tokenize.TokenError, SyntaxError):
        return 1
    return 1
