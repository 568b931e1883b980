"""The programs of Jittor that MoCo takes apart, by translation of those of PyTorch."""

from __future__ import annotations

# Replacements in every program, in order.
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
