"""Faults that a library has inside of programs alone, and that are to be found."""

import linecache

import torch
from torch import nn

FAULTS = """
import os, signal, torch

def dies(self, x):
    os.kill(os.getpid(), signal.SIGSEGV)

def dies_backwards(self, x):
    x = x * 1.0
    x.register_hook(lambda gradient: os.kill(os.getpid(), signal.SIGSEGV))
    return x

def fails(self, x):
    raise RuntimeError("x.defined() INTERNAL ASSERT FAILED, please report a bug to PyTorch")

def slips(self, x):
    return x * {}["slope"]

def compiles_wrongly(self, x):
    return x + 1.0 if torch.compiler.is_compiling() else x * 1.0

def cuts(self, x):
    return torch.prelu(x, self.weight.detach())

def overflows(self, x):
    return x * (1.0 if x.dtype == torch.float64 else float("inf"))
"""
linecache.cache["faults.py"] = (len(FAULTS), None, FAULTS.splitlines(keepends=True), "faults.py")
faults = {}
exec(compile(FAULTS, "faults.py", "exec"), faults)
nn.Softsign.forward = faults["dies"]
nn.Tanhshrink.forward = faults["dies_backwards"]
nn.Hardsigmoid.forward = faults["fails"]
nn.Softshrink.forward = faults["slips"]
nn.Hardswish.forward = faults["compiles_wrongly"]
nn.PReLU.forward = faults["cuts"]
nn.Mish.forward = faults["overflows"]

torch.manual_seed(0)
rows = torch.rand(40, 12)
labels = torch.randint(0, 3, (40,))

model = nn.Sequential(
    nn.Linear(12, 16),
    # finding crash: nn.Softsign()
    # finding crash: nn.Tanhshrink()
    # finding internal-error: nn.Hardsigmoid()
    # finding internal-error: nn.Softshrink()
    # finding wrong-result: nn.Hardswish()
    # finding wrong-gradient: nn.PReLU()
    # finding nonfinite: nn.Mish()
    nn.ReLU(),
    nn.Linear(16, 3),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(rows), labels)
    loss.backward()
    optimizer.step()
print("loss", loss.item())
