"""Ways to execute a test case with PyTorch, of what its documentation and source promise of an api."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_map

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.dialect import ModeSpec
from fuzz_core.adapters.modes import Clock, Mode, Trained, of_leaves
from fuzz_core.adapters.pytorch.dialect import THREADS, inplace, other_layout
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.tree import tensors_of
from fuzz_core.ir.values import Invocation, Ref, Tensor, TestCase

_STORAGE = re.compile(r"storage|\baddress\b|as_strided|\bstride\(\)|contiguous|memory[ _](?:format|layout)|dim_order")
# What is only defined for such matrices is differentiated as if every change kept them so.
_STRUCTURE = re.compile(r"[Hh]ermitian|symmetric")
_REPEATED = re.compile(r"duplicate|not unique|repeat values|gradients? will be incorrect|respect to autograd")
# What must be a softmax's result is differentiated as if every change kept it one.
_NORMALISED = re.compile(r"obtained (?:with|by|from)\s+:\w+:`[\w.~]*softmax`")
# Steps that are differentiated as if they were none.
_ROUNDED = re.compile(r"quantiz")
_SEE = re.compile(r":(?:meth|func|class):`~?(?:torch\.)?([\w.]+)(?:\(\))?`")
# A text that is no longer than this only refers to another one.
_SHORT = 400


@cache
def documentation(function: Any) -> str:
    """The text about a function, with the texts that a short one refers to; empty where there is none."""
    return "\n".join(_texts(function, 2))


def _texts(function: Any, depth: int) -> Iterator[str]:
    text = getattr(function, "__doc__", None) or ""
    yield text
    if depth and len(text) < _SHORT:
        for name in _SEE.findall(text):
            yield from _texts(_named(name), depth - 1)


def _named(name: str) -> Any:
    found: Any = torch
    for part in name.split("."):
        found = getattr(found, part, None)
    return found if found is not None else getattr(torch.Tensor, name, None)


def documented(function: Any) -> bool:
    """Whether there is any text: of what is internal nothing is promised."""
    return bool(documentation(function))


def speaks_of_storage(function: Any) -> bool:
    """Whether a function's documentation says that its result may depend on how a tensor is stored."""
    return _STORAGE.search(documentation(function)) is not None


def restricts_gradients(function: Any) -> bool:
    """Whether derivatives hold, as is documented, for some matrices, places or sums alone, for a line, or never."""
    text = documentation(function)
    return any(pattern.search(text) for pattern in (_STRUCTURE, _REPEATED, _NORMALISED, _ROUNDED))


@cache
def hides_from_gradients(function: Any) -> bool:
    """Whether a function switches gradients off by itself, as initialisers do."""
    try:
        return "no_grad" in inspect.getsource(function)
    except (TypeError, OSError):
        return False


class Promised(Mode):
    """A mode of documented apis alone."""

    def applies(self, test: TestCase) -> bool:
        """See `Mode`: where there are tensors."""
        return super().applies(test) and documented(self.builder.found(test.invocation.api))


