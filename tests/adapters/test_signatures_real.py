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
