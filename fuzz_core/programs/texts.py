"""The text of shipped programs, by library."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import resources

_ROOT = resources.files("fuzz_core.programs")
# Replacements that make programs of Jittor out of those of PyTorch that MoCo takes apart, in order.
SPELLINGS = (
    ("import torch\nimport torch.nn.functional as F\nfrom torch import nn\n", "import jittor as jt\nfrom jittor import nn\n"),
    ("import torch\nfrom torch import nn\n", "import jittor as jt\nfrom jittor import nn\n"),
    ("def forward(", "def execute("),
    ("torch.Tensor", "jt.Var"),
    ("torch.manual_seed(", "jt.set_global_seed("),
    ("torch.cat(", "jt.concat("),
    ("torch.", "jt."),
    ("jt.flatten(x, start_dim=1)", "jt.flatten(x, 1)"),
    ("F.relu", "nn.relu"),
    ("nn.ReLU(inplace=True)", "nn.ReLU()"),
    ("nn.AvgPool2d(2, stride=2)", 'nn.Pool(2, stride=2, op="mean")'),
)
# Further replacements in the programs of one model. The models of Jittor are narrower, because it compiles its code.
MODELS = {
    "alexnet": (("\nWIDTH = 8\n", "\nWIDTH = 2\n"),),
    # Jittor's pooling wants images that are larger than its window.
    "googlenet": (
        ("\nWIDTH = 2\n", "\nWIDTH = 1\n"),
        ("        self.pool5 = nn.MaxPool2d(3, stride=2, padding=1)\n", ""),
        ("        x = self.pool5(x)\n", ""),
    ),
    "mobilenet": (("\nWIDTH = 8\n", "\nWIDTH = 1\n"),),
    # Jittor has no adaptive pooling in one dimension.
    "pointnet": (
        ("\nWIDTH = 64\n", "\nWIDTH = 8\n"),
        ("        self.peak = nn.AdaptiveMaxPool1d(1)\n", ""),
        ("        x = self.peak(x)\n        x = jt.flatten(x, 1)\n", "        x = jt.max(x, dim=2)\n"),
    ),
    "resnet18": (("\nWIDTH = 8\n", "\nWIDTH = 4\n"),),
    "squeezenet": (("\nWIDTH = 8\n", "\nWIDTH = 1\n"),),
    "vgg19": (
        ("\nWIDTH = 8\n", "\nWIDTH = 4\n"),
        ("        self.pool5 = nn.MaxPool2d(2)\n", "        self.pool5 = nn.AdaptiveAvgPool2d(1)\n"),
    ),
}


def translated(name: str, source: str) -> str:
    """Return the program of PyTorch, given by name and text, as a program of Jittor."""
    for torch, jittor in (*SPELLINGS, *MODELS.get(name.partition("_")[0], ())):
        source = source.replace(torch, jittor)
    return source


# Libraries whose programs are translated: from the programs of which library, and by which function.
_TRANSLATED = {"jittor": ("torch", translated)}


def traced_programs(library: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of each program that is traced, by name; none for a library without a set.

    Each trains a small model on made data.
    """
    return _programs("traced", library)


def grown_programs(library: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of each program that MoCo takes apart, by name; none for a library without a set.

    A name is the model's and the style's, such as `lenet_class` or `lenet_serial`. The nine models of table II (MoCo
    2024) are classes, three of them serial calls as well (III-B). Each makes data and a model; the harness of the
    library trains and evaluates it.
    """
    origin, translate = _TRANSLATED.get(library, (library, lambda name, source: source))
    harness = _text("harness", library)
    for name, source in _programs("grown", origin):
        yield name, f"{translate(name, source)}\n{harness}"


@cache
def fitted_class(library: str) -> str:
    """Return the text that defines the class `Fitted`; empty for a library without one."""
    return _text("fitted", library)


def _programs(kind: str, library: str) -> Iterator[tuple[str, str]]:
    folder = _ROOT / kind / library
    if folder.is_dir():
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
            if entry.name.endswith(".py"):
                yield entry.name.removesuffix(".py"), entry.read_text(encoding="utf-8")


def _text(kind: str, library: str) -> str:
    """Return the text of the library's file without its docstring, which is one paragraph; empty without a file."""
    file = _ROOT / kind / f"{library}.py"
    return (file.read_text(encoding="utf-8") if file.is_file() else "").partition("\n\n")[2]
