"""Hooks that a library needs for running model programs, beyond the hooks for calls of its apis."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

# The parameters of a layer after training, see `Models.gradients`.
FINITE, NONFINITE, MISSING = "finite", "not finite", "missing"


class Models:
    """Default hooks for model programs, for a library that draws random numbers from Python and numpy alone."""

    layer: type | None = None  # class of all layers, if there is one
    symbolic: type | tuple[type, ...] = ()  # classes of placeholders from which a program describes a model
    weights: type | tuple[type, ...] = ()  # classes of tensors that are never activations
    computes = "__call__"  # the method in which a subclass computes its result

    def streams(self) -> Callable[[], None] | None:
        """Return a function that restores the present random streams of the library; None if that is impossible."""
        return lambda: None

    def forget(self) -> None:
        """Let go of what the library keeps of models; called before and after each program."""

    def program(self) -> AbstractContextManager[object]:
        """Return a context for running one program, in which tracebacks keep frames that the library would remove."""
        return nullcontext()

    def doubles(self) -> AbstractContextManager[object] | None:
        """Return a context in which objects without a stated precision are doubles; None without such a switch."""
        return None

    def passing(self, note: Callable[[Any], object]) -> Any:
        """Return a layer that returns its input, and passes the input to `note` before."""

        def given(layer: Any, value: Any) -> Any:
            note(value)
            return value

        return type("Passing", (self.layer or object,), {self.computes: given})()

    def compiled(self, call: Callable[..., Any]) -> Callable[..., Any] | None:
        """Return a call as the library's compiler makes it; None without a compiler.

        If the library always compiles, the returned call is compiled as little as possible.
        """
        return None

    def promised(self, result: Any) -> bool:
        """Return whether a compiled program promises the same result."""
        return True

    def losses(self, note: Callable[[float], object]) -> AbstractContextManager[object]:
        """Return a context in which `note` gets the numbers that a program trains by and asks gradients of."""
        return nullcontext()

    def gradients(self, layer: Any) -> str:
        """Return FINITE if every trained weight has a gradient, else NONFINITE or MISSING; empty if unknown."""
        return ""

    def numbers(self, layer: Any) -> Iterable[Any]:
        """Return the numbers that a layer computes with beside its input."""
        return ()

    def untrained(self, model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the trained parameters of a model that its result depends on and that get no gradient, by name.

        A layer whose result gets no gradient either has none to give. The call may change the model.
        """
        return ()


@contextmanager
def switched(read: Callable[[], Any], write: Callable[[Any], object], value: Any) -> Iterator[None]:
    """Give a context in which a setting that is read and written by functions has a value."""
    before = read()
    write(value)
    try:
        yield
    finally:
        write(before)


@contextmanager
def replaced(owner: Any, name: str, change: Callable[[Any], Any]) -> Iterator[None]:
    """Give a context in which an attribute is the result of `change`."""
    before = getattr(owner, name)
    with switched(lambda: before, functools.partial(setattr, owner, name), change(before)):
        yield


def announcing(
    function: Callable[..., Any], number: Callable[..., Any], note: Callable[[float], object]
) -> Callable[..., Any]:
    """Return a function that passes a number of its arguments to `note` before the call, if the arguments have one."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with suppress(Exception):
            note(float(number(*args, **kwargs)))
        return function(*args, **kwargs)

    return call
