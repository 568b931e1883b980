"""How alike the definitions of apis are: Sim = 1 - Levenshtein / longer length (FreeFuzz, section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from fuzz_core.store.base import text, to_json
from fuzz_core.store.store import Store

ONE = 65535
MAX_DEFINITION = 512
CHUNK = 256


def similarity_rows(definitions: Mapping[str, str]) -> dict[str, bytes]:
    """The similarity of every api (by name, with its definition) to every other.

    Each row holds uint16, little-endian, 65535 for 1.0, in the order of sorted names. Definitions count up to 512
    characters.
    """
    names = sorted(definitions)
    texts = [definitions[name][:MAX_DEFINITION] for name in names]
    matrix = np.empty((len(names), len(names)), dtype="<u2")
    for start in range(0, len(names), CHUNK):
        end = start + CHUNK
        part = cdist(texts[start:end], texts[start:], scorer=Levenshtein.normalized_similarity, dtype=np.float32)
        fixed = np.rint(part * ONE)
        matrix[start:end, start:] = fixed
        matrix[start:, start:end] = fixed.T
    return {name: row.tobytes() for name, row in zip(names, matrix, strict=True)}


def refresh_similarity(store: Store, target: str) -> bool:
    """Computes and saves the similarity of a target's apis where their definitions have changed; says whether."""
    definitions = {api.name: api.definition or api.name for api in store.apis(target)}
    digest = blake2b(text(to_json(definitions)).encode(), digest_size=16).hexdigest()
    if store.similarity_of(target) == digest:
        return False
    store.save_similarity(target, digest, similarity_rows(definitions))
    return True
