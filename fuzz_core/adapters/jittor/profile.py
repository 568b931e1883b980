"""Profile of Jittor: names that its examples use without importing them, its issue form, facts of a build."""

from __future__ import annotations

from datetime import date

from fuzz_core.adapters.library import Disclosure, Profile, RulePage, assigned, bound

_IMPORTS = """
import jittor as jt
import jittor
from jittor import nn, init, optim, lr_scheduler, linalg, sparse, contrib, distributions, einops, models, transform
from jittor import Var, Module, Function
from jittor.dataset import Dataset, DataLoader
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
    "确认 / Confirmation",
)
# Jittor is compiled on this machine, for CUDA if it finds a CUDA compiler.
_FACTS = """
def describe(jittor):
    if not getattr(getattr(jittor, "compiler", None), "has_cuda", 0):
        return {"cuda": None}
    return {"cuda": output(jittor.flags.nvcc_path, "--version").partition("release ")[2].partition(",")[0] or "unknown"}

def versions(jittor):
    flags = jittor.flags
    options = "use_mkl=%d use_cuda=%d" % (bool(jittor.compile_extern.use_mkl), bool(jittor.compiler.has_cuda))
    return {"compiler": output(flags.cc_path, "--version").split("\\n")[0], "options": options,
            "cache": flags.cache_path.rpartition(".cache/jittor/")[2]}
"""
_FORM_PAGE = RulePage(
    "https://github.com/Jittor/jittor/blob/master/.github/ISSUE_TEMPLATE/bug_report.yml", date(2026, 11, 25)
)
_DISCLOSURE = Disclosure(
    "Jittor/jittor",
    accepts=False,
    why="the tracker has no rule about reports of fuzzers: ask there first",
    sources=dict.fromkeys(("accepts", "why", "labels", "title_prefix", "confirmations"), _FORM_PAGE),
    labels={"any": ("bug",)},
    title_prefix="[Bug] ",
    confirmations=(
        "我已经搜索过现有 issue，没有找到相同的问题 / I have searched existing issues",  # noqa: RUF001
        "我已经阅读过 Jittor 文档 / I have read the docs",
    ),
)
PROFILE = Profile(bound(_IMPORTS), assigned(_STAND_INS), "jt.array", "jt.ones", _FORM, {"jittor": _DISCLOSURE}, _FACTS)
