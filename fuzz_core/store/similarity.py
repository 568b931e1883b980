"""How alike the definitions of apis are: Sim = 1 - Levenshtein / longer length (FreeFuzz, section 3.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from fuzz_core.store.base import digest_of, to_json, user_errors
from fuzz_core.store.store import Store

ONE = 65535
MAX_DEFINITION = 512


def similarity_rows(definitions: Mapping[str, str]) -> dict[str, bytes]:
    """Return the similarity of every api (by name, with its definition) to every other.

    The rows hold uint16, little-endian, 65535 for 1.0, in the order of sorted names. Definitions count up to 512
    characters.
    """
    names = sorted(definitions)
    texts = [definitions[name][:MAX_DEFINITION] for name in names]
    matrix = cdist(texts, texts, scorer=Levenshtein.normalized_similarity, dtype=np.float32)
    return {name: np.rint(row * ONE).astype("<u2").tobytes() for name, row in zip(names, matrix, strict=True)}


def refresh_similarity(store: Store, target: str) -> str:
    """Compute the similarity of a target's apis where the file has that of other definitions; return their digest.

    The file keeps that of one set of definitions.
    """
    definitions = {api.name: api.definition or api.name for api in store.apis(target)}
    digest = digest_of(to_json(definitions))
    if not store._rows("SELECT 1 FROM similarity WHERE definitions = ? LIMIT 1", digest):
        with store._transaction():
            store._db.execute("DELETE FROM similarity")
            store._insert_all("similarity", ((digest, *row) for row in similarity_rows(definitions).items()))
    return digest


def similarity(store: Store, target: str) -> Iterator[tuple[str, bytes]]:
    """Yield rows of `similarity_rows` for a target's apis, one at a time: all of them are tens of megabytes."""
    rows = "SELECT api, row FROM similarity WHERE definitions = ? ORDER BY api"
    with user_errors(store.path):
        yield from store._db.conn.execute(rows, (refresh_similarity(store, target),))
