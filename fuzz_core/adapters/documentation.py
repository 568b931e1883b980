"""Documentation as a mode: it refuses the calls that it rules out."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.dialect import ModeSpec
from fuzz_core.adapters.modes import Clock, Mode
from fuzz_core.adapters.quotes import RuledOut, spelled
from fuzz_core.ir.constraints import ConstraintCheck, Documentation, replaced
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.tree import tensors_of
from fuzz_core.ir.values import Invocation, TestCase

MAX_TRIED = 4


class Documented(Mode):
    """Mode that raises RuledOut for a call that documentation rules out, if the violation matters: see `Mode`.

    A violation does not matter in three cases. There is no element to compute (an empty tensor). The argument is
    ignored (the result is the same for other values). An object is only constructed, which may refuse its arguments
    when it is used.
    """

    def __init__(self, adapter: Adapter, documentation: Documentation, clock: Clock = perf_counter) -> None:
        super().__init__(adapter, ModeSpec(relation=""), clock)
        self.documentation = documentation

    def applies(self, test: TestCase) -> bool:
        """Return whether documentation rules the call out."""
        return self.documentation.broken(test.invocation) is not None

    def run(self, test: TestCase) -> Any:
        """Raise RuledOut with argument, value and documentation, or BuildError if the violation is harmless."""
        said = self.documentation.broken(test.invocation)
        call = test.invocation
        only_makes = call.then is None and isinstance(self.builder.resolve(call.api), type)
        if said is None or only_makes:
            raise BuildError("nothing to compute")
        if any(tensor.size == 0 for tensor in tensors_of(test.invocation)):
            raise BuildError("an empty tensor")
        if self._ignored(test, said):
            raise BuildError(f"{said.constraint.argument} is ignored here")
        raise RuledOut(spelled(said))

    def _ignored(self, test: TestCase, said: ConstraintCheck) -> bool:
        """Return whether every documented value that is tried instead gives the same result."""
        others = [value for value in self.documentation.legal(said) if value != said.value][:MAX_TRIED]
        calls = [replaced(test.invocation, said.value, value) for value in others]
        own = self._result(test, test.invocation)
        results = [self._result(test, call) for call in calls]
        alike = (own and result and not self.adapter.differences(own[0], result[0]) for result in results)
        return bool(results) and all(alike)

    def _result(self, test: TestCase, call: Invocation) -> tuple[Any] | None:
        self.adapter.reset(test.seed)
        try:
            return (self.builder.call(call),)
        except Exception:  # noqa: BLE001 - a value that the library refuses here tells nothing of the others
            return None
