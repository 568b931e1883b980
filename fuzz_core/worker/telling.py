"""What a test case came to, told in full: for those who compare it with what another build makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fuzz_core.ir.codec import decode_test, encode
from fuzz_core.ir.errors import Undescribable
from fuzz_core.ir.values import Map, Prim, Seq, TestCase, Value
from fuzz_core.tracing.describe import Describer
from fuzz_core.worker.channel import Channel
from fuzz_core.worker.execution import Execution
from fuzz_core.worker.garbage import GARBAGE, garbage

# In the place of a part that cannot be described: it is like any other such part.
OPAQUE = Prim("ellipsis", None)


def tell(execution: Execution, channel: Channel, request: dict[str, Any]) -> None:
    """Answers with the outcome and the described result of a test case, in each mode asked for, `repeats` times each.

    Every repetition has another seed and finds other garbage in memory: what depends on either is no function of the
    arguments.
    """
    assert channel.journal is not None
    test, describer = decode_test(request["test"]), Describer(execution.adapter, [])
    channel.journal.begin(request["lease"], 0)
    told = {mode: _repeated(execution, describer, test, mode, request["repeats"]) for mode in request["tell"]}
    channel.journal.end()
    channel.send({"replayed": request["lease"], "told": told})


def _repeated(execution: Execution, describer: Describer, test: TestCase, mode: str, repeats: int) -> Sequence[Any]:
    if mode not in execution.modes or not execution.mode(mode).applies(test):
        return []
    found = []
    for number in range(repeats):
        with garbage(GARBAGE[number % len(GARBAGE)]):
            outcome, result = execution.run(test._replace(seed=test.seed + number), mode)
        value = encode(described(describer, result)) if outcome.kind == "ok" else None
        found.append([outcome.to_json(), value])
    return found


def described(describer: Describer, result: Any) -> Value:
    """The description of a result, with OPAQUE for every part that has none."""
    try:
        return describer.describe(result)
    except Undescribable:
        pass
    if isinstance(result, list | tuple):
        return Seq("list" if isinstance(result, list) else "tuple", tuple(described(describer, r) for r in result))
    if isinstance(result, dict):
        return Map(tuple((str(key), described(describer, item)) for key, item in result.items()))
    return OPAQUE
