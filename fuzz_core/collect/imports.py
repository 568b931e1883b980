"""Names that examples use without importing them, and the statements that bring them in."""

from __future__ import annotations

ROOTS = {
    "torch": "import torch",
    "tf": "import tensorflow as tf",
    "keras": "import keras",
    "jittor": "import jittor",
}
"""The first part of public api names, and what binds it."""

_MODULES = """
abc ast asyncio bisect collections contextlib copy csv dataclasses datetime enum functools gc glob gzip hashlib heapq
inspect io itertools json logging math multiprocessing numbers operator os pathlib pickle pprint queue random re
shutil socket statistics string struct subprocess sys tempfile textwrap threading time timeit types typing unittest
uuid warnings weakref zlib
"""
STANDARD_MODULES = frozenset(_MODULES.split())
"""Modules that examples use without importing them."""

_STANDARD_MEMBERS = {
    "collections": "Counter OrderedDict defaultdict deque namedtuple",
    "contextlib": "ExitStack contextmanager nullcontext suppress",
    "copy": "deepcopy",
    "dataclasses": "dataclass field",
    "enum": "Enum IntEnum",
    "functools": "cached_property lru_cache partial reduce wraps",
    "itertools": "accumulate chain combinations count cycle islice permutations product repeat starmap zip_longest",
    "math": "ceil exp floor inf nan pi sqrt",
    "pathlib": "Path",
    "pprint": "pprint",
    "random": "randint shuffle",
    "threading": "Lock Thread",
    "time": "sleep",
    "typing": (
        "Any Callable Dict Generator Generic Iterable Iterator List Literal Mapping NamedTuple Optional Protocol "
        "Sequence Set Tuple Type TypeVar Union"
    ),
    "unittest": "TestCase mock",
}

_COMMON = {
    "np": "import numpy as np",
    "numpy": "import numpy",
    "plt": "import matplotlib.pyplot as plt",
    "pd": "import pandas as pd",
    "pandas": "import pandas",
    "scipy": "import scipy",
    "Image": "from PIL import Image",
}

_TORCH = {
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

_KERAS_MODULES = """
activations applications backend callbacks constraints datasets distribution dtype_policies initializers layers losses
metrics mixed_precision models ops optimizers preprocessing quantizers regularizers saving utils
"""

_TENSORFLOW = {
    "tf": "import tensorflow as tf",
    "tensorflow": "import tensorflow",
    "keras": "import keras",
    "Model": "from keras import Model",
    "Sequential": "from keras import Sequential",
    "Input": "from keras import Input",
    "K": "from keras import backend as K",
    "tfl": "import tensorflow as tfl",
    "v1": "import tensorflow.compat.v1 as v1",
    "dtensor": "from tensorflow.experimental import dtensor",
    "xla": "from tensorflow.compiler.tf2xla.python import xla",
} | {name: f"from keras import {name}" for name in _KERAS_MODULES.split()}

_JITTOR = {
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

_OWN = {"torch": _TORCH, "tensorflow": _TENSORFLOW, "jittor": _JITTOR}


def known_imports(library: str) -> dict[str, str]:
    """The import statement for each name that is known by convention: the library's own before the general ones."""
    known = {name: f"import {name}" for name in sorted(STANDARD_MODULES)}
    for module, members in _STANDARD_MEMBERS.items():
        known |= {name: f"from {module} import {name}" for name in members.split()}
    return known | _COMMON | _OWN.get(library, {})
