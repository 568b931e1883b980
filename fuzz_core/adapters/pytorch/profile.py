"""Profile of PyTorch: names that its examples use without importing them, its issue form, facts of a build."""

from __future__ import annotations

from fuzz_core.adapters.library import Profile, assigned, bound

_IMPORTS = """
import torch
import torch.nn.functional as F
import torch.nn.functional as functional
from torch.autograd import Variable, Function
from torch.func import grad, vmap
from torch.nn import init
import torch.nn.utils.parametrize as parametrize
import torch.nn.utils.parametrize as P
from torch.nn.utils import prune, rnn
import torch.distributed as dist
import torch.distributions as D
from torch.distributions import transforms, constraints
from torch.optim import lr_scheduler
import torch.multiprocessing as mp
from torch import linalg as LA, nn, optim, autograd, distributions, fft, linalg, special, jit, fx, Tensor, device
from torch.ao import quantization
import torch.ao.nn.quantized as nnq
from torch.utils.data import DataLoader, Dataset, TensorDataset
from torch.utils import benchmark
"""
_STAND_INS = """
model = net = network = module = my_model = torch.nn.Linear(4, 4)
Net = lambda: torch.nn.Linear(4, 4)
optimizer = opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
loss_fn = criterion = torch.nn.MSELoss()
loss = torch.rand(4, requires_grad=True).sum()
train = lambda *args, **kwargs: None
validate = train_batch = lambda *args, **kwargs: 0.5
data = dataset = data_loader = dataloader = loader = [(torch.rand(2, 4), torch.rand(2, 4))]
device = torch.device('cpu')
query = key = value = torch.rand(4, 2, 8)
A = torch.rand(4, 4) + 4 * torch.eye(4)
B = x = y = z = X = input = inputs = output = target = labels = torch.rand(4, 4)
a = b = c = t = w = tensor = weights = torch.rand(4) + 0.5
"""
_FORM = ("🐛 Describe the bug", "Error logs", "Versions")
_FACTS = """
def describe(torch):
    if package("numpy"):
        # Raises if this build needs another numpy; the import alone does not raise.
        torch.zeros(1).numpy()
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return {"commit": torch.version.git_version, "cuda": torch.version.cuda, "devices": gpus(names)}

def form():
    from torch.utils.collect_env import get_pretty_env_info
    return get_pretty_env_info()
"""
PROFILE = Profile(bound(_IMPORTS), assigned(_STAND_INS), "torch.tensor", "torch.ones", _FORM, _FACTS)
