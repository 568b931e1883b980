"""Code in HTML pages, as documentation generators write it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from bs4 import BeautifulSoup, Tag

from fuzz_core.collect.forms import Chunk, Extracted, is_program, join
from fuzz_core.collect.prompts import has_prompts, remove_prompts

_OTHER = re.compile(
    r"^(?:highlight|lang|language|brush)[-:]?\s?"
    r"(?:bash|sh|shell|console|text|none|c|c\+\+|cpp|cuda|java|javascript|js|json|yaml|toml|ini|cmake|html|xml|diff|"
    r"rust|go|swift|kotlin|objc|objective-c|proto|protobuf|dockerfile|makefile|output|plain|powershell|r|sql)$",
    re.IGNORECASE,
)
_PYTHON = re.compile(r"^(?:highlight|lang|language|brush)?[-:]?\s?(?:python3?|py|ipython3?|pycon|default|doctest)$")
_NO_CODE = re.compile(r"^(?:output|output_area|output_text|stdout|stderr|devsite-disabled|nboutput|cell_output)\b")
_DECORATION = "span.linenos, td.linenos, .linenodiv, .line-numbers, a.headerlink, button"
_PRINTED = "span.go, span.gt, samp"


def extract_page(html: str, library: str = "") -> Extracted:
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
        declared = any(_PYTHON.match(name) for name in classes)
        code = inspect.cleandoc("\n" + _typed(block))
        if has_prompts(code):
            yield Chunk(remove_prompts(code), True)
        elif code and (declared or is_program(code)):
            yield Chunk(code, declared)


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
