"""Names that examples of Jittor take for granted."""

from __future__ import annotations

from fuzz_core.adapters.library import Profile

_IMPORTS = {
    "jt": "import jittor as jt",
    "jittor": "import jittor",
    "nn": "from jittor import nn",
    "init": "from jittor import init",
    "optim": "from jittor import optim",
    "lr_scheduler": "from jittor import lr_scheduler",
    "linalg": "from jittor import linalg",
    "sparse": "from jittor import sparse",
    "contrib": "from jittor import contrib",
    "distributions": "from jittor import distributions",
    "einops": "from jittor import einops",
    "models": "from jittor import models",
    "transform": "from jittor import transform",
    "Var": "from jittor import Var",
    "Module": "from jittor import Module",
    "Function": "from jittor import Function",
    "Dataset": "from jittor.dataset import Dataset",
    "DataLoader": "from jittor.dataset import DataLoader",
}

_STAND_INS = {
    "optimizer": "jt.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)",
    "opt": "jt.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)",
    "scheduler": "jt.lr_scheduler.StepLR(optimizer, 2)",
    "loss": "model(jt.rand(2, 4)).sqr().mean()",
    "weight": "jt.rand(4, 4)",
    "index": "jt.array([0, 1])",
    "mask": "jt.rand(4, 4) > 0.5",
    "shape": "(4, 4)",
} | dict.fromkeys(("model", "net", "network", "module", "layer"), "jt.nn.Linear(4, 4)")
_STAND_INS |= dict.fromkeys(("Model", "Net"), "lambda: jt.nn.Linear(4, 4)")
_STAND_INS |= dict.fromkeys(("loss_fn", "criterion", "critic", "loss_function"), "jt.nn.MSELoss()")
_STAND_INS |= dict.fromkeys(("data", "dataset", "dataloader", "train_loader"), "[(jt.rand(2, 4), jt.rand(2, 4))]")
_STAND_INS |= dict.fromkeys(("img", "image", "pic"), "Image.new('RGB', (16, 16))")
_STAND_INS |= dict.fromkeys(
    ("x", "y", "z", "a", "b", "c", "input", "inputs", "output", "target", "var"), "jt.rand(4, 4)"
)

_FORM = (
    "问题描述 / Describe the bug",
    "复现步骤 / Steps to reproduce",
    "完整日志 / Full log",
    "期望行为 / Expected behavior",
    "操作系统 / Operating System",
    "Jittor 版本 / Jittor version",
    "Python 版本 / Python version",
    "GPU 环境 / GPU",
)
PROFILE = Profile(_IMPORTS, _STAND_INS, "jt.array", "jt.ones", _FORM)
