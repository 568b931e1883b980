"""Harmless reasons for one of two modes to refuse a call that the second one accepts. See `excuses`."""

from __future__ import annotations

import builtins

from fuzz_core.ir.tree import tensors_of, with_tensors
from fuzz_core.ir.values import Fill
from fuzz_core.worker.evidence import Refusal
from fuzz_core.worker.nearby import grown, wrapped

PLAIN_FILLS = (Fill("constant", 0.0, 0.0), Fill("constant", 1.0, 1.0))
BACKWARD = "backward"


def computes_nothing(refusal: Refusal) -> bool:
    """Return whether no argument is looked at, since no element or number is computed."""
    executor, case = refusal.executor, refusal.case
    if refusal.repetition == "empty" or not executor.mode(refusal.refusing).spec.blind:
        return refusal.repetition == "empty"
    seen: set[str] = set()
    with executor.adapter.operators(seen.add):
        executor.run(case, refusal.accepting)
    # An operator that looks at the arguments refuses them once they have elements.
    more = grown(case)
    return not seen or (more != case and executor.run(more, refusal.accepting)[0].kind == "exception")


def need_not_refuse(refusal: Refusal) -> bool:
    """Return whether a mode that is made without the elements need not refuse a call that another mode refuses.

    A graph may leave a kernel out, so an error of a kernel does not concern it. An error of Python code may depend on
    elements. Then it is raised if the elements are known, or the call is accepted with other elements.
    """
    executor, case = refusal.executor, refusal.case
    knowing = executor.mode(refusal.accepting).spec.blind
    if not knowing:
        return False
    name = refusal.outcomes[refusal.refusing].name
    if not hasattr(builtins, name) or executor.run(case, knowing)[0].kind == "exception":
        return True
    refusing = executor.mode(refusal.accepting).spec.against
    calls = [with_tensors(case.invocation, lambda t, fill=fill: t._replace(fill=fill)) for fill in PLAIN_FILLS]  # type: ignore[misc]
    return any(executor.run(case._replace(invocation=call), refusing)[0].kind == "ok" for call in calls)


def has_no_backward(refusal: Refusal) -> bool:
    """Return whether the backward pass is refused as well, which compilers of calls with gradients compile, too."""
    executor, case = refusal.executor, refusal.case
    asked = any(tensor.requires_grad for tensor in tensors_of(case.invocation))
    return asked and BACKWARD in executor.adapter.ways and executor.run(case, BACKWARD)[0].kind == "exception"


def wraps_integers(refusal: Refusal) -> bool:
    """Return whether the accepting mode takes only the lowest 32 bits of a larger integer, as conversions do."""
    executor, case = refusal.executor, wrapped(refusal.case)
    if case == refusal.case:
        return False
    (_, own), (same, other) = (executor.run(each, refusal.accepting) for each in (refusal.case, case))
    return same.kind == "ok" and not executor.adapter.differences(own, other, "values")
