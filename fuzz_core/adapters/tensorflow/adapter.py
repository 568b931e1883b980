"""The living half of TensorFlow's adapter, Keras included."""

from __future__ import annotations

import contextlib
import enum
import importlib
import logging
import os
import random
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

from fuzz_core.adapters.arrays import Arrays
from fuzz_core.adapters.base import GPU_MEMORY_BYTES, Adapter, Conversion, Describe, Examples, Seen
from fuzz_core.adapters.inventory import Listed
from fuzz_core.adapters.models import Models
from fuzz_core.adapters.modes import Builder
from fuzz_core.adapters.tensorflow.dialect import MODES
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.signatures import ApiSignature, Product
from fuzz_core.ir.values import Invocation, Ref, Tensor, TestCase, Then, Value, prim

_KERAS_METHODS = ("__call__", "update_state", "result", "apply_gradients", "apply", "adapt")
_DRIVER = Path("/proc/driver/nvidia/gpus")
CLEAR_EVERY = 4096
# Attributes of the context that are no settings: the streams' seed, and values that its start finds. Settings have
# plain types.
_PLAIN = (bool, int, float, str)
_OWN = ("_id", "_seed", "_rng", "_initialized", "_num_gpus")
_GRAPHS = "tensorflow.python.eager.polymorphic_function"


