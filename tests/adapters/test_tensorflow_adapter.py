"""The adapter class of TensorFlow, in a process of the real library."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

_LISTING = """
import json
from fuzz_core.adapters.base import adapter_of
from fuzz_core.ir.values import Ref
adapter = adapter_of("tensorflow")
adapter.load()
listed = adapter.listed()
print(json.dumps({
    "apis": [entry.api for entry in listed],
    "initialised": adapter.context._initialized,
    "modes": adapter.device_modes(),
    "unresolved": [e.api.name for e in listed if adapter.ref(Ref("name", e.api.name), "cpu") is not e.found],
}))
"""

_ROUND_TRIP = """
import json
import numpy as np
from fuzz_core.adapters.base import adapter_of
from fuzz_core.ir.codec import decode, encode
from fuzz_core.ir.elements import elements
from fuzz_core.ir.errors import BuildError, Undescribable
from fuzz_core.ir.values import Fill, Ref, Tensor
from fuzz_core.tracing.describe import Describer
from fuzz_core.adapters.modes import Builder
adapter = adapter_of("tensorflow")
tf = adapter.load()
listed = adapter.listed()
adapter.prepare()
describer, builder = Describer(adapter, listed), Builder(adapter)
values = {
    **{name: tf.cast([[0.0, 1.0], [2.0, 3.0]], name) for name in adapter.tensors.TF_DTYPES if name != "string"},
    "string": tf.constant(["a", ""]),
    "binary": tf.constant([b"\\x89PNG\\0", b"a"]),
    "empty": tf.zeros((0, 3)),
    "scalar": tf.constant(2.5),
    "special": tf.constant([float("nan"), float("inf")]),
    "variable": tf.Variable([1, 2]),
    "keras variable": tf.keras.Variable([1.0, 2.0]),
    "ragged": tf.ragged.constant([[1, 2], [3]]),
    "nested ragged": tf.ragged.constant([[[1], []], []]),
    "sparse": tf.sparse.SparseTensor([[0, 1]], [5.0], [2, 2]),
    "slices": tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0])),
    "dtype": tf.float16,
    "quantised dtype": tf.qint8,
    "shape": tf.TensorShape([1, None]),
    "unknown shape": tf.TensorShape(None),
    "spec": tf.TensorSpec([None, 2], tf.int32),
    "enum": tf.UnconnectedGradients.ZERO,
    "symbolic": tf.keras.KerasTensor((None, 3)),
    "function": tf.nn.relu,
}
def same(name, one, two):
    if name == "symbolic":
        return one.shape == two.shape and one.dtype == two.dtype
    if name in ("shape", "unknown shape"):
        return one.is_compatible_with(two)
    if isinstance(one, (tf.RaggedTensor, tf.SparseTensor, tf.IndexedSlices)):
        return adapter.differences(one, two) == ""
    if hasattr(one, "numpy"):
        return one.dtype == two.dtype and isinstance(two, type(one)) and adapter.differences(one, two) == ""
    return one is two or one == two
wrong = []
for name, value in values.items():
    rebuilt = builder.build(decode(json.loads(json.dumps(encode(describer.describe(value))))))
    if not same(name, value, rebuilt):
        wrong.append([name, repr(value), repr(rebuilt)])
def refused(error, action):
    try:
        action()
    except error as raised:
        return str(raised)
    return ""
@tf.function
def graph(x):
    return tf.constant(refused(Undescribable, lambda: describer.describe(x)))
def draw():
    return [float(tf.random.uniform([])), float(tf.keras.initializers.HeNormal()((2, 2))[0, 0])]
def seeded(seed):
    adapter.reset(seed)
    return draw()
def set_seed(seed):
    tf.keras.utils.set_random_seed(seed)
    return draw()
def written_to(tensor, write):
    write(adapter.build(tensor, "cpu"))
    return np.asarray(adapter.build(tensor, "cpu")).tolist()
def overwrite(array):
    array[0] = 5.0
