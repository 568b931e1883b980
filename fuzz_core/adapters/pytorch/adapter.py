"""The living half of PyTorch's adapter."""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from types import ModuleType
from typing import Any

from fuzz_core.adapters.base import GPU_MEMORY_BYTES, Adapter, Conversion, Describe, Examples
from fuzz_core.adapters.inventory import Listed
from fuzz_core.adapters.models import Models
from fuzz_core.adapters.pytorch.dialect import MODES
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.signatures import ApiSignature
from fuzz_core.ir.values import Invocation, Ref, Tensor, Then, Value, prim

# A switch's name says so. Other functions that begin with `_get` may start a device.
_SWITCH = re.compile(r"_get_\w*(?:allow|benchmark|deterministic|enabled|optimize|precision|qengine|warn)")
# Modules that calls, derivatives and compiling import on first use. The import takes seconds, paid once instead of in
# every forked process.
_LATE = (
    "torch._dynamo.convert_frame",
    "torch._decomp.decompositions_for_jvp",
    "torch._functorch.aot_autograd",
    "torch._inductor.fx_passes.post_grad",
)


class TorchAdapter(Adapter):
    """PyTorch on the CPU and, if there is one, on a CUDA device with and without cuDNN."""

    library = "torch"
    prefixes = ("torch",)
    ways = MODES
    cudnn = True  # whether cuDNN is on

    def load(self) -> ModuleType:
        """Import torch; no thread pool and no CUDA context is started by it."""
        self.root = importlib.import_module("torch")
        for late in _LATE:
            with suppress(ImportError):
                importlib.import_module(late)
        from fuzz_core.adapters.pytorch import apis, signatures, tensors

        self.tensors, self.dtypes, self.apis, self.comparer = tensors, tensors.TORCH_DTYPES, apis, tensors.COMPARER
        self.definition = signatures
        self.switches = _switches(self.root._C)
        return self.root

    def listed(self) -> list[Listed]:
        """Return every public api of the documented modules."""
        listed: list[Listed] = self.apis.listed()
        return listed

    def definitions(self, listed: Iterable[Listed]) -> Iterable[Constraint]:
        """See `pytorch.apis`."""
        found: Iterable[Constraint] = self.apis.definitions(listed)
        return found

    def signatures(self, entry: Listed) -> list[ApiSignature]:
        """See `pytorch.signatures`."""
        methods = self.searched_methods(entry.found)
        return [each for method in methods for each in self.definition.signatures(entry, method)]

    def casts(self) -> Mapping[str, Conversion]:
        """Return quantised, sparse and oneDNN tensors."""
        steps = (prim(0.1), prim(0))
        quantised = {
            name: ("float32", "torch.quantize_per_tensor", (*steps, Ref("name", f"torch.{name}")))
            for name in ("quint8", "qint8", "qint32")
        }
        layouts = {name: ("float32", f"torch.Tensor.to_{name}", ()) for name in ("sparse", "sparse_csr", "mkldnn")}
        return quantised | {"quantized": quantised["quint8"]} | layouts

    def missing_requirement(self, message: str) -> str:
        """See `pytorch.signatures`."""
        return self.definition.missing_requirement(message) or super().missing_requirement(message)

    def describe(self, value: Any, describe: Describe) -> Value | None:
        """Describe tensors, dtypes, devices, layouts, memory formats, sizes and generators."""
        torch = self.root
        if isinstance(value, torch.Tensor):
            return self.tensors.describe_tensor(value, describe)
        if isinstance(value, torch.dtype):
            name = self.tensors.NAMES.get(value)
            return Ref("dtype", name) if name else Ref("name", str(value))
        if isinstance(value, torch.device):
            return Ref("device", str(value))
        if isinstance(value, torch.layout | torch.memory_format | torch.qscheme):
            return Ref("name", str(value))
        if type(value) is torch.Generator:
            return Invocation("torch.Generator")
        if isinstance(value, torch.UntypedStorage):
            return Invocation("torch.UntypedStorage", (prim(value.nbytes()),))
        return None

    def tensor(self, array: Any, tensor: Tensor, device: str) -> Any:
        """Return a tensor of an array on the CPU."""
        return self.root.from_numpy(array)

    def build(self, tensor: Tensor, device: str) -> Any:
        """Return a live torch.Tensor, nn.Parameter or numpy array."""
        return self.tensors.build_tensor(tensor, device)

    def refusal(self, value: Any) -> str:
        """See `Adapter`: of sparse tensors, which constructors check on demand alone."""
        refused: str = self.tensors.refusal(value)
        return refused

    def ref(self, ref: Ref, device: str) -> Any:
        """See `Adapter`; a device is an object here."""
        found = super().ref(ref, device)
        return self.root.device(found) if ref.kind == "device" else found

    def then_methods(self, cls: type) -> tuple[str, ...]:
        """Return methods: modules are called, optimisers and schedulers step, distributions have public methods."""
        torch = self.root
        if issubclass(cls, torch.Tensor):
            return ()
        if issubclass(cls, torch.nn.Module):
            return ("__call__",)
        if issubclass(cls, torch.optim.Optimizer | torch.optim.lr_scheduler.LRScheduler):
            return ("step",)
        names = [n for c in cls.__mro__ if c.__module__.startswith("torch.") for n in vars(c) if not n.startswith("_")]
        own = ["__call__"] if "__call__" in dir(cls) and type(cls).__call__ is not cls.__call__ else []
        return tuple(own + sorted({n for n in names if callable(getattr(cls, n, None))}))

    def prepare(self) -> None:
        """Set one thread, no warnings (their text would cost more than most tests), and a bounded share of each GPU."""
        warnings.simplefilter("ignore")
        self.root.set_num_threads(1)
        # A convolution on a GPU rounds its arguments to 10 bits otherwise. Results of the CPU have 23.
        # Test databases forbid to set it by its public name.
        self.root._C._set_cudnn_allow_tf32(False)
        # CUDA starts at its first use: most processes never use it, and the start takes a second.
        self.root.cuda._lazy_call(self._bound_memory)

    def _bound_memory(self) -> None:
        """Bound this process's memory on each GPU."""
        cuda = self.root.cuda
        for device in range(cuda.device_count()):
            total = cuda.get_device_properties(device).total_memory
            cuda.set_per_process_memory_fraction(min(1.0, GPU_MEMORY_BYTES / total), device)

    def reset(self, seed: int) -> None:
        """Reseed the global generators: the CPU's, and those of the GPUs once CUDA has started."""
        for generator in (self.root.default_generator, *self.root.cuda.default_generators):
            generator.manual_seed(seed & 0xFFFFFFFF)

    def drawn(self) -> object:
        """Return the state of the global generator."""
        return self.root.default_generator.get_state().tolist()

    def state(self) -> object:
        """Return default dtype and device, gradient and inference mode, autocast, threads, and all plain switches."""
        torch = self.root
        return (
            torch.get_default_dtype(),
            torch._C._len_torch_function_stack(),
            torch._C._len_torch_dispatch_stack(),
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            _autocast(torch),
            torch.get_num_threads(),
            torch.is_anomaly_enabled(),
            *(get() for get in self.switches),
        )

    def device_modes(self) -> tuple[str, ...]:
        """Return `cpu`, and `cuda` and `cuda-nocudnn` if a device answers."""
        return ("cpu", "cuda", "cuda-nocudnn") if self.root.cuda.is_available() else ("cpu",)

    def enter(self, mode: str) -> str:
        """Switch cuDNN off for `cuda-nocudnn` alone (FreeFuzz, figure 10)."""
        if (mode != "cuda-nocudnn") != self.cudnn:
            self.cudnn = not self.cudnn
            self.root._C._set_cudnn_enabled(self.cudnn)
        return "cpu" if mode == "cpu" else "cuda"

    def move(self, live: Any, device: str) -> Any:
        """See `Adapter`: PyTorch makes modules and tensors on the CPU."""
        return live.to(device) if isinstance(live, self.root.nn.Module | self.root.Tensor) else live

    def synchronise(self, mode: str) -> None:
        """Wait for the CUDA stream."""
        if mode != "cpu":
            self.root.cuda.synchronize()

    def operators(self, seen: Callable[[str], None]) -> AbstractContextManager[object]:
        """Return a context in which `seen` gets ATen overloads, by a dispatch mode."""
        made: AbstractContextManager[object] = self.apis.Operators(seen)
        return made

    def seed_programs(self) -> Iterable[tuple[str, str]]:
        """Return a program for each OpInfo and ModuleInfo of the wheel's own test databases."""
        from fuzz_core.adapters.pytorch import databases

        return databases.programs()

    def models(self) -> Models:
        """See `pytorch.models`."""
        from fuzz_core.adapters.pytorch import models

        return models.TorchModels()

    def examples(self) -> Examples:
        """Return at least one call for every mode: two functions of matrices, one with threads, and a module."""
        small, large = Tensor("float32", (2, 3)), Tensor("float32", (64, 64))
        module = Invocation("torch.nn.ReLU", then=Then("__call__", (small,)))
        calls = (Invocation("torch.exp", (small,)), Invocation("torch.exp", (large,)), module)
        return Examples(calls, "torch.rand(3)", "torch.set_default_dtype(torch.float64)")


def _switches(core: Any) -> list[Callable[[], object]]:
    """Return the functions that read a plain switch of PyTorch's core, as those for determinism and precision."""
    found = []
    for name, get in sorted(vars(core).items()):
        if _SWITCH.match(name):
            with suppress(TypeError):  # it takes arguments
                found += [get] if isinstance(get(), bool | int | str) else []
    return found


def _autocast(torch: Any) -> bool:
    """Return whether types are narrowed on the CPU; PyTorch before 2.4 has a function of its own for each device."""
    try:
        return bool(torch.is_autocast_enabled("cpu"))
    except TypeError:
        return bool(torch.is_autocast_cpu_enabled())
