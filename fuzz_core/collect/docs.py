"""Documentation: examples in the docstrings of public apis, and trees of HTML, reStructuredText and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fuzz_core.collect.files import provenance, read_text, walk
from fuzz_core.collect.forms import extract, extract_page
from fuzz_core.collect.names import PublicNames
from fuzz_core.collect.repair import repair
from fuzz_core.collect.snippets import Salvaged
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
