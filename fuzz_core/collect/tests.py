"""Developer tests: files of pytest and unittest, those inside wheels, and the test databases inside wheels."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from pathlib import Path

from fuzz_core.adapters.library import library_of
from fuzz_core.collect.files import provenance, read_python, walk
from fuzz_core.collect.helpers import Helpers
from fuzz_core.collect.seed import Request, Seed

_PATTERNS = ("test_*.py", "*_test.py")


def is_test_file(name: str) -> bool:
    """Return whether pytest collects a file of this name."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in _PATTERNS)


class TestsSource:
    """Source of a seed per test file and database entry."""

    __test__ = False

    def shipped(self, request: Request) -> Iterator[Seed]:
        """Yield database entries, then tests in wheels."""
        yield from (Seed("tests", name, code, "database") for name, code in request.database)
        for package in library_of(request.library).tested_packages:
            if package in request.packages:
                yield from _files(request.packages[package], request, f"{package} package")

    def own(self, request: Request) -> Iterator[Seed]:
        """Yield a seed per test file of the user's directories.

        A file with a syntax error or in an unknown encoding is a counted problem, and so is a directory without tests.

        Raises:
            UserError: a missing directory.
        """
        for root in request.tests_dirs:
            found = False
            for seed in _files(root, request, "tests"):
                found = True
                yield seed
            if not found:
                request.problems.append((str(root), f"holds no usable test files ({', '.join(_PATTERNS)})"))

    def examples(self) -> Sequence[Request]:
        """Return a database entry."""
        return (Request("torch", database=(("OpInfo add", "import torch\ntorch.add(torch.ones(2), 1)\n"),)),)


def _files(root: Path, request: Request, what: str) -> Iterator[Seed]:
    helpers = Helpers(root, {request.library, *request.packages})
    for path, relative in walk(root, is_test_file, what):
        read = read_python(path, request.problems)
        if read is not None:
            needs = helpers.digest(path, read[1], conftest=True)
            yield Seed("tests", provenance(root, relative), read[0], "tests", str(path.absolute()), relative, needs)
