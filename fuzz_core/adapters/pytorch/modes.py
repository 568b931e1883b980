"""Ways to execute a test case with PyTorch, of what its documentation and source promise of an api; derivatives too."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from math import isfinite
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.utils._pytree import tree_map

from fuzz_core.adapters import doubles
from fuzz_core.adapters.dialect import NEVER
from fuzz_core.adapters.doubles import Points, Scalar, direction
from fuzz_core.adapters.models import switched
from fuzz_core.adapters.modes import Mode, Trained, of_leaves
from fuzz_core.adapters.pytorch.checks import THREADS
from fuzz_core.adapters.pytorch.dialect import NN, inplace, other_layout
from fuzz_core.adapters.pytorch.documentation import (
    documentation,
    hides_from_gradients,
    is_inplace_twin,
    wants_whole_numbers,
)
from fuzz_core.adapters.pytorch.tensors import numbers
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.tree import numbers_of, tensors_of, walk
from fuzz_core.ir.values import Invocation, Ref, Tensor, TestCase

STORAGE = re.compile(r"storage|\baddress\b|as_strided|\bstride\(\)|contiguous|memory[ _](?:format|layout)|dim_order")
# Words of documentation by which derivatives hold only for certain matrices, places, sums or lines, or never. Autograd
# differentiates a function of such a matrix, or of a softmax's result, as if every change kept that property. It
# differentiates steps as if there were none.
_NO_DERIVATIVE = re.compile(
    r"[Hh]ermitian|symmetric|duplicate|not unique|repeat values|gradients? will be incorrect|respect to autograd"
    r"|obtained (?:with|by|from)\s+:\w+:`[\w.~]*softmax`|quantiz"
)


class Promised(Mode):
    """A mode that an api's documentation promises.

    The mode applies if there is documentation, the text lacks `unless`, and it allows the call's numbers.
    """

    unless = NEVER

    def applies(self, test: TestCase) -> bool:
        """See `Mode`: there must be tensors."""
        if not super().applies(test):
            return False
        function = self.builder.found(test.invocation.api)
        # An argument may be made by a call that the text forbids, such as a view of certain places of a storage.
        calls = [function, *map(self.builder.found, (call.api for call in made_inside(test)))]
        if not documentation(function) or any(self.unless.search(documentation(call)) for call in calls):
            return False
        return not (wants_whole_numbers(function) and has_fraction_beside_integers(test))


def made_inside(test: TestCase) -> Iterator[Invocation]:
    """Yield the calls that make arguments."""
    _, *inside = walk(test.invocation)
    return (value for value in inside if isinstance(value, Invocation))


def has_fraction_beside_integers(test: TestCase) -> bool:
    """Return whether there is a fraction among the numbers, although all tensors are of integers."""
    if any(DTYPES[tensor.dtype].floating for tensor in tensors_of(test.invocation)):
        return False
    return any(number != int(number.real) for number in numbers_of(test.invocation) if isfinite(abs(number)))


@cache
def layout_function(expression: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return an expression of the dialect as a function of `x`."""
    made: Callable[[torch.Tensor], torch.Tensor] = eval(f"lambda x: {expression}", {"torch": torch})
    return made


def alike(made: torch.Tensor, live: torch.Tensor) -> torch.Tensor:
    """Return a changed tensor of the kind of the live one: a parameter, or a tensor that gradients are asked for."""
    if isinstance(live, torch.nn.Parameter):
        return torch.nn.Parameter(made, requires_grad=live.requires_grad)
    return made.requires_grad_(live.requires_grad)


