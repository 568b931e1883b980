"""Names that examples of Jittor take for granted."""

from __future__ import annotations

from fuzz_core.adapters.library import Profile, assigned, bound

_IMPORTS = """
import jittor as jt
import jittor
from jittor import nn
from jittor import init
from jittor import optim
from jittor import lr_scheduler
from jittor import linalg
from jittor import sparse
from jittor import contrib
from jittor import distributions
from jittor import einops
from jittor import models
from jittor import transform
from jittor import Var
from jittor import Module
from jittor import Function
from jittor.dataset import Dataset
from jittor.dataset import DataLoader
"""
_STAND_INS = """
optimizer = opt = jt.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = jt.lr_scheduler.StepLR(optimizer, 2)
loss = model(jt.rand(2, 4)).sqr().mean()
weight = jt.rand(4, 4)
index = jt.array([0, 1])
mask = jt.rand(4, 4) > 0.5
shape = (4, 4)
model = net = network = module = layer = jt.nn.Linear(4, 4)
Model = Net = lambda: jt.nn.Linear(4, 4)
loss_fn = criterion = critic = loss_function = jt.nn.MSELoss()
data = dataset = dataloader = train_loader = [(jt.rand(2, 4), jt.rand(2, 4))]
img = image = pic = Image.new('RGB', (16, 16))
x = y = z = a = b = c = input = inputs = output = target = var = jt.rand(4, 4)
"""
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
PROFILE = Profile(bound(_IMPORTS), assigned(_STAND_INS), "jt.array", "jt.ones", _FORM)
