"""Text parts of reports: the call of a script, and text cut to a length. Every input is untrusted."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import NamedTuple

from markdown_it import MarkdownIt

BODY = 65_536
TITLE = 200
CALL = 120
SPAN = 400
# GitHub's renderer takes no code span with a fence of more than 80, and counts the fence of a block up to 255.
BACKTICKS = 40
_RUN = re.compile(f"`{{{BACKTICKS + 1},}}")
# Blocks are all that is asked for.
_BLOCKS = MarkdownIt("commonmark").disable(["inline"])
_LINE_END = re.compile(r"\r\n?|\n")
LONGEST = 20_000
# How long an argument in a title may be: all of it first, then ever less.
ARGUMENTS = (CALL, 50, 35, 20, 10)
_LEFT_OUT = ast.Name("…", ast.Load())
# Untrusted text can grow when it is escaped and fenced: then all of it is cut shorter.
SHARES = (1.0, 0.5, 0.2, 0.05)


def clean(text: str) -> str:
    """Return the text without control signs and bidirectional marks, which a reader does not see."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "\N{REPLACEMENT CHARACTER}" for sign in text)


def bounded(text: str, limit: int) -> str:
    """Return a line of at most `limit` characters."""
    line = " ".join(clean(text[: limit * 10]).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def clipped(text: str, limit: int) -> str:
    """Return head and tail of a text that is too long; a note between them says how much is left out."""
    text = text.strip()
    if len(text) <= limit:
        return text
    head, tail = text[: limit * 2 // 3], text[len(text) - limit // 3 :]
    return f"{head}\n… {len(text) - len(head) - len(tail)} characters left out …\n{tail}"


def fitting(render: Callable[[float], str], limit: int = BODY, size: Callable[[str], int] = len) -> str:
    """Return the longest rendering that GitHub takes; `render` is given the share of its limits to use."""
    bodies = (render(share) for share in SHARES)
    return next((body for body in bodies if size(body) <= limit), None) or clipped(render(SHARES[-1]), limit - 100)


def utf8(text: str) -> int:
    """Return how many bytes a text takes."""
    return len(text.encode("utf-8", "replace"))


def fence_for(text: str, shortest: int) -> tuple[str, str]:
    """Return the text, and backticks that hold it: more than any run inside.

    A run of very many is cut.
    """
    shown = _RUN.sub(f"{'`' * BACKTICKS}…", text)
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    return shown, "`" * max(shortest, longest + 1)


class CodeBlock(NamedTuple):
    """A fenced code block."""

    lines: range  # numbers of its lines from 0, fences included
    fence: str
    closed: bool  # whether text added below stands outside of the block; a quotation or list that ends closes its block


def code_blocks(markdown: str) -> list[CodeBlock]:
    """Return the fenced code blocks of a text (CommonMark 0.31, section 4.5), numbered by its `text_lines`."""
    lines, found = text_lines(markdown), []
    for token in _BLOCKS.parse(markdown):
        if token.type == "fence" and token.map is not None:
            last = lines[token.map[1] - 1].strip() if token.map[1] - token.map[0] > 1 else ""
            closed = token.level > 0 or (last.startswith(token.markup) and not last.strip(token.markup[0]))
            found.append(CodeBlock(range(*token.map), token.markup, closed))
    return found


def text_lines(markdown: str) -> list[str]:
    """Return the lines of a Markdown text, without line ends."""
    return _LINE_END.split(markdown)


def span(text: str) -> str:
    """Return a code span of one bounded line, for text that may hold backticks."""
    # Two adjacent empty spans would join their fences and hold the text between them.
    line, fence = fence_for(bounded(text, SPAN) or " ", 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def comment_text(script: str, label: str) -> str:
    """Return the text of a script's comment: `expected` or `observed`."""
    found = re.search(rf"^# {label}: (.*)$", script, re.MULTILINE)
    return found.group(1) if found else ""


def call_of(script: str, api: str, limit: int = CALL) -> str:
    """Return the call that a script is about, of at most `limit` characters.

    A mark stands for each argument that is too long.

    A call that is too long even so is its name with a mark in parentheses, however long the name is.
    """
    try:
        return _call_of(script, api, limit)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # A script from another job can be nested as deep as it likes.
        return f"{api}(…)"


def _call_of(script: str, api: str, limit: int) -> str:
    if len(script) > LONGEST:
        return f"{api}(…)"
    tree = ast.parse(script)
    left_out = ast.Import | ast.ImportFrom | ast.Assert
    body = [node for node in tree.body if not isinstance(node, left_out) and not _reports(node)]
    names: dict[str, ast.expr] = {}
    last = _walk(body, names)
    if last is None:
        return f"{api}(…)"
    inlined = _printed(_Inline(names).visit(last))
    cut = [_shortened(inlined, longest) for longest in ARGUMENTS]
    shorter = (ast.unparse(call) for call in (*cut, *map(_gathered, cut)))
    return next((call for call in shorter if len(call) <= limit), f"{api}(…)")


def _printed(call: ast.expr) -> ast.expr:
    """Return the expression inside a call of `print`, and any other expression as it is."""
    match call:
        case ast.Call(func=ast.Name(id="print"), args=[shown]):
            return shown
    return call


def _reports(node: ast.stmt) -> bool:
    """Return whether a statement prints the line of both results, or fails with it."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=[ast.NamedExpr()])) | ast.Raise():
            return True
    return False


def _shortened(call: ast.expr, limit: int) -> ast.expr:
    """Return the call, with a mark in the place of each argument that is longer."""
    if not isinstance(call, ast.Call):
        return call
    args = [arg if len(ast.unparse(arg)) <= limit else _LEFT_OUT for arg in call.args]
    keywords = [
        word if len(ast.unparse(word.value)) <= limit else ast.keyword(word.arg, _LEFT_OUT) for word in call.keywords
    ]
    return ast.Call(call.func, args, keywords)


def _gathered(call: ast.expr) -> ast.expr:
    """Return the call with one mark for all that is left out behind the first arguments.

    The mark stands for names of arguments, too.
    """
    if not isinstance(call, ast.Call):
        return call
    args = [arg for place, arg in enumerate(call.args) if arg is not _LEFT_OUT or arg not in call.args[:place]]
    keywords = [word for word in call.keywords if word.value is not _LEFT_OUT]
    is_marked = len(keywords) == len(call.keywords) or _LEFT_OUT in args
    return ast.Call(call.func, args if is_marked else [*args, _LEFT_OUT], keywords)


def _walk(body: list[ast.stmt], names: dict[str, ast.expr]) -> ast.expr | None:
    """Return the last expression of a block or of the function in it; `names` gets the assignments before."""
    last: ast.expr | None = None
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            last = _Inline(names).visit(_plain_object(node.value) if node.targets[0].id == "m" else node.value)
            # A value that is too long to show is not inlined: each name that is used twice would double it.
            names[node.targets[0].id] = last if len(ast.unparse(last)) <= CALL else _LEFT_OUT
        elif isinstance(node, ast.FunctionDef | ast.For):
            return _walk(node.body, names)
        elif isinstance(node, ast.Expr | ast.Return) and node.value is not None:
            last = node.value
    return last


class _Inline(ast.NodeTransformer):
    """Replaces a name by the value that was assigned to it."""

    def __init__(self, names: dict[str, ast.expr]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.names.get(node.id, node)


def _plain_object(made: ast.expr) -> ast.expr:
    """Return an object's construction without the conversion that a mode of a comparison has put behind it."""
    match made:
        case ast.Call(func=ast.Attribute(value=ast.Call() as plain, attr="to" | "double" | "float64")):
            return plain
        case ast.Call(func=ast.Call(func=ast.Name(id="getattr"), args=[plain, *_])):
            return plain
    return made


def one_line(script: str, limit: int) -> str | None:
    """Return the script as one line to paste behind `python -c`; None if it has blocks or is too long."""
    if len(script) > LONGEST:
        return None
    lines = [line for line in script.splitlines() if line.strip() and not line.startswith("#")]
    line = "; ".join(lines)
    whole = not any(text.startswith((" ", "def ", "for ", "with ")) for text in lines)
    return line if whole and len(line) <= limit else None
