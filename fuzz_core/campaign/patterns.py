"""Patterns of apis that a user asks for, matched with the apis of a build."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence

from rapidfuzz import process as nearest

from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.errors import UserError


def asked_apis(apis: Iterable[Api], patterns: Sequence[str]) -> set[str]:
    """Return the canonical names of the apis whose name or alias matches a pattern.

    Raises:
        UserError: no name of an api matches a pattern; the message has the nearest names.
    """
    listed = list(apis)
    canonical = {alias: api.name for api in listed for alias in api.aliases} | {api.name: api.name for api in listed}
    found = set[str]()
    for pattern in patterns:
        names = fnmatch.filter(canonical, pattern)
        if not names:
            close = ", ".join(match[0] for match in nearest.extract(pattern, sorted(canonical), limit=3))
            raise UserError(
                f"no api of this build matches {pattern!r}",
                f"the nearest names of this build: {close}; write one of them, or leave the pattern out",
            )
        found.update(canonical[name] for name in names)
    return found
