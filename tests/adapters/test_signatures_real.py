"""Signatures, previews and refusals of real libraries, as a search of valid calls reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from libraryscripts import printed

pytestmark = pytest.mark.real

# Whether the shape function of a raw operation refuses these arguments.
REFUSED = """
import tensorflow as tf
def refused(name, **keywords):
    try:
        adapter.preview(f"tf.raw_ops.{name}", getattr(tf.raw_ops, name), (), keywords)
    except ValueError:
        return True
    return False
"""


@pytest.mark.parametrize("api", ["torch.nn.AdaptiveLogSoftmaxWithLoss", "torch.ao.nn.quantized.LayerNorm"])
def test_a_class_gets_no_other_device_than_the_cpu(torch_python: Path, api: str) -> None:
    script = f"""
[entry] = [each for each in adapter.listed() if each.api.name == {api!r}]
print([each.choices for form in adapter.signatures(entry) for each in form.parameters if each.name == "device"])
"""
    assert printed(torch_python, "torch", script) == "[(Ref(kind='device', name='cpu'),)]"


@pytest.mark.parametrize(
    ("api", "definition"),
    [
        (
            "torch.max_pool1d_with_indices",
            "(input, kernel_size, stride=[], padding=[0], dilation=[1], ceil_mode=False)",
        ),
        ("torch.index_fill", "(input, dim, index, value)"),  # the overloads agree
        ("torch.Tensor.sum_to_size", "(size) self size"),
        ("torch.nuclear_norm", " input"),  # its overloads share the first parameter
        ("torch.lstm", ""),  # its overloads share no parameter
        ("torch.ones", "(*size, *, out=None"),  # the docstring has it
    ],
)
def test_an_operator_without_a_docstring_has_the_parameters_of_its_schemas(
    torch_python: Path, api: str, definition: str
) -> None:
    script = f"""
[entry] = [each for each in adapter.listed() if each.api.name == {api!r}]
print(entry.api.definition, *entry.api.params)
"""
    assert printed(torch_python, "torch", script).startswith(api + definition)


@pytest.mark.parametrize(
    ("api", "methods"),
    [
        ("tf.data.experimental.RandomDataset", ["apply", "as_numpy_iterator"]),
        ("tf.linalg.LinearOperatorIdentity", ["add_to_tensor", "adjoint"]),
        ("tf.queue.FIFOQueue", ["close"]),
        ("tf.keras.layers.Dense", ["__call__"]),
        ("tf.concat", [""]),
    ],
)
def test_a_class_is_searched_with_a_method_that_needs_no_argument_too(
    tensorflow_python: Path, api: str, methods: list[str]
) -> None:
    script = f"""
[entry] = [each for each in adapter.listed() if each.api.name == {api!r}]
print([form.method for form in adapter.signatures(entry)])
"""
    assert printed(tensorflow_python, "tensorflow", script) == repr(methods)


def test_the_datasets_and_iterators_for_a_search_can_be_made(tensorflow_python: Path) -> None:
    script = """
import tensorflow as tf
from fuzz_core.adapters.modes import Builder
for kind, wanted in {"dataset": tf.data.Dataset, "iterator": tf.data.Iterator}.items():
    print({isinstance(Builder(adapter).call(each), wanted) for each in adapter.objects()[kind]})
"""
    assert printed(tensorflow_python, "tensorflow", script).split("\n") == ["{True}", "{True}"]


@pytest.mark.parametrize(
    ("call", "lack"),
    [
        # The refusal of a device's name lists all devices.
        ("torch.zeros(2, device='x')", ""),
        ("raise AssertionError('Torch not compiled with CUDA enabled')", "needs a CUDA device"),
        ("torch.eig(torch.eye(2))", "was removed from the library: only its name is left"),
        ("torch.ao.nn.quantized.LeakyReLU(1.0, 0)(torch.rand(2))", ""),
    ],
)
def test_what_a_refusal_says_of_the_machine(torch_python: Path, call: str, lack: str) -> None:
    script = f"""
import torch
try:
    {call}
except Exception as error:
    print(repr(adapter.missing_requirement(f"{{type(error).__name__}}: {{error}}")))
"""
    assert printed(torch_python, "torch", script) == repr(lack)


def test_a_preview_refuses_a_wrong_shape_and_no_variant(tensorflow_python: Path) -> None:
    script = (
        REFUSED
        + """
matrix = tf.raw_ops.DenseToCSRSparseMatrix(dense_input=tf.eye(2), indices=tf.constant([[0, 0], [1, 1]], tf.int64))
print(refused("SparseMatrixNNZ", sparse_matrix=matrix), refused("MatrixDiagPart", input=tf.ones([])))
transposed = refused("SparseMatrixTranspose", input=matrix, type=tf.float32)
print(transposed, refused("Cholesky", input=tf.ones([2])))
"""
    )
    assert printed(tensorflow_python, "tensorflow", script).split() == ["False", "True", "False", "True"]


def test_a_preview_takes_the_handle_of_eager_execution_for_a_handle_of_a_graph(tensorflow_python: Path) -> None:
    """A graph has the handle of a tensor array as a vector. The shape of a variable is known all the same."""
    script = (
        REFUSED
        + """
