"""Grades a death on bad memory by more than its smallest input: minimising may move the fault to the null page."""

from __future__ import annotations

from fuzz_core.campaign.bench import Bench
from fuzz_core.campaign.reproduce import Attempt
from fuzz_core.ir.errors import BuildError, CodecError
from fuzz_core.ir.outcome import Outcome
from fuzz_core.triage.assess import filled, is_public_on_bad_input, suspicion
from fuzz_core.worker.stack import NULL_PAGE


def worst_suspicion(bench: Bench, attempt: Attempt, outcome: Outcome) -> str:
    """Return why a confirmed bug is private; empty if none of its inputs says so.

    A harmless death on bad memory is executed again: on the input as it was found, and on both inputs with their empty
    tensors filled. The worst outcome decides.

    Args:
        attempt: the minimal test case, with the finding as it was found.
        outcome: what the minimal script did, with its native frames.
    """
    finding = attempt.finding
    kind = finding.verdict.kind
    if (reason := suspicion(kind, outcome, attempt.test)) or NULL_PAGE not in outcome.frames:
        return reason
    others = {
        filled(attempt.test): "with its empty tensors filled",
        filled(finding.test): "as it was found, with its empty tensors filled",
        finding.test: "as it was found",
    }
    for test, words in others.items():
        if test == attempt.test or is_public_on_bad_input(kind, test):
            continue
        try:
            script = attempt._replace(test=test).script(bench.dialect)
        except (CodecError, BuildError):
            continue
        if reason := suspicion(kind, bench.with_frames(bench.run(script, kind), script), test):
            return f"{reason}, on the input {words}"
    return ""
