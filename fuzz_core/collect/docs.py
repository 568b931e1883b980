"""Documentation: examples in docstrings of public apis, in HTML, reStructuredText and Markdown, and their forms."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bs4 import BeautifulSoup, Tag

from fuzz_core.collect.files import provenance, read_text, walk
from fuzz_core.collect.names import PublicNames
from fuzz_core.collect.repair import repair
from fuzz_core.collect.snippets import (
    Salvaged,
    assign_commented_values,
    has_prompts,
    remove_prompts,
    remove_results,
    salvage,
    syntax_error,
)
from fuzz_core.collect.sources import Request, Seed, first_of_each
from fuzz_core.ir.catalogue import Api

_PAGES = (".html", ".htm", ".xhtml")
_TEXTS = (".rst", ".rst.txt", ".md", ".markdown")


class DocsSource:
    """Source of a seed per docstring and file: its examples in order, with their missing imports."""

    def own(self, request: Request) -> Iterator[Seed]:
        """Yield a seed per file of the user's directories.

        Raises:
            UserError: a missing directory.
        """
        yield from self._trees(request.docs_dirs, request, PublicNames(request.library, request.apis))

    def shipped(self, request: Request) -> Iterator[Seed]:
        """Yield docstrings in the order of the apis, then files in the library's packages.

        Packages ship a page in several languages or stages: pages with the same code are one seed.
        """
        names = PublicNames(request.library, request.apis)
        yield from self._docstrings(request, names)
        yield from first_of_each(self._trees(list(request.packages.values()), request, names), "code")

    def _docstrings(self, request: Request, names: PublicNames) -> Iterator[Seed]:
        for api in request.apis:
            name = f"{api.name} docstring"
            code = _repaired(extract(api.doc, request.library), names, api, name, request)
            if code:
                yield Seed("docs", name, code, "snippet")

    def _trees(self, roots: Sequence[Path], request: Request, names: PublicNames) -> Iterator[Seed]:
        for root in roots:
            for path, relative in walk(root, lambda name: name.lower().endswith(_PAGES + _TEXTS), "documentation"):
                text = read_text(path, request.problems)
                if text is None:
                    continue
                read = extract_page if path.suffix.lower() in _PAGES else extract
                code = _repaired(read(text, request.library), names, None, str(path), request)
                if code:
                    yield Seed("docs", provenance(root, relative), code, "snippet", str(path), relative)


def _repaired(found: Salvaged, names: PublicNames, api: Api | None, where: str, request: Request) -> str:
    """Return the examples with their imports; empty if there are none.

    Dropped statements count as a problem.
    """
    if found.dropped:
        request.problems.append((where, f"statements that are not Python, left out: {found.dropped}"))
    return repair(found.code, names, api).code + "\n" if found.code else ""


_PYTHON = frozenset({"", "python", "python3", "py", "py3", "pycon", "ipython", "ipython3", "default", "doctest"})
_FENCE = re.compile(r"^(?P<indent>\s*)(?P<marks>`{3,}|~{3,})\s*\{?\.?(?P<language>[\w+-]*)[^`]*$")
_DIRECTIVE = re.compile(r"^(?P<indent>\s*)\.\.\s+(?P<name>[\w:-]+)::\s*(?P<argument>.*)$")
_CODE_DIRECTIVES = frozenset({"code-block", "code", "sourcecode", "ipython", "jupyter-execute"})
_TEST_DIRECTIVES = frozenset({"testcode", "testsetup", "doctest"})
_OPTION = re.compile(r"^\s*:[\w-]+:")
_USAGE = re.compile(r"^\s*(?:\w+ )?(?:usage|examples?|for (?:example|instance)|sample code)\b.*:\s*$", re.IGNORECASE)


class Chunk(NamedTuple):
    """Code as it stood in a text."""

    code: str
    declared: bool  # the text says that it is Python, by a prompt or a language


class Form(NamedTuple):
    """A form: the line after it, its text (empty if there is none), and what says that it is code."""

    end: int
    text: str = ""
    declared: bool = False  # the text says that it is Python, by a prompt or a language
    shown: bool = False  # a fence or a directive says that it is code


def extract(text: str, library: str = "") -> Salvaged:
    """Return the examples of a docstring or text as one program, each repaired by itself."""
    return join(chunks(text), library)


def join(pieces: Iterable[Chunk], library: str = "") -> Salvaged:
    """Return pieces of code as one program.

    A piece that is not declared as Python is left out if most of its statements are broken.
    """
    parts: list[str] = []
    dropped = 0
    for chunk in pieces:
        code = chunk.code if syntax_error(chunk.code) is None else remove_results(chunk.code)
        mended = salvage(assign_commented_values(code, library))
        statements = _statements(mended.code, chunk.declared)
        if not statements or (not chunk.declared and mended.dropped > statements):
            continue
        parts.append(mended.code)
        dropped += mended.dropped
    return Salvaged("\n".join(parts), dropped)


def chunks(text: str) -> Iterator[Chunk]:
    """Yield the pieces of code in a text in their order, without prompts; they may be broken."""
    lines = inspect.cleandoc(text.expandtabs(4)).splitlines()
    at = 0
    while at < len(lines):
        form = _next(lines, at)
        at = form.end
        yield from _chunk(*form[1:])


def _chunk(text: str, declared: bool, shown: bool) -> Iterator[Chunk]:
    """Yield the code of a text, unless it is neither shown as code nor looks like it."""
    code = inspect.cleandoc("\n" + text)
    if has_prompts(code):
        yield Chunk(remove_prompts(code), True)
    elif code and (shown or is_program(code)):
        yield Chunk(code, declared)


def _next(lines: list[str], at: int) -> Form:
    """Read the form that starts at a line."""
    line = lines[at]
    if fence := _FENCE.match(line):
        return _fenced(lines, at, fence)
    if directive := _DIRECTIVE.match(line):
        return _directed(lines, at, directive)
    if has_prompts(line):
        return _session(lines, at)
    if line.rstrip().endswith("::") or _USAGE.match(line):
        end = _bare_end(lines, at)
        return Form(max(end, at + 1), "\n".join(lines[at + 1 : end]))
    return Form(at + 1)


def _fenced(lines: list[str], at: int, fence: re.Match[str]) -> Form:
    marks = fence["marks"]
    closing = re.compile(rf"^\s*{marks[0]}{{{len(marks)},}}\s*$")
    end = next((index for index in range(at + 1, len(lines)) if closing.match(lines[index])), None)
    if end is None:
        end = _block_end(lines, at + 1, len(fence["indent"]) - 1)
    language = fence["language"].lower()
    body = "\n".join(lines[at + 1 : end])
    return Form(end + 1, body if language in _PYTHON else "", bool(language), True)


def _directed(lines: list[str], at: int, directive: re.Match[str]) -> Form:
    """Read a directive's block: code of code directives; other blocks are read line by line, but for formulas."""
    name, language = directive["name"].lower(), directive["argument"].strip().lower()
    end = _block_end(lines, at + 1, len(directive["indent"]))
    if name in _TEST_DIRECTIVES or (name in _CODE_DIRECTIVES and language in _PYTHON):
        body = [line for line in lines[at + 1 : end] if not _OPTION.match(line)]
        return Form(end, "\n".join(body), bool(language) or name in _TEST_DIRECTIVES, True)
    return Form(end if name in _CODE_DIRECTIVES or name == "math" else at + 1)


