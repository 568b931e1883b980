"""Functional similarity: (cosine of definitions + word correctness rate of parameters) / 2 (MoCo 2024, III-C)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process
from rapidfuzz.distance import Levenshtein

from fuzz_core.modelgen.moco.facts import Facts

KEPT = 40


class Encoder(Protocol):
    """A model that turns texts into embeddings."""

    model: str  # its name

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a row of unit length for each text.

        Raises:
            UserError: there is no answer.
        """


def with_similar(facts: Sequence[Facts], encoder: Encoder | None, kept: int = KEPT) -> list[Facts]:
    """Add to each api the `kept` most similar apis of its kind with a score above 0 and a working call.

    If there is no encoder, the share of words that two definitions have in common replaces the cosine.
    """
    # A parameter list as words: dtypes, or the name if the dtype is unknown.
    words = [[parameter.dtype or parameter.name for parameter in each.parameters] for each in facts]
    alike = _alike([each.definition for each in facts], encoder)
    works = [bool(each.inputs) for each in facts]
    done = []
    for row, each in enumerate(facts):
        rates = np.array([correctness(words[row], other) for other in words])
        scores = (alike[row] + rates) / 2
        order = [
            place
            for place in np.argsort(-scores, kind="stable")
            if works[place] and place != row and facts[place].kind == each.kind
        ]
        best = [place for place in order if scores[place] > 0][:kept]
        done.append(each.model_copy(update={"similar": {facts[k].api: round(float(scores[k]), 4) for k in best}}))
    return done


def correctness(reference: Sequence[str], hypothesis: Sequence[str]) -> float:
    """Return the word correctness rate: the share of the reference's words that an alignment finds."""
    if not reference:
        return 0.0 if hypothesis else 1.0
    wrong = sum(edit.tag != "insert" for edit in Levenshtein.editops(reference, hypothesis))
    return (len(reference) - wrong) / len(reference)


def _alike(texts: Sequence[str], encoder: Encoder | None) -> NDArray[np.float32]:
    """Return the similarity of each pair of texts, 0 if one of them is empty."""
    alike: NDArray[np.float32]
    if encoder is None:
        alike = (process.cdist(texts, texts, scorer=fuzz.token_set_ratio) / 100).astype(np.float32)
    else:
        rows = encoder(texts)
        alike = np.clip(rows @ rows.T, -1.0, 1.0)
    known = np.array([bool(text) for text in texts])
    return np.where(np.outer(known, known), alike, np.float32(0.0))
