"""qualitylib's ways to call one function: one for each kernel that a function may have."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz_core.adapters.modes import Mode
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.tree import tensors_of
from fuzz_core.ir.values import Tensor, TestCase
from nightfuzz_qualitylib.comparison import COARSE

NARROW = ("float16", "float32")


class Strided(Mode):
    """The same elements in another order in memory."""

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Mode`."""
        import qualitylib

        return qualitylib.scattered(live) if described.shape else live


class Precise(Mode):
    """Double precision: a number where the plain result is none."""

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Mode`."""
        made = live.double()
        if self.spec.noise and made.dtype.kind == "f":
            turned = np.cos(1 + 2.4 * np.arange(made.data.size)).reshape(made.shape)
            sizes = np.where(made.data == 0, 1.0, made.data)
            made.data = made.data + self.spec.noise * np.finfo(live.dtype).eps * turned * sizes
        return made

    def applies(self, test: TestCase) -> bool:
        """Where there is less precision."""
        return any(tensor.dtype in NARROW for tensor in tensors_of(test.invocation))


class _Called(Mode):
    """The call of a function, as `around` has it; one that has an object is left alone."""

    def applies(self, test: TestCase) -> bool:
        """Where there is an array in front."""
        call = test.invocation
        return call.then is None and bool(call.args) and isinstance(call.args[0], Tensor)

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        function, args, keywords = self.builder.parts(test.invocation)
        return self.around(function, args, keywords, test)

    def around(self, function: Any, args: list[Any], keywords: dict[str, Any], test: TestCase) -> Any:
        """The mode's own call."""
        raise NotImplementedError


class Out(_Called):
    """The result in given memory."""

    def around(self, function: Any, args: list[Any], keywords: dict[str, Any], test: TestCase) -> Any:
        """See `_Called`."""
        import qualitylib

        place = qualitylib.empty_like(function(*args, **keywords))
        return function(*args, **keywords, out=place)


class InPlace(_Called):
    """The result in the first argument."""

    def around(self, function: Any, args: list[Any], keywords: dict[str, Any], test: TestCase) -> Any:
        """See `_Called`."""
        dtype = args[0].dtype
        if function(*args, **keywords).dtype != dtype:
            raise BuildError("a result that does not fit")
        return self.builder.resolve(f"{test.invocation.api}_")(*args, **keywords)


class Meta(Mode):
    """What a result will look like."""

    device = "meta"


class Redzone(Mode):
    """Memory of other numbers around the arguments."""

    large = True

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Mode`."""
        import qualitylib

        return qualitylib.between(live, self.large)


class RedzoneZeros(Redzone):
    """What the other one is compared with."""

    large = False


class VMap(_Called):
    """The first of two calls at once."""

    def around(self, function: Any, args: list[Any], keywords: dict[str, Any], test: TestCase) -> Any:
        """See `_Called`."""
        import qualitylib

        members = [qualitylib.twice(each) if isinstance(each, qualitylib.Array) else each for each in args]
        return qualitylib.vmap(function)(*members, **keywords)[0]


class Slope(_Called):
    """The derivative along a direction, by the function's own rule; compared with nothing by itself."""

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Mode`."""
        return live.double()

    def applies(self, test: TestCase) -> bool:
        """Where the first argument is floating-point."""
        first = test.invocation.args[:1]
        return super().applies(test) and any(isinstance(x, Tensor) and x.dtype.startswith("float") for x in first)

    def around(self, function: Any, args: list[Any], keywords: dict[str, Any], test: TestCase) -> Any:
        """See `_Called`."""
        import qualitylib

        if keywords:
            raise BuildError("arguments by name")
        try:
            return [qualitylib.derivative(function, *args)]
        except IndexError as error:
            raise BuildError("no derivative") from error


class Quotient(Slope):
    """The same as a difference quotient."""

    def around(self, function: Any, args: list[Any], keywords: dict[str, Any], test: TestCase) -> Any:
        """See `_Called`. Raises BuildError where other steps, or one side alone, give another one."""
        import qualitylib

        found = qualitylib.quotient(function, *args)
        others = [qualitylib.quotient(function, *args, step=8e-6, sides=sides) for sides in ((1, 0), (0, -1))]
        if not np.allclose(others, found, COARSE, COARSE):
            raise BuildError("not smooth here")
        return [found]


class Compiled(_Called):
    """The call, compiled."""

    def around(self, function: Any, args: list[Any], keywords: dict[str, Any], test: TestCase) -> Any:
        """See `_Called`."""
        import qualitylib

        return qualitylib.compiled(function)(*args, **keywords)


class Threaded(_Called):
    """The call on four threads."""

    def around(self, function: Any, args: list[Any], keywords: dict[str, Any], test: TestCase) -> Any:
        """See `_Called`."""
        import qualitylib

        return qualitylib.threaded(function)(*args, **keywords)
