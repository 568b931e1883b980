"""Developer tests and model programs: of any directory, and those that come with nightfuzz, wheels and packages."""

from __future__ import annotations

import ast
import fnmatch
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from fuzz_core.adapters.library import library_of
from fuzz_core.collect.files import Helpers, Problems, provenance, read_python, walk
from fuzz_core.collect.sources import Kind, Request, Seed, SourceName
from fuzz_core.programs.texts import traced_programs

_PATTERNS = ("test_*.py", "*_test.py")
_NO_PROGRAMS = frozenset({"setup.py", "conftest.py", "__init__.py"})


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
                yield from _tests(request.packages[package], request, f"{package} package")

    def own(self, request: Request) -> Iterator[Seed]:
        """Yield a seed per test file of the user's directories.

        A file with a syntax error or in an unknown encoding is a counted problem, and so is a directory without tests.

        Raises:
            UserError: a missing directory.
        """
        for root in request.tests_dirs:
            seeds = list(_tests(root, request, "tests"))
            yield from seeds
            if not seeds:
                request.problems.append((str(root), f"holds no usable test files ({', '.join(_PATTERNS)})"))


class ModelsSource:
    """Source of a seed per model program; each runs as `__main__`."""

    def shipped(self, request: Request) -> Iterator[Seed]:
        """Yield nightfuzz's own programs, then those for installed packages."""
        for name, code in traced_programs(request.library):
            yield Seed("models", f"model {name}", code, "script", relative=f"{name}.py")
        for name, code in package_programs(request.library, request.packages):
            yield Seed("models", f"package {name}", code, "script")

    def own(self, request: Request) -> Iterator[Seed]:
        """Yield a seed per program of the user's directories.

        A file is a program if it has a `__main__` part or acts at top level. A file with a syntax error is a counted
        problem.

        Raises:
            UserError: a missing directory.
        """
        for root in request.models_dirs:
            yield from _seeds("models", root, request, programs_in(root, request.problems))


class PythonFile(NamedTuple):
    """A Python file of a directory: its path, the same relative to the directory, its text and its tree."""

    path: Path
    relative: str
    code: str
    tree: ast.Module


def programs_in(root: Path, problems: Problems) -> Iterator[PythonFile]:
    """Yield the programs of a directory, or the file.

    Raises:
        UserError: there is no such directory.
    """
    found = _python_files(root, _may_be_program, "models", problems)
    return (each for each in found if does_something(each.tree))


def _python_files(root: Path, wanted: Callable[[str], bool], what: str, problems: Problems) -> Iterator[PythonFile]:
    for path, relative in walk(root, wanted, what):
        read = read_python(path, problems)
        if read is not None:
            yield PythonFile(path, relative, *read)


def _tests(root: Path, request: Request, what: str) -> Iterator[Seed]:
    return _seeds("tests", root, request, _python_files(root, is_test_file, what, request.problems))


def _seeds(source: SourceName, root: Path, request: Request, files: Iterable[PythonFile]) -> Iterator[Seed]:
    helpers = Helpers(root, {request.library, *request.packages})
    kind: Kind = "tests" if source == "tests" else "script"
    for each in files:
        name, needs = provenance(root, each.relative), helpers.digest(each.path, each.tree, conftest=kind == "tests")
        yield Seed(source, name, each.code, kind, str(each.path.absolute()), each.relative, needs)


def _may_be_program(name: str) -> bool:
    return name.endswith(".py") and name not in _NO_PROGRAMS and not is_test_file(name)


def does_something(module: ast.Module) -> bool:
    """Return whether a module acts as a program: it has a `__main__` part, or a call or loop at top level."""
    return any(_acts(statement) for statement in module.body)


def _acts(statement: ast.stmt) -> bool:
    match statement:
        case ast.If() | ast.Try():
            return any(map(_acts, statement.body))
        case ast.Expr(value=value):
            return isinstance(value, (ast.Call, ast.Await))
        case _:
            return isinstance(statement, (ast.For, ast.While, ast.With))