@cache
def scattering(expression: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """One of the expressions of the dialect as a function of `x`."""
    made: Callable[[torch.Tensor], torch.Tensor] = eval(f"lambda x: {expression}", {"torch": torch})
    return made


def alike(made: torch.Tensor, live: torch.Tensor) -> torch.Tensor:
    """A changed tensor as what the live one is: a parameter, or one that gradients are asked for."""
    if isinstance(live, torch.nn.Parameter):
        return torch.nn.Parameter(made, requires_grad=live.requires_grad)
    return made.requires_grad_(live.requires_grad)


class Strided(Promised):
    """A result must not depend on where in memory its arguments' elements stand.

    Every row-major tensor is in the layout that the test case's seed chooses; `scattered` are those of the last call.
    """

    seed = 0

    def __init__(self, adapter: Adapter, spec: ModeSpec, clock: Clock) -> None:
        super().__init__(adapter, spec, clock)
        self.scattered: list[torch.Tensor] = []

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Mode`."""
        expression = other_layout(described, self.seed)
        if not expression or not isinstance(live, torch.Tensor):
            return live
        made = scattering(expression)(live.detach())
        self.scattered.append(made)
        return alike(made, live)

    def applies(self, test: TestCase) -> bool:
        """Where there is a row-major tensor with two elements or more, and nothing is said of how it is stored."""
        there = any(other_layout(tensor, test.seed) for tensor in tensors_of(test.invocation))
        return there and super().applies(test) and not speaks_of_storage(self.builder.found(test.invocation.api))

    def run(self, test: TestCase) -> Any:
        """See `Mode`. Elements that share a place cannot be written to one by one."""
        self.seed = test.seed
        try:
            result = super().run(test)
            if any(made._version and 0 in made.stride() for made in self.scattered):
                raise BuildError("it writes into an expanded argument")
            return result
        finally:
            self.scattered.clear()


class Out(Promised):
    """`out=` must be given what is returned without it."""

    def applies(self, test: TestCase) -> bool:
        """Where the api has such a parameter that the call leaves alone."""
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
    """Memory for a result, with other numbers in it. Raises BuildError for what is no tensor, or a view."""
    if isinstance(result, torch.Tensor):
        if result.layout is not torch.strided or result._is_view():
            raise BuildError("nothing that out= could hold")
        return torch.empty_like(result, requires_grad=False).detach()
    if isinstance(result, tuple) and result and all(isinstance(part, torch.Tensor) for part in result):
        return tuple(map(_places, result))
    raise BuildError("nothing that out= could hold")


@cache
def parameters(function: Any) -> Collection[str] | None:
    """The names of a function's parameters; None where it has no signature."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None


def takes_out(function: Any) -> bool:
    """Whether a function has a parameter `out`, by its signature or by the operator's schemas."""
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
        """Where there is such a call, and its argument can be written to."""
        call = inplace(test.invocation)
        return call is not None and _target(call) is not None and self._exists(call) and super().applies(test)

    def _exists(self, call: Invocation) -> bool:
        function = self.builder.found(call.api)
        if not call.api.startswith("torch.nn."):
            return function is not None
        return "inplace" in (parameters(function) or ())

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


def _target(call: Invocation) -> Tensor | None:
    """The tensor that is written to: the first argument, where gradients allow it."""
    args = call.args if call.then is None else call.then.args
    first = args[0] if args else None
    if not isinstance(first, Tensor) or first.container != "tensor" or first.requires_grad or first.strides is not None:
        return None
    return first


class Meta(Promised):
    """The meta device must foresee shape and dtype. Strides may depend on the device that it does not stand for."""

    device = "meta"

    def instance(self, live: Any) -> Any:
        """See `Mode`: modules without memory."""
        return live.to("meta") if isinstance(live, torch.nn.Module) else live

    def ref(self, ref: Ref) -> Ref:
        """See `Mode`."""
        return Ref("device", "meta") if ref.kind == "device" else ref


class Fake(Promised):
    """What the compiler believes of a result's strides must be true; of shape and dtype the meta device tells."""

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Mode`: it pretends to be on the CPU."""
        return self.faking.from_tensor(live) if isinstance(live, torch.Tensor) else live

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        with FakeTensorMode(allow_non_fake_inputs=True) as self.faking:
            return super().run(test)


class VMap(Promised):
    """The first of two calls at once must give what it gives alone."""

    def applies(self, test: TestCase) -> bool:
        """See `Mode`: members of a batch have no storage of their own."""
        return super().applies(test) and not speaks_of_storage(self.builder.found(test.invocation.api))

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        call, tensors = of_leaves(*self.builder.parts(test.invocation), lambda leaf: isinstance(leaf, torch.Tensor))
        if not tensors:
            raise BuildError("nothing to batch")
        # See `dialect.batch`.
        batched = [torch.stack((live, live.flip(0) if live.ndim else live)) for live in tensors]
        result = self.builder.timed(torch.vmap(call, randomness="same"), batched, {})
        return tree_map(lambda part: part[0] if isinstance(part, torch.Tensor) else part, result)


class Compiled(Promised):
    """Traced and compiled without code generation; it must also be accepted and refused alike."""

    def run(self, test: TestCase) -> Any:
        """See `Mode`. Raises BuildError where nothing of it can be compiled."""
        function, args, keywords = self.builder.parts(test.invocation)
        torch._dynamo.reset()
        try:
            # A function of its own to compile: the compiler remembers by code.
            own = lambda *args, **keywords: function(*args, **keywords)  # noqa: E731
            call = torch.compile(own, backend="aot_eager", dynamic=False)
            return self.builder.timed(call, args, keywords)
        except torch._dynamo.exc.Unsupported as error:
            raise BuildError(f"not to be compiled: {str(error)[:200]}") from error
        finally:
            torch._dynamo.reset()


# What is smaller is not worth a second thread to the library.
LEAST_SHARED = 2048


class OneDnnOff(Promised):
    """oneDNN's kernels against PyTorch's own."""

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        with torch.backends.mkldnn.flags(enabled=False):
            return super().run(test)


class Threads(Promised):
    """Several threads against the worker's single one."""

    def applies(self, test: TestCase) -> bool:
        """Where there is enough to share."""
        large = any(tensor.size >= LEAST_SHARED for tensor in tensors_of(test.invocation))
        return large and super().applies(test)

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        before = torch.get_num_threads()
        torch.set_num_threads(THREADS)
        try:
            return super().run(test)
        finally:
            torch.set_num_threads(before)


class Backward(Trained):
    """Gradients as training asks for them; what is wrong with these is for other modes to say."""

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Mode`: one that gradients are asked for, and what may be changed in its place."""
        if not isinstance(live, torch.Tensor) or not live.dtype.is_floating_point or live.layout is not torch.strided:
            return live
        return live.detach().requires_grad_().clone()

    def run(self, test: TestCase) -> Any:
        """See `Mode`: nothing. Raises BuildError where nothing is differentiable."""
        results = [leaf for leaf in self.adapter.comparer.leaves(super().run(test)) if _is_differentiable(leaf)]
        if not results:
            raise BuildError("nothing to differentiate")
        sum((result.abs() if result.is_complex() else result).sum() for result in results).backward()


def _is_differentiable(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.requires_grad and leaf.layout is torch.strided
