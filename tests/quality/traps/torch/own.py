"""Programs with faults of their own: no case is the library's fault."""

import inspect
import os
import random
import signal
import sys
import time
import warnings

import numpy as np
import torch
from torch import nn

kept = []


def act(width: int) -> None:
    """Runs one of the cases, chosen by the number of features that arrive."""
    match width:
        # The program ends, is interrupted, or is killed by a system that is out of memory.
        case 20:
            sys.exit("enough")
        case 21:
            raise KeyboardInterrupt
        case 22:
            os.kill(os.getpid(), signal.SIGKILL)
        # The program has mistakes of its own.
        case 23:
            print({"a width": 8}[width])
        case 24:
            print(undefined)  # noqa: F821
        case 25:
            if width < 20:
                late = 1
            print(late)
        case 26:
            assert width < 20, "too wide"
        case 27:
            act(width)
        case 28:
            raise SystemError("the program gives up: this should never happen")
        case 29:
            next(iter(()))
        # The program needs too much memory or time.
        case 30:
            np.empty(10**15)
        case 31:
            raise MemoryError
        case 32:
            time.sleep(3.5 * (not kept))
            kept.append(1)
        case 33:
            time.sleep(1000.0)
        # Megabytes of text.
        case 34:
            print("x" * 5_000_000)
        case 35:
            sys.stderr.write("x" * 5_000_000)
        case 36:
            os.write(1, b"x" * 5_000_000)
        # The program changes settings of the whole process.
        case 40:
            torch.set_default_dtype(torch.float64)
        case 41:
            torch.set_num_threads(2)
        case 42:
            torch.autograd.set_detect_anomaly(True)
        case 43:
            torch.use_deterministic_algorithms(True)
        case 44:
            torch.seed()
            random.seed()
            np.random.seed()
        case 45:
            warnings.simplefilter("error")
        case 46:
            np.seterr(all="raise")
        case 47:
            torch.set_grad_enabled(False)
        case 48:
            sys.setrecursionlimit(200)
        case 49:
            nn.Linear.forward = counted(nn.Linear.forward)
        case 50:
            warnings.warn("old", DeprecationWarning, stacklevel=2)
        case 51:
            os.environ["OMP_NUM_THREADS"] = "many"
            os.chdir("/")
        case 52:
            nn.modules.module.register_module_forward_hook(lambda *_: kept.clear())
        # The program raises errors that libraries raise, in text that it evaluates, or far away from where it began.
        case 53:
            exec('raise SystemError("the program gives up")')
        case 54:
            raise RuntimeError("INTERNAL ASSERT FAILED, please report a bug to PyTorch")
        case 55:
            sys.setrecursionlimit(len(inspect.stack()) + 12)
            act(55)
        case 56:
            nn.Module.__call__ = lambda *args: nn.Module.__call__(*args)


def counted(forward):
    """As profilers do it: the library's layers are other ones from now on."""
    calls = []

    def count(*args, **kwargs):
        calls.append(1)
        return forward(*args, **kwargs)

    return count


class Net(nn.Module):
    """A model in the middle of which all that happens."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Linear(12, 16)
        # training configuration: nn.Linear(16, 20)
        # training configuration: nn.Linear(16, 21)
        # resources: nn.Linear(16, 22)
        # training configuration: nn.Linear(16, 23)
        # syntax: nn.Linear(16, 24)
        # syntax: nn.Linear(16, 25)
        # training configuration: nn.Linear(16, 26)
        # training configuration: nn.Linear(16, 27)
        # training configuration: nn.Linear(16, 28)
        # training configuration: nn.Linear(16, 29)
        # resources: nn.Linear(16, 30)
        # resources: nn.Linear(16, 31)
        # ok: nn.Linear(16, 32)
        # resources: nn.Linear(16, 33)
        # ok: nn.Linear(16, 34)
        # ok: nn.Linear(16, 35)
        # ok: nn.Linear(16, 36)
        # ok: nn.Linear(16, 40)
        # ok: nn.Linear(16, 41)
        # ok: nn.Linear(16, 42)
        # ok: nn.Linear(16, 43)
        # ok: nn.Linear(16, 44)
        # ok: nn.Linear(16, 45)
        # ok: nn.Linear(16, 46)
        # training configuration: nn.Linear(16, 47)
        # ok: nn.Linear(16, 48)
        # ok: nn.Linear(16, 49)
        # ok: nn.Linear(16, 50)
        # ok: nn.Linear(16, 51)
        # ok: nn.Linear(16, 52)
        # training configuration: nn.Linear(16, 53)
        # training configuration: nn.Linear(16, 54)
        # training configuration: nn.Linear(16, 55)
        # training configuration: nn.Linear(16, 56)
        self.wide = nn.Linear(16, 8)
        # Warnings are not errors any more, numbers overflow again, and recursion is as deep as ever.
        # ok: nn.Softmax()
        self.last = nn.ReLU()
        self.leave = nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.enter(x)
        x = self.wide(x)
        act(x.shape[1])
        x = self.last(x)
        return self.leave(x)


torch.manual_seed(0)
rows = torch.rand(40, 12)
labels = torch.randint(0, 3, (40,))
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(rows), labels)
    loss.backward()
    optimizer.step()
print("loss", loss.item())