_KERAS = '''"""One prediction and one gradient step of keras.applications.{name} at the smallest input it takes."""

import keras
import numpy as np
import tensorflow as tf

SIZES = (32, 48, 64, 71, 75, 96, 128, 139, 192, 224, 331)


def build():
    for size in SIZES:
        try:
            return keras.applications.{name}(weights=None, classes=3, input_shape=(size, size, 3)), size
        except ValueError as error:
            refused = error
    raise refused


model, size = build()
images = np.random.default_rng(0).random((1, size, size, 3), dtype=np.float32)
model.predict(images, verbose=0)
with tf.GradientTape() as tape:
    loss = keras.losses.SparseCategoricalCrossentropy()(np.array([1]), model(images, training=True))
weights = model.trainable_weights
keras.optimizers.SGD(learning_rate=0.01).apply_gradients(zip(tape.gradient(loss, weights), weights))
'''

_TIMM = '''"""One training step of timm's {name} on a small image."""

import timm
import torch

model = timm.create_model("{name}", pretrained=False, num_classes=3)
size = model.pretrained_cfg.get("input_size", (3, 224, 224))[-1]
size = size if model.pretrained_cfg.get("fixed_input_size") else min(size, 96)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loss = torch.nn.functional.cross_entropy(model(torch.rand(2, 3, size, size)), torch.tensor([0, 2]))
loss.backward()
optimizer.step()
model.eval()
with torch.no_grad():
    model(torch.rand(1, 3, size, size))
'''

_TRANSFORMERS = '''"""One training step of a {name} of transformers, made small by its configuration."""

import torch
from transformers import AutoConfig, AutoModel

SMALL = {{
    "vocab_size": 99, "hidden_size": 32, "d_model": 32, "n_embd": 32, "dim": 32, "embedding_size": 16,
    "intermediate_size": 40, "d_ff": 40, "ffn_dim": 40, "encoder_ffn_dim": 40, "decoder_ffn_dim": 40, "hidden_dim": 40,
    "num_hidden_layers": 2, "num_layers": 2, "n_layer": 2, "n_layers": 2, "encoder_layers": 2, "decoder_layers": 2,
    "num_attention_heads": 4, "num_heads": 4, "n_head": 4, "n_heads": 4, "num_key_value_heads": 2, "d_kv": 8,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "max_position_embeddings": 64, "head_dim": 8,
    "image_size": 32, "patch_size": 8, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "state_size": 4,
    "decoder_start_token_id": 0, "num_local_experts": 2, "num_experts_per_tok": 1,
}}
known = AutoConfig.for_model("{name}")
config = AutoConfig.for_model("{name}", **{{key: value for key, value in SMALL.items() if hasattr(known, key)}})
model = AutoModel.from_config(config)
if "pixel_values" in (model.main_input_name or ""):
    inputs = {{"pixel_values": torch.rand(1, 3, 32, 32)}}
else:
    inputs = {{"input_ids": torch.tensor([[1, 5, 7, 9, 2]])}}
if config.is_encoder_decoder:
    inputs["decoder_input_ids"] = torch.tensor([[0, 4, 6]])
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
model(**inputs)[0].float().pow(2).mean().backward()
optimizer.step()
model.eval()
with torch.no_grad():
    model(**inputs)
'''

_JITTOR = '''"""One training step of jittor.models.{module}.{name} on the smallest image it takes."""

import jittor as jt
from jittor import nn
from jittor.models.{module} import {name}

SIZES = (32, 64, 96, 128, 224, 299)


def classify(images):
    logits = model(images)
    return logits if isinstance(logits, jt.Var) else logits[0]


def smallest():
    for size in SIZES:
        try:
            return size, classify(jt.rand(2, 3, size, size))
        except (ArithmeticError, AssertionError, RuntimeError, ValueError) as error:
            refused = error
    raise refused


model = {name}(pretrained=False)
size, logits = smallest()
loss = nn.cross_entropy_loss(logits, jt.array([0, 2]))
nn.SGD(model.parameters(), lr=0.01).step(loss)
assert loss.item() > 0
model.eval()
with jt.no_grad():
    classify(jt.rand(1, 3, size, size)).sync()
'''

