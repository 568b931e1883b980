"""What running model programs needs of a library, beyond what calls of its apis need."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

# The parameters of a layer after training, see `Models.gradients`.
FINITE, NONFINITE, MISSING = "finite", "not finite", "missing"


class Models:
    """That of a library of which nothing special is known; it draws random numbers from Python and numpy alone.

    layer: the class of all layers, where there is one. computes: the method by which a subclass says what it gives.
    """

    layer: type | None = None
    computes = "__call__"

    def streams(self) -> Callable[[], None] | None:
        """Puts the library's random streams back to where they are now, when it is called; None if they cannot be."""
        return _nothing

    def forget(self) -> None:
        """Lets go of what the library keeps of models; called before and after each program."""

    def program(self) -> AbstractContextManager[object]:
        """One program runs within it: tracebacks have the frames that the library would take out of them."""
        return nullcontext()

    def doubles(self) -> AbstractContextManager[object] | None:
        """Within it, what says nothing of its precision is in double precision; None where there is no such switch."""
        return None

    def passing(self, note: Callable[[Any], object]) -> Any:
        """A layer that gives what it gets, and tells of it before."""

        def given(layer: Any, value: Any) -> Any:
            note(value)
            return value

        return type("Passing", (self.layer or object,), {self.computes: given})()

    def compiled(self, call: Callable[..., Any]) -> Callable[..., Any] | None:
        """A call as the library's compiler makes it, or without it where it always does; None without a compiler."""
        return None

    def promised(self, result: Any) -> bool:
        """Whether such a result is to be the same compiled."""
        return True

    def losses(self, note: Callable[[float], object]) -> AbstractContextManager[object]:
        """Within it, `note` gets the numbers that a program trains by: those that it asks gradients of."""
        return nullcontext()

    def gradients(self, layer: Any) -> str:
        """FINITE where all that a layer trains has a gradient, NONFINITE, MISSING; empty where nobody can tell."""
        return ""

    def numbers(self, layer: Any) -> Iterable[Any]:
        """What a layer computes with beside its input."""
        return ()

    def untrained(self, model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[str, ...]:
        """The parameters that a model trains, by name, which its result depends on and get no gradient from it.

        A layer whose result gets no gradient either has none to give. It may leave the model otherwise than it was.
        """
        return ()


def _nothing() -> None:
    pass


@contextmanager
def replaced(owner: Any, name: str, change: Callable[[Any], Any]) -> Iterator[None]:
    """Within it, an attribute is what `change` makes of it."""
    before = getattr(owner, name)
    setattr(owner, name, change(before))
    try:
        yield
    finally:
        setattr(owner, name, before)


def telling(
    function: Callable[..., Any], number: Callable[..., Any], note: Callable[[float], object]
) -> Callable[..., Any]:
    """A function that tells a number of its arguments before it is called, where they have one."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with suppress(Exception):
            note(float(number(*args, **kwargs)))
        return function(*args, **kwargs)

    return call
