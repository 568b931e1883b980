"""Seeds by the apis that their text names: the ones that a user asks for, and the ones that promise most."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence

from fuzz_core.campaign.patterns import asked_apis
from fuzz_core.collect.sources import Seed
from fuzz_core.ir.catalogue import Api

_WORD = re.compile(r"[^\W\d]\w*")


def seeds_naming(seeds: Sequence[Seed], apis: Sequence[Api], patterns: Sequence[str]) -> list[Seed]:
    """Return the seeds whose code has the last part of a name of an api that is asked for, however it is spelled.

    `AlphaDropout` and `alpha_dropout` are one spelling: a layer calls the function of its name. An operator's method is
    called without its name, so that all seeds may have it. The calls of a helper file are not known.

    Raises:
        UserError: as `asked_apis`.
    """
    asked = asked_apis(apis, patterns)
    words = {word for api in apis if api.name in asked for word in _last_parts(api)}
    if any(word.startswith("__") for word in words):
        return list(seeds)
    spelled = _plain(words)
    return [seed for seed in seeds if seed.needs or not spelled.isdisjoint(_words(seed))]


def by_promise(
    seeds: Sequence[Seed], apis: Sequence[Api], called: Collection[str], own: Collection[str] = ()
) -> list[Seed]:
    """Return the seeds, those first that name most apis without a call in the least text.

    A name that many seeds have is shared among them. Longer text takes more time to run.

    Args:
        called: the apis that have a call.
        own: digests of the user's own seeds, which come before all others.
    """
    wanted = Counter(word for api in apis if api.name not in called for word in _plain(_last_parts(api)))
    words = [_words(seed) for seed in seeds]
    seen = Counter(word for each in words for word in each)

    def order(place: int) -> tuple[bool, float]:
        seed = seeds[place]
        promise = sum(wanted[word] / seen[word] for word in words[place])
        return seed.digest not in own, -promise / max(len(seed.code), 1)

    return [seeds[place] for place in sorted(range(len(seeds)), key=order)]


def _last_parts(api: Api) -> set[str]:
    return {name.rpartition(".")[2] for name in (api.name, *api.aliases)}


def _words(seed: Seed) -> set[str]:
    return _plain(_WORD.findall(seed.code))


def _plain(words: Collection[str]) -> set[str]:
    return {word.replace("_", "").lower() for word in words}
