"""fakelib alive."""

from __future__ import annotations

from fuzz_core.adapters import base
from fuzz_core.adapters.base import Examples
from fuzz_core.adapters.inventory import Listed
from fuzz_core.ir.values import Invocation, Tensor, Then, prim


class Adapter(base.Adapter):
    """One mode, no devices; tensors are numpy's arrays."""

    library = "fakelib"
    modules = ("fakelib", "fakelib.nn")

    def listed(self) -> list[Listed]:
        """What is documented and exported, and its class."""
        public = {f"fakelib.{name}" for name in self.root.__all__} | {"fakelib.nn.Window"}
        return [each for each in super().listed() if each.api.doc and each.api.name in public]

    def state(self) -> object:
        """The switch."""
        return self.root.switched

    def examples(self) -> Examples:
        """A function and its class; what it draws, it draws from numpy."""
        vector = Tensor("float32", (4,))
        window = Invocation("fakelib.nn.Window", (prim(2),), then=Then("__call__", (vector,)))
        return Examples((Invocation("fakelib.add", (vector, vector)), window), "np.random.rand(3)", "fakelib.switch(1)")