def _session(lines: list[str], at: int) -> Form:
    """Read the lines of a session and its output, up to a blank line."""
    end = at + 1
    while end < len(lines) and lines[end].strip() and not _FENCE.match(lines[end]):
        end += 1
    return Form(end, "\n".join(lines[at:end]), True, True)


def _bare_end(lines: list[str], at: int) -> int:
    """Return the end of the bare code that a line announces: the end of its block, or the start of another form in it.

    The indentation of a docstring's first line is lost: if the next line has no more, all further lines are its block.
    """
    following = next((line for line in lines[at + 1 :] if line.strip()), "")
    depth = _depth(lines[at]) if at or _depth(following) else -1
    end = _block_end(lines, at + 1, depth)
    return next((index for index in range(at + 1, end) if _starts_form(lines[index])), end)


def _block_end(lines: list[str], start: int, depth: int) -> int:
    """Return the line after a block of lines deeper than this; blank lines belong to the block."""
    end = start
    while end < len(lines) and (not lines[end].strip() or _depth(lines[end]) > depth):
        end += 1
    return end


def _starts_form(line: str) -> bool:
    return bool(_FENCE.match(line) or _DIRECTIVE.match(line)) or has_prompts(line)


def is_program(code: str) -> bool:
    """Return whether undeclared text is code and no formula or drawing: it compiles and contains a call."""
    return syntax_error(code) is None and any(isinstance(node, ast.Call) for node in ast.walk(ast.parse(code)))


