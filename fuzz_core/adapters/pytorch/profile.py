"""Profile of PyTorch: names that examples use without an import, its issue form, facts of a build, forms of tensors."""

from __future__ import annotations

from datetime import date

from fuzz_core.adapters.library import Disclosure, Profile, RulePage, assigned, bound
from fuzz_core.ir.values import Invocation, Ref, Seq, prim

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
_READ = date(2026, 11, 25)
_ISSUES = "https://github.com/pytorch/pytorch/issues"
_FILES = "https://github.com/pytorch/pytorch/blob/main"
_AI = RulePage(f"{_FILES}/AI_POLICY.md", _READ)
# Its members name the umbrella, close single reports as its duplicates, and say that they want no check per operator.
_UMBRELLA = RulePage(f"{_ISSUES}/195547", _READ)
_TRIAGE = RulePage(f"{_FILES}/.claude/skills/triaging-issues/SKILL.md", _READ)
_DISCLOSURE = Disclosure(
    "pytorch/pytorch",
    accepts=True,
    why="reports of fuzzers are accepted if a person has understood them: the person who approves a report answers for "
    "the report. Read the report, run its script, and explain in your own comment why the report matters",
    sources={
        "accepts": _AI,
        "why": _AI,
        "human_part": _AI,
        "memory_errors": RulePage("https://github.com/pytorch/pytorch/pull/167519", _READ),
        "umbrella": _UMBRELLA,
        "proposed_fix": RulePage("https://github.com/pytorch/pytorch/pull/191568", _READ),
        "labels": _TRIAGE,
        "security": RulePage(f"{_FILES}/SECURITY.md", _READ),
    },
    memory_errors="public",
    umbrella=195547,
    proposed_fix="add an error input to the operator's OpInfo, so that every device must refuse this input",
    human_part="why the report matters",
    labels={
        "crash": ("module: crash", "triage review"),
        "internal-error": ("module: assert failure", "triage review"),
        "out-of-bounds": ("triage review",),
        "wrong-result": ("module: correctness (silent)", "triage review"),
        "wrong-gradient": ("module: derivatives", "module: correctness (silent)", "triage review"),
        "nonfinite": ("module: NaNs and Infs",),
        "slow": ("module: performance",),
        "leak": ("module: memory usage",),
        "meta": ("module: meta tensors",),
        "fake": ("module: fakeTensor",),
        "vmap": ("module: vmap",),
        "onednn-off": ("module: mkldnn",),
        "compile": ("oncall: pt2",),
        "inductor": ("module: inductor", "oncall: pt2"),
        "invalid": ("module: error checking", "module: edge cases"),
        "unknown": ("module: error checking", "module: edge cases"),
        "regression": ("module: regression", "triage review"),
        "any": ("topic: fuzzer",),
    },
    security="https://github.com/pytorch/pytorch/security/advisories/new",
)
PROFILE = Profile(
    bound(_IMPORTS), assigned(_STAND_INS), "torch.tensor", "torch.ones", _FORM, {"torch": _DISCLOSURE}, _FACTS
)

# Forms of a tensor, see `Dialect`.
FORMS = {
    "sparse": Invocation("torch.Tensor.to_sparse"),
    "sparse CSR": Invocation("torch.Tensor.to_sparse_csr"),
    "sparse BSC": Invocation("torch.Tensor.to_sparse_bsc", (Seq("tuple", (prim(1), prim(1))),)),
    "oneDNN": Invocation("torch.Tensor.to_mkldnn"),
    "quantised": Invocation("torch.quantize_per_tensor", (prim(0.1), prim(0), Ref("name", "torch.quint8"))),
    "nested": Invocation("torch.nested.as_nested_tensor"),
    "meta": Invocation("torch.empty_like", (), (("device", Ref("device", "meta")),)),
}