def watched(api, **arguments):
    found = set()
    adapter.reset(1)
    with adapter.operators(found.add):
        adapter.reset(1)
        adapter.ref(Ref("name", api), "cpu")(**arguments)
    adapter.ref(Ref("name", "tf.math.cosh"), "cpu")(1.0)
    return sorted(found)
def as_drawn(tensor):
    return np.array_equal(np.asarray(adapter.build(tensor, "cpu")).ravel(), elements(tensor))
ones = Tensor("float32", (2,), Fill("constant", 1.0))
print(json.dumps({
    "wrong": wrong,
    "graph": graph(values["float32"]).numpy().decode(),
    "resource": refused(Undescribable, lambda: describer.describe(values["variable"].handle)),
    "impossible size": refused(
        Undescribable, lambda: describer.describe(tf.reshape(tf.zeros([0]), [2**56, 0, 2**10]))
    ),
    "too many": refused(BuildError, lambda: adapter.build(Tensor("int8", (1 << 23,)), "cpu")),
    "complex32": refused(BuildError, lambda: adapter.build(Tensor("complex32", (1,)), "cpu")),
    "no name": refused(BuildError, lambda: adapter.ref(Ref("name", "tf.nn.no_such"), "cpu")),
    "strided": adapter.build(Tensor("int32", (2,), Fill("constant", 7), strides=(2,)), "cpu").numpy().tolist(),
    "draws": [seeded(1), seeded(2), seeded(1), seeded(1)],
    "watched": [
        watched("tf.math.add", x=tf.constant([1.0]), y=2.0),
        watched("tf.raw_ops.Empty", shape=[2], dtype=tf.int8),
    ],
    "as set_seed": [seeded(3), set_seed(3)],
    "written to": [
        written_to(ones, lambda x: tf.raw_ops.InplaceUpdate(x=x, i=[0], v=[5.0])),
        written_to(ones._replace(container="variable"), lambda x: x.assign([5.0, 5.0])),
        written_to(ones._replace(container="ndarray"), overwrite),
    ],
    "as drawn": [
        as_drawn(Tensor(dtype, shape, Fill("uniform", -3.0, 3.0, key=7)))
        for dtype in ("float32", "float64", "int8", "uint32", "complex64", "bool")
        for shape in ((), (0, 2), (3, 2), (3, 2), (40, 30))
    ],
    "agree": [
        adapter.differences(tf.constant([1.0, float("nan")]), tf.constant([1.0 + 1e-7, float("nan")])),
        adapter.differences([tf.constant(1), "x"], [tf.constant(1), "y"]),
    ],
    "differ": [
        adapter.differences(tf.constant([1.0]), tf.constant([1.1])),
        adapter.differences(tf.constant([1]), tf.constant([1.0])),
        adapter.differences([tf.constant(1)], [tf.constant(1), tf.constant(2)]),
        adapter.differences(tf.constant(["a"]), tf.constant(["b"])),
    ],
}))
"""

_TRACE = """
import json, os, sys
from fuzz_core.adapters.base import adapter_of
from fuzz_core.tracing.hooks import Hooks
from fuzz_core.tracing.runner import run_seed
adapter = adapter_of("tensorflow")
adapter.load()
listed = adapter.listed()
hooks = Hooks(adapter)
failed = hooks.install(listed)
initialised = adapter.context._initialized
code = sys.stdin.read()
statuses = []
for child in range(3):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        with os.fdopen(writer, "w") as out:
            run_seed(adapter, listed, hooks, {"kind": "snippet", "code": code}, out.write)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as lines:
        recorded = [json.loads(line) for line in lines]
    statuses.append(os.waitpid(pid, 0)[1])
print(json.dumps({"failed": failed, "initialised": initialised, "statuses": statuses, "recorded": recorded}))
"""

_SNIPPET = """
import tensorflow as tf
a = tf.constant([[1.0, 2.0]])
total = tf.math.add(a, 1.0)
@tf.function
def f(x):
    if tf.reduce_sum(x) > 0:
        return tf.nn.relu(x)
    return x