class Strided(Promised):
    """A result must not depend on the places of its arguments' elements in memory.

    Every row-major tensor is in the layout that the test case's seed chooses; `scattered` are those of the call.
    """

    unless = STORAGE

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Mode`."""
        expression = other_layout(described, self.seed)
        if not expression or not isinstance(live, torch.Tensor):
            return live
        made = layout_function(expression)(live.detach())
        self.scattered.append(made)
        return alike(made, live)

    def applies(self, test: TestCase) -> bool:
        """Return whether a row-major tensor has two elements or more, and the test case does not state its storage."""
        there = any(other_layout(tensor, test.seed) for tensor in tensors_of(test.invocation))
        return there and super().applies(test)

    def run(self, test: TestCase) -> Any:
        """See `Mode`; elements that share a place cannot be written to one by one."""
        self.seed, self.scattered = test.seed, list[torch.Tensor]()
        result = super().run(test)
        if any(made._version and 0 in made.stride() for made in self.scattered):
            raise BuildError("it writes into an expanded argument")
        return result


class Out(Promised):
    """`out=` must be given what is returned without it."""

    def applies(self, test: TestCase) -> bool:
        """Return whether the api has a parameter `out` that the call does not use."""
        call = test.invocation
        free = call.then is None and all(name != "out" for name, _ in call.kwargs)
        return free and super().applies(test) and takes_out(self.builder.found(test.invocation.api))

    def run(self, test: TestCase) -> Any:
        """See `Mode`: what the given tensors hold afterwards."""
        function, args, keywords = self.builder.parts(test.invocation)
        expected = function(*args, **keywords)
        place = _places(expected)
        self.adapter.reset(test.seed)
        function, args, keywords = self.builder.parts(test.invocation)
        self.builder.timed(function, args, {**keywords, "out": place})
        return place


def _places(result: Any) -> Any:
    """Return memory for a result, with other numbers in it."""
    parts = result if isinstance(result, tuple) and result else (result,)
    if not all(
        isinstance(each, torch.Tensor) and each.layout is torch.strided and not each._is_view() for each in parts
    ):
        raise BuildError("nothing that out= could hold")
    made = tuple(torch.empty_like(each, requires_grad=False).detach() for each in parts)
    return made if isinstance(result, tuple) else made[0]


@cache
def parameters(function: Any) -> Collection[str] | None:
    """Return the names of a function's parameters; None if it has no signature."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None


def takes_out(function: Any) -> bool:
    """Return whether a function has a parameter `out`, by its signature or by the operator's schemas."""
    if (names := parameters(function)) is not None:
        return "out" in names
    name = getattr(function, "__name__", "")
    return function is getattr(torch, name, None) and f"aten::{name}" in _schemas_with_out()


@cache
def _schemas_with_out() -> frozenset[str]:
    schemas = torch._C._jit_get_all_schemas()
    return frozenset(s.name for s in schemas if any(a.name == "out" and a.kwarg_only for a in s.arguments))


class InPlace(Promised):
    """The call that writes into its argument must leave there what the plain one returns."""

    def applies(self, test: TestCase) -> bool:
        """Return whether an in-place call exists, and its first argument can be written to: gradients allow it."""
        call = inplace(test.invocation)
        args = () if call is None else (call.then or call).args
        if call is None or not args or not isinstance(first := args[0], Tensor):
            return False
        function = self.builder.found(call.api)
        named = "inplace" in (parameters(function) or ()) if call.api.startswith(NN) else is_inplace_twin(function)
        writable = first.container == "tensor" and not first.requires_grad and first.strides is None
        return named and writable and super().applies(test)

    def run(self, test: TestCase) -> Any:
        """See `Mode`: what the argument holds afterwards."""
        call = inplace(test.invocation)
        assert call is not None
        function, args, keywords = self.builder.parts(call)
        before = args[0].shape, args[0].dtype
        self.builder.timed(function, args, keywords)
        if (args[0].shape, args[0].dtype) != before:
            raise BuildError("the argument has another shape now")
        return args[0]


class Meta(Promised):
    """The meta device must foresee shape and dtype; strides may depend on the real device."""

    device = "meta"

    def instance(self, live: Any) -> Any:
        """See `Mode`: modules without memory."""
        return live.to("meta") if isinstance(live, torch.nn.Module) else live

    def ref(self, ref: Ref) -> Ref:
        """See `Mode`."""
        return Ref("device", "meta") if ref.kind == "device" else ref


class Fake(Promised):
    """Mode with fake tensors, whose strides must be those of the result; `Meta` checks shape and dtype."""

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Mode`: it pretends to be on the CPU."""
        return self.faking.from_tensor(live) if isinstance(live, torch.Tensor) else live

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        with FakeTensorMode(allow_non_fake_inputs=True) as self.faking:
            return super().run(test)


class VMap(Promised):
    """The first of two calls in a batch must give what it gives alone; members have no storage of their own."""

    unless = STORAGE

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        call, tensors = of_leaves(*self.builder.parts(test.invocation), lambda leaf: isinstance(leaf, torch.Tensor))
        if not tensors:
            raise BuildError("nothing to batch")
        batched = [torch.stack((live, live.flip(0) if live.ndim else live)) for live in tensors]
        result = self.builder.timed(torch.vmap(call, randomness="same"), batched, {})
        return tree_map(lambda part: part[0] if isinstance(part, torch.Tensor) else part, result)


class Compiled(Promised):
    """Traced and compiled without code generation; it must also be accepted and refused alike."""

    def run(self, test: TestCase) -> Any:
        """See `Mode`; raises BuildError if no part of the call can be compiled."""
        function, args, keywords = self.builder.parts(test.invocation)
        torch._dynamo.reset()
        try:
            # A separate function for each compilation, because the compiler caches by code.
            own = lambda *args, **keywords: function(*args, **keywords)  # noqa: E731
            call = torch.compile(own, backend="aot_eager", dynamic=False)
            return self.builder.timed(call, args, keywords)
        except torch._dynamo.exc.Unsupported as error:
            raise BuildError(f"not to be compiled: {str(error)[:200]}") from error
        finally:
            torch._dynamo.reset()


class OneDnnOff(Promised):
    """oneDNN's kernels against PyTorch's own."""

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        with torch.backends.mkldnn.flags(enabled=False):
            return super().run(test)


class Threads(Promised):
    """Several threads against the worker's single one."""

    # For fewer elements the library does not start a second thread.
    least = 2048

    def applies(self, test: TestCase) -> bool:
        """Return whether a tensor is large enough to be shared between threads."""
        large = any(tensor.size >= self.least for tensor in tensors_of(test.invocation))
        return large and super().applies(test)

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        with switched(torch.get_num_threads, torch.set_num_threads, THREADS):
            return super().run(test)