handle, flow = tf.raw_ops.TensorArrayV3(size=2, dtype=tf.float32)
write = dict(handle=handle, value=[1.0], flow_in=flow)
print(refused("TensorArrayWriteV3", index=0, **write), refused("TensorArrayWriteV3", index=[0], **write))
held = tf.Variable([1.0, 2.0])
print([refused("ResourceApplyGradientDescent", var=held.handle, alpha=0.5, delta=[1.0] * size) for size in (2, 3)])
"""
    )
    assert printed(tensorflow_python, "tensorflow", script).split("\n") == ["False True", "[False, True]"]


# A call of a raw operation that makes a dataset, and what the adapter doubts.
DOUBTED = """
import tensorflow as tf
def doubted(name, types, shapes, **keywords):
    named = {"output_types": types, "output_shapes": shapes, **keywords}
    return adapter.doubt(getattr(tf.raw_ops, name)(**named), lambda: named)
def same(element):
    return element
step = tf.function(same, autograph=False).get_concrete_function(tf.TensorSpec((), tf.int64))
inside = {"input_dataset": tf.data.Dataset.range(3)._variant_tensor}
batch = {**inside, "batch_size": tf.constant(2, tf.int64)}
"""


def test_a_dataset_whose_first_element_contradicts_its_arguments_is_doubted(tensorflow_python: Path) -> None:
    script = f"""{DOUBTED}
print(repr(doubted("BatchDataset", [tf.int64], [[]], **batch)))
print(repr(doubted("BatchDataset", [tf.float32], [[None]], **batch)))
print(repr(doubted("BatchDataset", [tf.int64] * 2, [[None]] * 2, **batch)))
print(repr(doubted("FilterDataset", [tf.int64], [[]], predicate=step, other_arguments=[], **inside)))
print(repr(adapter.doubt(tf.data.Dataset.range(3).map(lambda x: tf.reshape(x, [x + 7])), dict)))
print(repr(adapter.doubt(tf.data.experimental.from_variant(inside["input_dataset"], [[1]]), dict)))
print(repr(adapter.doubt(tf.data.experimental.take_while(tf.keras.losses.KLD), dict)))
print(repr(adapter.doubt(tf.data.experimental.dense_to_sparse_batch([1, 2], [4]), dict)))
"""
    shape, dtype, count, predicate, public, structure, two, sizes = (
        printed(tensorflow_python, "tensorflow", script).strip().split("\n")
    )
    assert all(each[1:].startswith("output_types and output_shapes do not fit: ") for each in (shape, dtype, count))
    assert "Incompatible shapes" in shape and "Data type mismatch" in dtype and "Number of components" in count
    assert "must return a scalar bool" in predicate
    assert "Reshape" in public and "_flat_tensor_specs" in structure
    # Functions that make a dataset of another one, and can make none.
    assert "missing 1 required positional argument" in two and "batch_size" in sizes


def test_a_dataset_that_can_be_read_or_has_no_element_is_not_doubted(tensorflow_python: Path) -> None:
    script = f"""{DOUBTED}
found = [
    doubted("BatchDataset", [tf.int64], [[None]], **batch),
    doubted("BatchDataset", [tf.int64], [None], **batch),
    doubted("TakeDataset", [tf.int64], [[]], count=tf.constant(0, tf.int64), **inside),
    adapter.doubt(tf.data.TextLineDataset("/no/such/file"), dict),
    adapter.doubt(tf.data.experimental.unbatch(), dict),  # it takes one of the samples
    adapter.doubt(tf.constant(1), dict),
    adapter.doubt(tf.data.Dataset.range(3)._variant_tensor, dict),
]
print(found)
"""
    assert printed(tensorflow_python, "tensorflow", script).strip() == repr([""] * 7)


def test_a_call_is_amended_by_what_its_dataset_tells(tensorflow_python: Path) -> None:
    script = """
import tensorflow as tf
from fuzz_core.adapters.modes import Builder
from fuzz_core.ir.values import Invocation, Ref, Seq, Then, prim
builder = Builder(adapter)
pairs = Invocation("tf.data.Dataset.from_tensors", (Seq("tuple", (prim("a"), prim(1.0))),))
inside = pairs._replace(then=Then("__getattribute__", (prim("_variant_tensor"),)))
size = Invocation("tf.constant", (prim(2), Ref("dtype", "int64")))
types, shapes = Seq("list", (Ref("dtype", "int32"),) * 3), Seq("list", (Seq("list", (prim(7),)),))
named = (("input_dataset", inside), ("batch_size", size), ("output_types", types), ("output_shapes", shapes))
call, steps = Invocation("tf.raw_ops.BatchDataset", (), named), 0
named = lambda: {name: builder.build(value) for name, value in call.kwargs}
while call is not None and (doubt := adapter.doubt(builder.call(call), named)):
    call, steps = adapter.amended(call, doubt), steps + 1
said = dict(call.kwargs)
types, shapes = said["output_types"].items, said["output_shapes"].items
print(steps, [each.name for each in types], [each == prim(None) for each in shapes])
print(adapter.amended(call, "Filter predicate must return a scalar bool"))
"""
    lines = printed(tensorflow_python, "tensorflow", script).strip().split("\n")
    assert lines == ["5 ['string', 'float32'] [True, True]", "None"]


def test_the_types_and_shapes_of_the_same_values_have_one_length(tensorflow_python: Path) -> None:
    script = """
for api in ("Iterator", "FIFOQueue", "ParseSequenceExample"):
    [entry] = [each for each in adapter.listed() if each.api.name == f"tf.raw_ops.{api}"]
    [form] = adapter.signatures(entry)
    print(*(f"{each.name}:{each.many}" for each in form.parameters if each.many and each.kind in ("dtype", "shape")))
"""
    iterator, queue, example = printed(tensorflow_python, "tensorflow", script).strip().split("\n")
    assert iterator == "output_types:output_ output_shapes:output_"
    assert queue == "component_types:* shapes:*"
    assert "context_dense_shapes:*" in example