def _statements(code: str, declared: bool) -> int:
    """Count the statements.

    Data that is shown and not used counts as none.
    """
    tree = ast.parse(code)
    if not declared and not any(isinstance(node, (ast.Call, ast.Assign)) for node in ast.walk(tree)):
        return 0
    return sum(not isinstance(statement, ast.Pass) for statement in tree.body)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


_OTHER = re.compile(
    r"^(?:highlight|lang|language|brush)[-:]?\s?"
    r"(?:bash|sh|shell|console|text|none|c|c\+\+|cpp|cuda|java|javascript|js|json|yaml|toml|ini|cmake|html|xml|diff|"
    r"rust|go|swift|kotlin|objc|objective-c|proto|protobuf|dockerfile|makefile|output|plain|powershell|r|sql)$",
    re.IGNORECASE,
)
_DECLARED = re.compile(r"^(?:highlight|lang|language|brush)?[-:]?\s?(?:python3?|py|ipython3?|pycon|default|doctest)$")
_NO_CODE = re.compile(r"^(?:output|output_area|output_text|stdout|stderr|devsite-disabled|nboutput|cell_output)\b")
_DECORATION = "span.linenos, td.linenos, .linenodiv, .line-numbers, a.headerlink, button"
_PRINTED = "span.go, span.gt, samp"


def extract_page(html: str, library: str = "") -> Salvaged:
    """Return the examples of an HTML page as one program, without prompts, line numbers and output."""
    return join(page_chunks(html), library)


def page_chunks(html: str) -> Iterator[Chunk]:
    """Yield the pieces of code of a page in their order: each `<pre>` that is not output or another language."""
    soup = BeautifulSoup(html, "html.parser")
    for mark in soup.select(_DECORATION):
        mark.decompose()
    for block in soup.find_all("pre"):
        classes = [name for tag in (block, *block.parents, *block.find_all("code")) for name in _classes(tag)]
        if any(_OTHER.match(name) or _NO_CODE.match(name) for name in classes):
            continue
        declared = any(_DECLARED.match(name) for name in classes)
        yield from _chunk(_typed(block), declared, declared)


def _classes(tag: Tag) -> list[str]:
    found = tag.get("class")
    return found.split() if isinstance(found, str) else [str(name) for name in found or ()]


def _typed(block: Tag) -> str:
    """Return a block's text without output.

    Prompts separate code from output; without prompts, the markup does.
    """
    for line in block.select("[data-terminal-prefix]"):
        line.insert(0, str(line["data-terminal-prefix"]).rstrip() + " ")
    if not has_prompts(block.get_text()):
        for mark in block.select(_PRINTED):
            mark.decompose()
    return block.get_text()
