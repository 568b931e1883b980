"""Signatures of TensorFlow's raw operations, from their definitions, and the objects that they take."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_def_registry
from tensorflow.python.framework.func_graph import FuncGraph
from tensorflow.python.ops.handle_data_util import copy_handle_data

from fuzz_core.adapters.definitions import python_signatures
from fuzz_core.adapters.inventory import Listed
from fuzz_core.adapters.tensorflow.apis import OPAQUE, RAW, raw_op
from fuzz_core.adapters.tensorflow.tensors import NAMES
from fuzz_core.ir.signatures import OBJECT, ApiSignature, Product, SignatureParameter
from fuzz_core.ir.values import Invocation, Ref, Seq, Then, prim

OBJECTS = ("resource", "variant")
# The kind of a function that an operation calls.
FUNCTION = "func"
# Lists of one length: the types and the shapes of the same values.
_PAIRED = re.compile(r"(\w+_)(?:types|shapes)")
_KINDS = {"string": "str", "type": "dtype", "tensor": "tensor", "shape": "shape"}


# The variable of an operation that takes a resource has the dtype and shape of another argument.
VARIABLE = ApiSignature("tf.Variable", (SignatureParameter("initial_value", "tensor", positional=True, group="T"),))


def _function(name: str, *dtypes: str) -> Invocation:
    """Return the call that makes a function of tensors of any shape."""
    specs = (Invocation("tf.TensorSpec", (prim(None), Ref("dtype", dtype))) for dtype in dtypes)
    # The translation of Python's control flow would write a file.
    plain = (("autograph", prim(False)),)
    return Invocation("tf.function", (Ref("name", name),), plain, Then("get_concrete_function", tuple(specs)))


# As steps, predicates that hold and that do not, sums of a state and an element, and a dataset for each element.
FUNCTIONS = (
    *(_function("tf.identity", dtype) for dtype in ("float32", "int32", "int64", "string")),
    *(_function(f"tf.math.{name}", "float32") for name in ("is_finite", "is_inf", "negative")),
    *(_function("tf.add", dtype, dtype) for dtype in ("float32", "int64")),
    *(_function("tf.data.Dataset.from_tensors", dtype) for dtype in ("float32", "int64")),
)
# Numbers, one element, a pair of a key and its value, and an element for each key.
DATASETS = (
    Invocation("tf.data.Dataset.range", (prim(3),)),
    Invocation("tf.data.Dataset.from_tensors", (Seq("list", (prim(0.5), prim(2.0))),)),
    Invocation("tf.data.Dataset.from_tensors", (Seq("tuple", (prim("a"), prim(1))),)),
    Invocation("tf.data.Dataset.from_tensor_slices", (Seq("list", (prim("a"), prim("b"))),)),
)
# Calls that make arguments, by the kind of the argument or by a word of its name.
MADE = {
    FUNCTION: FUNCTIONS,
    "dataset": DATASETS,
    "iterator": tuple(each._replace(then=Then("__iter__")) for each in DATASETS),
}


def signatures(entry: Listed, then: str) -> list[ApiSignature]:
    """Return the signatures of an api.

    Args:
        then: the method that is called on an instance of a class.
    """
    if entry.api.name == VARIABLE.api:
        return [VARIABLE]
    name = entry.api.name.removeprefix(RAW)
    spelled = raw_op(name) if entry.api.name.startswith(RAW) else None
    if not entry.api.name.startswith(RAW):
        return python_signatures(entry, then)
    if spelled is None:
        return []
    definition = op_def_registry.get(name)
    attributes = {attribute.name: attribute for attribute in definition.attr}
    found = [
        _input(keyword, argument, attributes)
        for argument, (keyword, _) in zip(definition.input_arg, spelled.inputs, strict=True)
    ]
    found += [_attribute(attributes[keyword], kind, attributes) for keyword, kind in spelled.attributes.items()]
    return [ApiSignature(entry.api.name, tuple(found))]


def _input(keyword: str, argument: Any, attributes: dict[str, Any]) -> SignatureParameter:
    many = argument.number_attr or argument.type_list_attr
    counted = attributes.get(argument.number_attr)
    least = counted.minimum if counted is not None and counted.has_minimum else None
    allowed = attributes.get(argument.type_attr or argument.type_list_attr)
    dtypes = (_name(argument.type),) if argument.type else _allowed(allowed)
    group = argument.type_attr
    kind = "object" if set(dtypes) & {*OBJECTS} else "tensor"
    return SignatureParameter(keyword, kind, many=many, group=group, dtypes=dtypes, least=least)


def _attribute(attribute: Any, kind: str, others: Collection[str]) -> SignatureParameter:
    many, inner = ("*", kind[5:-1]) if kind.startswith("list(") else ("", kind)
    paired = _PAIRED.fullmatch(attribute.name) if many else None
    if paired and {f"{paired[1]}types", f"{paired[1]}shapes"} <= {*others}:
        many = paired[1]
    dtypes = _allowed(attribute) if inner == "type" else (FUNCTION,) if inner == FUNCTION else ()
    texts = attribute.allowed_values.list.s if inner == "string" else ()
    return SignatureParameter(
        attribute.name,
        _KINDS.get(inner, inner) if inner != FUNCTION else "object",
        required=not attribute.HasField("default_value"),
        many=many,
        group=attribute.name if inner == "type" and not many else "",
        dtypes=dtypes,
        choices=tuple(prim(text.decode()) for text in texts),
        least=attribute.minimum if attribute.has_minimum else None,
    )


def _allowed(attribute: Any) -> tuple[str, ...]:
    if attribute is None or not attribute.HasField("allowed_values"):
        return ()
    return tuple(_name(number) for number in attribute.allowed_values.list.type)


def _name(number: int) -> str:
    dtype = tf.as_dtype(number)
    return NAMES.get(dtype) or str(dtype.name)


# A graph keeps the arguments of so many calls.
MOST_ASKED = 100
# Attributes of instances that hold a resource.
_HANDLES = ("handle", "resource_handle")


def makes(entry: Listed) -> Iterator[Product]:
    """Yield the resources, variants and texts that calls of an api make.

    The type of a variant does not say what the variant holds. The name of the output says it.
    """
    name = entry.api.name.removeprefix(RAW)
    if entry.api.name.startswith(RAW) and raw_op(name) is not None:
        outputs = op_def_registry.get(name).output_arg
        for place, output in enumerate(outputs):
            kind = tf.as_dtype(output.type).name if output.type else ""
            if kind in (*OBJECTS, "string") and not output.number_attr:
                then = None if len(outputs) == 1 else Then("__getitem__", (prim(place),))
                yield Product(kind, then, output.name if kind == "variant" else "")
    elif isinstance(entry.found, type):
        yield Product(OBJECT)
        for handle in _HANDLES:
            if hasattr(entry.found, handle):
                yield Product("resource", Then("__getattribute__", (prim(handle),)))


def constructions(call: Invocation, args: Mapping[str, Any], result: Any) -> Iterator[tuple[Any, Invocation]]:
    """See `Adapter.constructions`: resources and variants, and a variable for the resource that holds its value."""
    if not call.api.startswith(RAW):
        for handle in _HANDLES:
            if isinstance(held := getattr(result, handle, None), tf.Tensor):
                yield held, call._replace(then=Then("__getattribute__", (prim(handle),)))
        return
    for place, output in enumerate(result):
        if output.dtype in OPAQUE:
            yield output, call if len(result) == 1 else call._replace(then=Then("__getitem__", (prim(place),)))
    if call.api == f"{RAW}AssignVariableOp":
        value = dict(call.kwargs)["value"]
        yield args["resource"], Invocation(VARIABLE.api, (value,), then=Then("__getattribute__", (prim("handle"),)))


class ShapeFunctions:
    """The shape functions of raw operations: kernels rely on them, and eager execution leaves them out.

    Many calls share a graph, so that an argument of several calls is put into the graph once.
    """

    def __init__(self) -> None:
        self.graph = FuncGraph("shapes")
        self.asked = 0

    def ask(self, api: str, function: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        """See `Adapter.preview`.

        A variant from eager execution has no shape in a graph, so that some shape functions refuse every variant. A
        handle from eager execution is a scalar. Some shape functions want the rank that it would have in a graph, and
        take an unknown one too.
        """
        if not api.startswith(RAW):
            return
        self.asked += 1
        if self.asked % MOST_ASKED == 0:
            self.graph = FuncGraph("shapes")
        with self.graph.as_default():
            try:
                function(*args, **keywords)
            except ValueError as error:
                if "Unable to access shape and type info from variant" in str(error):
                    return
                if "but is rank 0" not in str(error) or not any(_is_handle(each) for each in keywords.values()):
                    raise
                function(*args, **{n: _unranked(each) if _is_handle(each) else each for n, each in keywords.items()})


def _is_handle(value: Any) -> bool:
    return isinstance(value, tf.Tensor) and value.dtype == tf.resource


def _unranked(handle: tf.Tensor) -> tf.Tensor:
    """Return a handle of unknown rank, in a graph, for the same resource."""
    made = tf.compat.v1.placeholder(tf.resource)
    copy_handle_data(handle, made)
    return made


_LACKS = {
    r"does not support eager execution|be a mutable tensor": "takes references: no eager execution has them",
    r"not (?:supported|compatible) (?:when|with) eager execution|not supported when eager": "is for graphs alone",
    r"experimental_enable_numpy_behavior\(\)": "needs NumPy's behaviour of tensors: a switch of the library",
    r"is not available in GraphDef version": "was removed from the library: only its name is left",
}
# Kernels of a build are registered by device: an operation without one for the CPU needs another device or build.
_NO_KERNEL = re.compile(r"<no registered kernels>|No registered '\w+' OpKernel")
_OTHER = re.compile(r"device='(?!CPU)(\w+)'")


def missing_requirement(message: str) -> str:
    """See `Adapter.missing_requirement`."""
    for pattern, reason in _LACKS.items():
        if re.search(pattern, message):
            return reason
    if "device='CPU'" in message or not ("ernel" in message and "egistered" in message):
        return ""
    other = _OTHER.search(message)
    if other is not None:
        return f"needs a {other[1]}: the build has no kernel for the CPU"
    return "the build has no kernel of the operation" if _NO_KERNEL.search(message) else ""