f(a)
joined = tf.concat([a, a], 0)
layer = tf.keras.layers.Dense(3, activation=tf.nn.relu)
layer(a)
inputs = tf.keras.Input((2,))
model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(inputs))
model(a)
assert tf.keras.layers.Dense.from_config(layer.get_config()).units == 3
assert tf.keras.activations.serialize(tf.keras.activations.gelu) == "gelu"
metric = tf.keras.metrics.Accuracy()
metric.update_state([1, 2], [1, 3])
tf.linalg.matmul(a, a)
"""

# Level 1 keeps messages of TensorFlow's own allocator, which waits for memory that is never freed.
_MEMORY = """
import json, os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "1"
from fuzz_core.adapters.base import adapter_of
from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.ir.values import Invocation, Seq, TestCase, prim
from fuzz_core.worker import limits
from fuzz_core.worker.execution import Execution
adapter = adapter_of("tensorflow")
adapter.load()
adapter.prepare()
execution = Execution(adapter, dialect_of("tensorflow"), ["crash"])
limits.limit(1 << 30)
said = os.open("said", os.O_RDWR | os.O_CREAT)
os.dup2(said, 2)
shape = Seq("list", (prim(1 << 32),))
outcomes = [execution.judge(TestCase(Invocation(api, (shape,)), 1))[0].kind for api in ("tf.zeros", "tf.random.normal")]
print(json.dumps({"outcomes": outcomes, "said": open("said").read()}))
"""


def run(python: Path, program: str, text: str = "", directory: Path = ROOT) -> Any:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [python, "-c", program],
        input=text,
        env=environment,
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def listing(tensorflow_python: Path) -> Any:
    return run(tensorflow_python, _LISTING)


@pytest.fixture(scope="module")
def round_trip(tensorflow_python: Path) -> Any:
    return run(tensorflow_python, _ROUND_TRIP)


@pytest.fixture(scope="module")
def trace(tensorflow_python: Path) -> Any:
    return run(tensorflow_python, _TRACE, _SNIPPET)


@pytest.mark.real
class DescribeTensorFlowListing:
    def test_lists_the_public_namespace_without_starting_tensorflow(self, listing: Any) -> None:
        names = [api[0] for api in listing["apis"]]
        assert len(names) > 3000
        assert names == sorted(set(names))
        assert {"tf.reshape", "tf.nn.conv2d", "tf.keras.layers.Dense", "tf.raw_ops.Conv2D", "tf.io.decode_png"} <= {
            *names
        }
        assert not [name for name in names if name.startswith(("tf.compat", "tf.config", "tf.io.gfile"))]
        assert not listing["initialised"]
        assert listing["modes"][0] == "cpu"

    def test_folds_aliases_into_the_name_that_tensorflow_calls_canonical(self, listing: Any) -> None:
        apis = {api[0]: api for api in listing["apis"]}
        assert apis["tf.math.add"][5] == ["tf.add"]
        assert "tf.losses.MeanSquaredError" in apis["tf.keras.losses.MeanSquaredError"][5]
        assert "tf.keras.ops.nn.relu" in apis["tf.keras.ops.relu"][5]

    def test_tells_kinds_and_parameters(self, listing: Any) -> None:
        apis = {api[0]: api for api in listing["apis"]}
        assert apis["tf.math.add"][1:3] == ["function", ["x", "y", "name"]]
        assert apis["tf.keras.layers.Dense"][1] == "class"
        assert apis["tf.keras.layers.Dense"][2][:2] == ["units", "activation"]

    def test_names_resolve_to_what_was_listed(self, listing: Any) -> None:
        assert listing["unresolved"] == []


@pytest.mark.real
class DescribeTensorFlowValues:
    def test_every_value_is_rebuilt_equal(self, round_trip: Any) -> None:
        assert round_trip["wrong"] == []

    @pytest.mark.parametrize(
        ("case", "part"),
        [
            ("graph", "inside a graph"),
            ("resource", "tensor of resource"),
            ("impossible size", "tensor whose values TensorFlow does not give"),
            ("too many", "more than"),
            ("complex32", "no dtype complex32"),
            ("no name", "tf.nn.no_such"),
        ],
    )
    def test_refuses_what_it_cannot_hold(self, round_trip: Any, case: str, part: str) -> None:
        assert part in round_trip[case]

    def test_ignores_strides(self, round_trip: Any) -> None:
        assert round_trip["strided"] == [7, 7]

    def test_the_same_seed_draws_the_same_numbers(self, round_trip: Any) -> None:
        first, other, again, third = round_trip["draws"]
        assert first == again == third != other

    def test_tells_of_operators_while_it_is_asked_to(self, round_trip: Any) -> None:
        assert round_trip["watched"] == [["AddV2 float32"], ["Empty int32"]]

    def test_seeds_as_tensorflow_does(self, round_trip: Any) -> None:
        reset, set_seed = round_trip["as set_seed"]
        assert reset == set_seed

    def test_has_the_elements_that_are_drawn(self, round_trip: Any) -> None:
        assert all(round_trip["as drawn"])

    def test_what_a_test_writes_into_its_arguments_does_not_outlast_it(self, round_trip: Any) -> None:
        assert round_trip["written to"] == [[1.0, 1.0]] * 3

    def test_differences_follow_the_default_tolerances(self, round_trip: Any) -> None:
        assert round_trip["agree"] == ["", ""]
        assert all(round_trip["differ"])


@pytest.mark.real
class DescribeTensorFlowMemory:
    def test_what_does_not_fit_is_reported_and_not_waited_for(self, tensorflow_python: Path, tmp_path: Path) -> None:
        seen = run(tensorflow_python, _MEMORY, directory=tmp_path)
        assert seen["outcomes"] == ["oom", "oom"]
        assert "OOM when allocating" in seen["said"]
        assert "bfc_allocator" not in seen["said"]


@pytest.mark.real
class DescribeTensorFlowTracing:
    def test_seeds_run_in_forked_processes_as_they_do_alone(self, trace: Any) -> None:
        assert trace["failed"] == []
        assert not trace["initialised"]
        assert trace["statuses"] == [0, 0, 0]
        end = trace["recorded"][-1]
        assert end["failed"] == 1
        assert "Matrix size-incompatible" in end["reason"]

    def test_records_functions_instances_and_raw_operations(self, trace: Any) -> None:
        recorded = [line for line in trace["recorded"] if "call" in line]
        valid = {line["call"][1] for line in recorded if line["ok"]}
        assert {"tf.math.add", "tf.keras.layers.Dense", "tf.keras.metrics.Accuracy"} <= valid
        assert {"tf.raw_ops.AddV2", "tf.raw_ops.ConcatV2", "tf.raw_ops.MatMul"} <= valid
        assert "tf.linalg.matmul" in {line["call"][1] for line in recorded if not line["ok"]}

    def test_raw_operations_take_lists_and_attributes_by_name(self, trace: Any) -> None:
        calls = [line["call"] for line in trace["recorded"] if "call" in line]
        (concat,) = [call for call in calls if call[1] == "tf.raw_ops.ConcatV2"]
        keywords = dict(concat[3])
        assert set(keywords) == {"values", "axis"}
        assert keywords["values"][:2] == ["S", "list"]
        assert len(keywords["values"][2]) == 2
        multiply = next(call for call in calls if call[1] == "tf.raw_ops.MatMul")
        assert dict(multiply[3])["transpose_a"] is False

    def test_a_layer_is_recorded_with_the_function_it_was_made_of_and_its_call(self, trace: Any) -> None:
        layers = [
            line["call"] for line in trace["recorded"] if "call" in line and line["call"][1] == "tf.keras.layers.Dense"
        ]
        relu = [layer for layer in layers if ["activation", ["R", "name", "tf.nn.relu"]] in layer[3]]
        assert any(layer[4] is not None and layer[4][0] == "__call__" for layer in relu)