class Stream:
    """A `random.Random(seed)` that is made at its first use, because to seed it takes longer than many tests."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    @cached_property
    def stream(self) -> random.Random:
        """The stream itself."""
        return random.Random(self.seed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class TensorFlowAdapter(Adapter):
    """TensorFlow on the CPU and, if there is one, on a CUDA device."""

    library = "tensorflow"
    prefixes = ("tensorflow", "keras")
    ways = MODES
    previews = True

    def load(self) -> ModuleType:
        """Import TensorFlow and Keras; the eager context stays uninitialised, so that processes can be forked."""
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        # The allocator of CPU builds with oneDNN sleeps for 10 s before it reports that memory is out.
        os.environ.setdefault("TF_ONEDNN_USE_SYSTEM_ALLOCATOR", "1")
        self.root = importlib.import_module("tensorflow")
        from tensorflow.python.eager import context
        from tensorflow.python.framework import config, op_callbacks
        from tensorflow.python.util import tf_export

        from fuzz_core.adapters.tensorflow import apis, datasets, keras_versions, signatures, tensors

        self.keras, self.apis, self.tensors, self.dtypes = keras_versions, apis, tensors, tensors.TF_DTYPES
        self.definition, self.datasets = signatures, datasets
        # In the library's own dtypes of arrays: numpy has no bfloat16.
        self.arrays = Arrays({name: dtype.as_numpy_dtype for name, dtype in self.dtypes.items()})
        self.comparer = tensors.COMPARER
        self.context: Any = context.context()
        self.settings = attrgetter(*(k for k, v in vars(self.context).items() if v in (None, 0, 1) and k not in _OWN))
        self.callbacks, self.exported = op_callbacks, tf_export
        self.is_determined = config.is_op_determinism_enabled
        self.promotion = _found("tensorflow.python.framework.ops", "get_dtype_conversion_mode", lambda: None)
        self.transforms = _found(f"{_GRAPHS}.transform", "CONCRETE_FUNCTION_CALLBACKS", ())
        self.floatx = self.keras.floatx
        self.unseeded = self.keras.unseeded()
        self.seeds: set[int] = set()
        self.watched = False
        self.scope = contextlib.ExitStack()
        self.device = ""
        return self.root

    def listed(self) -> list[Listed]:
        """Return every exported function and class that computes."""
        listed: list[Listed] = self.apis.listed()
        return listed

    def definitions(self, listed: Iterable[Listed]) -> Iterable[Constraint]:
        """See `tensorflow.apis`."""
        found: Iterable[Constraint] = self.apis.definitions(listed)
        return found

    def signatures(self, entry: Listed) -> list[ApiSignature]:
        """See `tensorflow.signatures`."""
        methods = self.searched_methods(entry.found)
        return [each for method in methods for each in self.definition.signatures(entry, method)]

    def makes(self, entry: Listed) -> Iterable[Product]:
        """See `tensorflow.signatures`."""
        found: Iterable[Product] = self.definition.makes(entry)
        return found

    def objects(self) -> Mapping[str, Sequence[Invocation]]:
        """Return functions that an operation calls, datasets and their iterators."""
        made: Mapping[str, Sequence[Invocation]] = self.definition.MADE
        return made

    def casts(self) -> Mapping[str, Conversion]:
        """Return the quantised dtypes."""
        return {
            name: (name.removeprefix("q"), "tf.bitcast", (Ref("name", f"tf.{name}"),))
            for name in ("qint8", "quint8", "qint16", "quint16", "qint32")
        }

    def preview(self, api: str, function: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        """Ask the shape function of a raw operation, by adding the operation to a graph."""
        self.shape_functions.ask(api, function, args, keywords)

    @cached_property
    def shape_functions(self) -> Any:
        """The shape functions of raw operations."""
        return self.definition.ShapeFunctions()

    def missing_requirement(self, message: str) -> str:
        """See `tensorflow.signatures`."""
        return self.definition.missing_requirement(message) or super().missing_requirement(message)

    def describe(self, value: Any, describe: Describe) -> Value | None:
        """Describe tensors of every make, dtypes, shapes, specifications, enums and dtype policies."""
        tf = self.root
        if (tensor := self.tensors.describe_tensor(value, describe)) is not None:
            return tensor
        if isinstance(value, tf.DType):
            name = self.tensors.NAMES.get(value)
            return Ref("dtype", name) if name else Ref("name", f"tf.{value.name}")
        if isinstance(value, tf.TensorShape):
            return self.tensors.shape_value(value)
        if type(value) is tf.TensorSpec:
            return Invocation("tf.TensorSpec", (describe(value.shape), describe(value.dtype)))
        if isinstance(value, enum.Enum):
            enumeration = self.exported.get_canonical_name_for_symbol(type(value))
            return Ref("name", f"tf.{enumeration}.{value.name}") if enumeration else None
        if isinstance(value, self.keras.POLICY) and not isinstance(value, self.keras.POLICY_MAP):
            return prim(value.name)
        return None

    def tensor(self, array: Any, tensor: Tensor, device: str) -> Any:
        """Return a live tf.Tensor or tf.Variable."""
        return self.tensors.live_tensor(array, tensor, device)

    def then_methods(self, cls: type) -> tuple[str, ...]:
        """Return the main methods of Keras objects, and every public method of TensorFlow's own classes.

        Methods of core classes are left out.
        """
        names = self.functions(cls)
        if cls.__module__.startswith("keras."):
            return tuple(name for name in _KERAS_METHODS if name in names)
        tf = self.root
        core = (tf.Tensor, tf.Variable, tf.TensorShape, tf.DType, tf.TypeSpec, tf.Graph, tf.Operation, tf.GradientTape)
        return () if issubclass(cls, core) else names

    def observe(self, seen: Seen) -> None:
        """Observe every operation executed eagerly, as a call of its raw_ops function."""
        self.apis.observe(seen)

    def constructions(self, call: Invocation, args: Mapping[str, Any], result: Any) -> Iterable[tuple[Any, Invocation]]:
        """See `tensorflow.signatures`."""
        found: Iterable[tuple[Any, Invocation]] = self.definition.constructions(call, args, result)
        return found

    def neighbours(self) -> Sequence[Callable[[TestCase], object]]:
        """Return the call with its first and second derivative, and the layer in training and in evaluation."""
        from fuzz_core.adapters.tensorflow import neighbours

        return neighbours.ways(self)

    def prepare(self) -> None:
        """Set one thread for each pool, quiet logs, and a limit of GPU memory."""
        warnings.simplefilter("ignore")
        self.root.get_logger().setLevel(logging.ERROR)
        logging.getLogger("absl").setLevel(logging.ERROR)
        threading = self.root.config.threading
        with contextlib.suppress(RuntimeError):  # set before the first operation or never
            threading.set_intra_op_parallelism_threads(1)
            threading.set_inter_op_parallelism_threads(1)
            if "cuda" in self.device_modes():
                # Products on a GPU round their arguments to 10 bits otherwise. Results of the CPU have 23.
                self.root.config.experimental.enable_tensor_float_32_execution(False)
                for gpu in self.root.config.list_physical_devices("GPU"):
                    bounded = self.root.config.LogicalDeviceConfiguration(memory_limit=GPU_MEMORY_BYTES >> 20)
                    self.root.config.set_logical_device_configuration(gpu, [bounded])

    def reset(self, seed: int) -> None:
        """Undo what an earlier test may have switched globally and reseed all random streams.

        `tf.random.set_seed` drops all cached kernels, which makes the next operations 50 times slower. Kernels are
        cached by their seeds. So the call is needed only when a seed comes back, and now and then to bound the cache.
        """
        seed &= 0x7FFFFFFF
        again = seed in self.seeds and not self.watched
        if again or len(self.seeds) >= CLEAR_EVERY or not hasattr(self.context, "_rng"):
            self.root.random.set_seed(seed)
            self.seeds.clear()
        else:
            self.context._seed, self.context._rng = seed, Stream(seed)
        self.seeds.add(seed)
        random.seed(seed)
        self.unseeded()
        if self.context.op_callbacks and not self.watched:
            self.callbacks.clear_op_callbacks()
        if self.floatx() != "float32":
            self.keras.set_floatx("float32")

    def drawn(self) -> object:
        """Return the state of the stream that seeds operations, and of those of Python and numpy."""
        return self.context._rng.getstate(), super().drawn()

    def state(self) -> object:
        """Return all global settings of the library.

        They are Keras's defaults and dtype policy, eager execution, and the settings of the context. The last ones are
        hooks for every graph and operation, determinism, and the promotion of dtypes.
        """
        return (
            *self.keras.settings(),
            self.root.config.functions_run_eagerly(),
            self.root.executing_eagerly(),
            self.root.get_logger().level,
            len(self.transforms),
            len(self.context._optimizer_experimental_options),
            0 if self.watched else len(self.context.op_callbacks),
            self.is_determined(),
            self.promotion(),
            [value for value in self.settings(self.context) if type(value) in _PLAIN],
        )

    def doubt(self, result: Any, named: Callable[[], Mapping[str, Any]]) -> str:
        """See `Adapter`: the first element of a dataset must have the declared types and shapes."""
        found: str = self.datasets.unreadable(result, named, lambda: map(Builder(self).call, self.definition.DATASETS))
        return found

    def amended(self, call: Invocation, doubt: str) -> Invocation | None:
        """See `Adapter`: a dataset tells the types and shapes that its operation must declare."""
        made: Invocation | None = self.datasets.amended(call, doubt)
        return made

    def device_modes(self) -> tuple[str, ...]:
        """Return `cpu`, and `cuda` for a CUDA build on a machine with a driver; asking TensorFlow would start CUDA."""
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0") not in ("", "-1")
        built = self.root.test.is_built_with_cuda()
        return ("cpu", "cuda") if built and visible and _DRIVER.is_dir() and any(_DRIVER.iterdir()) else ("cpu",)

    @cached_property
    def several(self) -> bool:
        """Whether there is more than one device."""
        return len(self.device_modes()) > 1

    def enter(self, mode: str) -> str:
        """Place operations on a device: with a GPU, TensorFlow would otherwise choose by itself."""
        if not self.several:
            return "cpu"
        device = "/CPU:0" if mode == "cpu" else "/GPU:0"
        if device != self.device:
            self.scope.close()
            self.scope.enter_context(self.root.device(device))
            self.device = device
        return device

    def synchronise(self, mode: str) -> None:
        """Wait for the GPU's streams."""
        if mode != "cpu":
            self.root.test.experimental.sync_devices()

    @contextlib.contextmanager
    def operators(self, seen: Callable[[str], None]) -> Iterator[None]:
        """Pass operations to `seen` by op callbacks.

        Within it `reset` leaves the callbacks and all cached kernels as they are.
        """
        self.watched = True
        try:
            with self.apis.operators(seen):
                yield
        finally:
            self.watched = False

    def models(self) -> Models:
        """See `tensorflow.models`."""
        from fuzz_core.adapters.tensorflow import models

        return models.TensorFlowModels()

    def examples(self) -> Examples:
        """Return a function and a layer."""
        matrix = Tensor("float32", (2, 3))
        layer = Invocation("tf.keras.layers.ReLU", then=Then("__call__", (matrix,)))
        call = Invocation("tf.math.exp", (matrix,))
        return Examples((call, layer), "tf.random.uniform([3])", "tf.keras.backend.set_floatx('float64')")


def _found(module: str, name: str, otherwise: Any) -> Any:
    """Return an attribute of a module, or `otherwise` for builds that are older than the attribute."""
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        return otherwise