class Backward(Trained):
    """Gradients as training asks for them; what is wrong with these is for other modes to say."""

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Mode`: one that gradients are asked for, and what may be changed in its place."""
        if not isinstance(live, torch.Tensor) or not live.dtype.is_floating_point or live.layout is not torch.strided:
            return live
        return live.detach().requires_grad_().clone()

    def run(self, test: TestCase) -> Any:
        """See `Mode`; raises BuildError if no part of the result is differentiable."""
        leaves = (leaf for leaf in self.adapter.comparer.leaves(super().run(test)) if isinstance(leaf, torch.Tensor))
        results = [leaf for leaf in leaves if leaf.requires_grad and leaf.layout is torch.strided]
        if not results:
            raise BuildError("nothing to differentiate")
        sum((result.abs() if result.is_complex() else result).sum() for result in results).backward()


_NONE = torch.zeros((), dtype=torch.float64)


class Doubled(doubles.Doubled):
    """Tensors and modules as doubles; a result of less precision is taken as it is."""

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Mode`: arrays of numpy's stay as they are."""
        return super().tensor(live, described) if isinstance(live, torch.Tensor) else live

    def instance(self, live: Any) -> Any:
        """See `Mode`: parameters were drawn in the precision that they have in the plain call."""
        return live.double() if isinstance(live, torch.nn.Module) else live

    def numbers(self, live: Any, described: Tensor) -> Any:
        """See `doubles.Doubled`."""
        return numbers(live)

    def made(self, array: Any, live: Any, described: Tensor) -> Any:
        """See `doubles.Doubled`."""
        return alike(torch.from_numpy(array), live)


class Gradient(Promised, Doubled, doubles.Gradient):
    """The common part."""

    largest = 1e6
    coarse = 0.25
    flat = 0.0
    unless = _NO_DERIVATIVE

    def applies(self, test: TestCase) -> bool:
        """Return whether there is a floating-point tensor, and the api is meant to be differentiated."""
        return super().applies(test) and not hides_from_gradients(self.builder.found(test.invocation.api))

    def is_double(self, leaf: Any) -> bool:
        """See `doubles.Gradient`."""
        return isinstance(leaf, torch.Tensor) and leaf.dtype is torch.float64 and leaf.layout is torch.strided

    def point(self, leaf: Any) -> Any:
        """See `doubles.Gradient`."""
        return leaf.detach()

    def along(self, shape: Sequence[int]) -> Any:
        """See `doubles.Gradient`: what stands for symmetric matrices is not differentiated."""
        return direction(shape, 0.9)

    def slopes(self, scalar: Scalar, points: Points, again: bool = False) -> list[Any]:
        """See `doubles.Gradient`; a missing derivative is 0, and raises BuildError if all are missing."""
        leaves = [point if point.requires_grad else point.clone().requires_grad_() for point in points]
        value = scalar(*leaves)
        if not value.requires_grad:
            raise BuildError("no derivative")
        found = torch.autograd.grad(value, leaves, create_graph=again, allow_unused=True)
        return [_NONE if grad is None else (self.live(self.along(grad.shape)) * grad).sum() for grad in found]

    def slope(self, scalar: Scalar) -> Scalar:
        """Return the sum of a function's derivatives along the directions, itself a function of the points."""

        def slope(*points: torch.Tensor) -> torch.Tensor:
            again = any(point.requires_grad for point in points)
            return torch.stack(self.slopes(scalar, points, again)).sum()

        return slope


class Forward(Gradient):
    """Forward mode must agree with backward mode."""

    def derivatives(self, scalar: Scalar, points: Points) -> list[Any]:
        """See `doubles.Gradient`."""
        found = []
        for place, point in enumerate(points):
            with forward_ad.dual_level():
                dual = forward_ad.make_dual(point, self.live(self.along(point.shape)))
                tangent = forward_ad.unpack_dual(scalar(*points[:place], dual, *points[place + 1 :])).tangent
                found.append(_NONE if tangent is None else tangent)
        return found


class Second(Gradient):
    """Backward mode over backward mode, which must agree with difference quotients of backward mode."""

    def derivatives(self, scalar: Scalar, points: Points) -> list[Any]:
        """See `doubles.Gradient`."""
        slope = self.slope(scalar)
        if not self.spec.against:
            return self.slopes(slope, points)
        return [self.quotient(slope, points, place) for place in range(len(points))]
