"""Documentation as a mode: it refuses the calls that it rules out."""

from __future__ import annotations

import re
from time import perf_counter
from typing import Any, NamedTuple

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.dialect import ModeSpec
from fuzz_core.adapters.modes import Clock, Mode
from fuzz_core.ir.constraints import Documentation, Said, replaced
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.tree import fuzz_type, tensors_of
from fuzz_core.ir.values import Invocation, Prim, Ref, Seq, TestCase, Value

MODE = "documented"
MAX_SHOWN = 60
_TENSOR = re.compile(r"\btensor<(\d+),(\w+)>")
_SPELLED = re.compile(
    r'(?P<argument>[^=\n]{1,200}?) = `(?P<value>.{0,200}?)`, documented: "(?P<text>.*)" \([^()]*\)\Z', re.DOTALL
)
MAX_TRIED = 4


class RuledOut(Exception):  # noqa: N818 - what documentation says of a call
    """An argument of the call has a value that the documentation rules out."""


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
        """Whether documentation rules the call out."""
        return self.documentation.broken(test.invocation) is not None

    def run(self, test: TestCase) -> Any:
        """Raises RuledOut with argument, value and the documentation's words, or BuildError where the violation does
        not matter.
        """
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

    def _ignored(self, test: TestCase, said: Said) -> bool:
        """Whether all values that are tried instead, which keep to the documentation, give what this one does."""
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


def spelled(said: Said) -> str:
    """`p = ``2.0``, documented: "must be in [0, 1]" (docstring)`."""
    constraint = said.constraint
    return f'{constraint.argument} = `{shown(said.value)}`, documented: "{constraint.text}" ({constraint.source})'


class Quoted(NamedTuple):
    """An argument whose value the documentation forbids, the value as source, and the documentation's words."""

    argument: str
    value: str
    text: str


def quoted_in(text: str) -> Quoted | None:
    """Return what `spelled` has written; None for any other text."""
    found = _SPELLED.match(text)
    value = _TENSOR.sub(r"<\1-D \2 tensor>", found["value"]) if found else ""
    return found and Quoted(found["argument"], value, " ".join(found["text"].split()))


def shown(value: Value) -> str:
    """A value for a reader; what is long or a tensor, as its FuzzType."""
    if isinstance(value, Prim):
        text = repr(value.value)
    elif isinstance(value, Seq):
        text = f"({', '.join(map(shown, value.items))})"
    else:
        text = value.name if isinstance(value, Ref) else fuzz_type(value)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
