"""The apis that a user asks for by patterns, and the seeds that name one of them."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Iterable, Sequence

from rapidfuzz import process as nearest

from fuzz_core.collect.seed import Seed
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.errors import UserError

_WORD = re.compile(r"[^\W\d]\w*")


def matching(names: Iterable[str], patterns: Sequence[str], what: str) -> set[str]:
    """The names that match a pattern. Raises UserError for a pattern that none does; what: names them there."""
    known, found = sorted(set(names)), set[str]()
    for pattern in patterns:
        these = fnmatch.filter(known, pattern)
        if not these:
            close = ", ".join(match[0] for match in nearest.extract(pattern, known, limit=3))
            raise UserError(f"no {what} matches {pattern!r}", f"nearest: {close}")
        found.update(these)
    return found


def naming(seeds: Sequence[Seed], apis: Sequence[Api], patterns: Sequence[str]) -> list[Seed]:
    """The seeds whose code has the last part of a name of an api that is asked for, however it is spelled.

    `AlphaDropout` and `alpha_dropout` are one spelling: a layer calls the function of its name. An operator's method is
    called without its name, so that all seeds may have it, and what a helper file calls is not known. Raises as
    `matching` does.
    """
    asked = matching((api.name for api in apis), patterns, "api of this build")
    words = {name.rpartition(".")[2] for api in apis if api.name in asked for name in (api.name, *api.aliases)}
    if any(word.startswith("__") for word in words):
        return list(seeds)
    spelled = _plain(words)
    return [seed for seed in seeds if seed.needs or not spelled.isdisjoint(_plain(_WORD.findall(seed.code)))]


def _plain(words: Collection[str]) -> set[str]:
    return {word.replace("_", "").lower() for word in words}