_SMALL_WORDS = ("nano", "tiny", "small", "mobile")


# Models of packages that have no listing of small ones.
_LISTED = {
    "timm": (
        "convnext_atto deit_tiny_patch16_224 densenet121 edgenext_xx_small efficientnet_b0 ghostnet_100 "
        "mixer_s32_224 mobilenetv3_small_050 mobilevit_xxs poolformer_s12 regnetx_002 resnet18 "
        "swin_tiny_patch4_window7_224 vit_tiny_patch16_224"
    ),
    "transformers": "albert bart bert distilbert electra gpt2 gpt_neox llama mamba mistral mixtral opt roberta t5 vit",
}
# The name and the code of a model's program, by package.
_PROGRAMS = {
    "keras": ("keras.applications.{name}", _KERAS),
    "jittor": ("jittor.models.{module}.{name}", _JITTOR),
    "timm": ("timm {name}", _TIMM),
    "transformers": ("transformers {name}", _TRANSFORMERS),
}


def package_programs(library: str, packages: Mapping[str, Path]) -> Iterator[tuple[str, str]]:
    """Yield name and code of a program for every family of models in the packages that a target has."""
    for package in library_of(library).model_packages:
        if package in packages:
            title, code = _PROGRAMS[package]
            for module, name in _models(package, packages[package]):
                yield title.format(module=module, name=name), code.format(module=module, name=name)


def _models(package: str, at: Path) -> list[tuple[str, str]]:
    """Return module and name of the models of a package; the module is empty for packages with one listing."""
    if package == "jittor":
        return jittor_models(at)
    names = keras_applications(at) if package == "keras" else _LISTED[package].split()
    return [("", name) for name in names]


def keras_applications(package: Path) -> list[str]:
    """Return the smallest model of every family that `keras.applications` lists; none if there is no such listing.

    Models of one family call the same apis: the larger ones cost minutes and add no api.
    """
    listing = package / "applications" / "__init__.py"
    if not listing.is_file():
        return []
    families: defaultdict[str, list[str]] = defaultdict(list)
    for statement in ast.parse(listing.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ImportFrom):
            names = [alias.asname or alias.name for alias in statement.names]
            families[statement.module or ""].extend(name for name in names if name[:1].isupper())
    return sorted(min(names, key=_size) for names in families.values() if names)


def jittor_models(package: Path) -> list[tuple[str, str]]:
    """Return module and name of the smallest model that each module of `jittor.models` can build without weights."""
    found = []
    for path in sorted((package / "models").glob("*.py")):
        module = read_python(path, [])
        body = [] if module is None else module[1].body
        names = [each.name for each in body if isinstance(each, ast.FunctionDef) and _builds(each)]
        if names:
            found.append((path.stem, min(names, key=_size)))
    return found


def _builds(function: ast.FunctionDef) -> bool:
    """Return whether a function is public and makes a model: all such functions have the argument `pretrained`."""
    return not function.name.startswith("_") and any(each.arg == "pretrained" for each in function.args.args)


def _size(name: str) -> tuple[int, bool, list[float], str]:
    """Return a key that sorts models by size, read from the name: words such as `tiny` first, then the last number."""
    lower = name.lower()
    word = next((rank for rank, word in enumerate(_SMALL_WORDS) if word in lower), len(_SMALL_WORDS))
    numbers = [float(number.replace("_", ".")) for number in re.findall(r"\d+(?:_\d+)?(?=V2$|$)", name)]
    return word, not numbers, numbers, name
