"""Names that examples of PyTorch take for granted."""

from __future__ import annotations

from fuzz_core.adapters.library import Profile

_IMPORTS = {
    "torch": "import torch",
    "nn": "from torch import nn",
    "F": "import torch.nn.functional as F",
    "functional": "import torch.nn.functional as functional",
    "optim": "from torch import optim",
    "autograd": "from torch import autograd",
    "Variable": "from torch.autograd import Variable",
    "Function": "from torch.autograd import Function",
    "grad": "from torch.func import grad",
    "vmap": "from torch.func import vmap",
    "init": "from torch.nn import init",
    "parametrize": "import torch.nn.utils.parametrize as parametrize",
    "P": "import torch.nn.utils.parametrize as P",
    "prune": "from torch.nn.utils import prune",
    "dist": "import torch.distributed as dist",
    "distributions": "from torch import distributions",
    "D": "import torch.distributions as D",
    "transforms": "from torch.distributions import transforms",
    "constraints": "from torch.distributions import constraints",
    "lr_scheduler": "from torch.optim import lr_scheduler",
    "mp": "import torch.multiprocessing as mp",
    "fft": "from torch import fft",
    "linalg": "from torch import linalg",
    "LA": "from torch import linalg as LA",
    "special": "from torch import special",
    "quantization": "from torch.ao import quantization",
    "nnq": "import torch.ao.nn.quantized as nnq",
    "jit": "from torch import jit",
    "fx": "from torch import fx",
    "Tensor": "from torch import Tensor",
    "device": "from torch import device",
    "DataLoader": "from torch.utils.data import DataLoader",
    "Dataset": "from torch.utils.data import Dataset",
    "TensorDataset": "from torch.utils.data import TensorDataset",
    "benchmark": "from torch.utils import benchmark",
    "rnn": "from torch.nn.utils import rnn",
}

_STAND_INS = {
    "model": "torch.nn.Linear(4, 4)",
    "net": "torch.nn.Linear(4, 4)",
    "network": "torch.nn.Linear(4, 4)",
    "module": "torch.nn.Linear(4, 4)",
    "my_model": "torch.nn.Linear(4, 4)",
    "Net": "lambda: torch.nn.Linear(4, 4)",
    "optimizer": "torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)",
    "opt": "torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)",
    "scheduler": "torch.optim.lr_scheduler.StepLR(optimizer, 2)",
    "loss_fn": "torch.nn.MSELoss()",
    "criterion": "torch.nn.MSELoss()",
    "loss": "torch.rand(4, requires_grad=True).sum()",
    "train": "lambda *args, **kwargs: None",
    "validate": "lambda *args, **kwargs: 0.5",
    "train_batch": "lambda *args, **kwargs: 0.5",
    "data": "[(torch.rand(2, 4), torch.rand(2, 4))]",
    "dataset": "[(torch.rand(2, 4), torch.rand(2, 4))]",
    "data_loader": "[(torch.rand(2, 4), torch.rand(2, 4))]",
    "dataloader": "[(torch.rand(2, 4), torch.rand(2, 4))]",
    "loader": "[(torch.rand(2, 4), torch.rand(2, 4))]",
    "device": "torch.device('cpu')",
    "query": "torch.rand(4, 2, 8)",
    "key": "torch.rand(4, 2, 8)",
    "value": "torch.rand(4, 2, 8)",
    "A": "torch.rand(4, 4) + 4 * torch.eye(4)",
    "B": "torch.rand(4, 4)",
} | dict.fromkeys(("x", "y", "z", "X", "input", "inputs", "output", "target", "labels"), "torch.rand(4, 4)")
_STAND_INS |= dict.fromkeys(("a", "b", "c", "t", "w", "tensor", "weights"), "torch.rand(4) + 0.5")

_FORM = (
    "🐛 Describe the bug",
    "Error logs",
    "Versions",
)
PROFILE = Profile(_IMPORTS, _STAND_INS, "torch.tensor", "torch.ones", _FORM)
