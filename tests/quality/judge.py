"""Judges test cases with every oracle in every mode. It runs next to the library, and reads and prints lines of JSON.

Each test case gives a line `[index, outcome kind, [[oracle, verdict kind, detail], …]]`. The last line is
`{"idle": modes}`: the compared modes in which no call has returned.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from fuzz_core.adapters.base import adapter_of
from fuzz_core.adapters.dialect import DEVICE, dialect_of
from fuzz_core.collect.constraints import from_docstring
from fuzz_core.ir.codec import decode_test
from fuzz_core.ir.constraints import Documentation
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.compare import Differential
from fuzz_core.oracles.contract import ORACLES
from fuzz_core.worker.execution import Execution


class Watched(Execution):
    """An execution that records the modes in which a call has returned."""

    returned: frozenset[str] = frozenset()

    def run(self, test: TestCase, mode: str) -> tuple[Outcome, Any]:
        """See `Execution`."""
        outcome, result = super().run(test, mode)
        self.returned |= {mode} if outcome.kind == "ok" else set()
        return outcome, result


def judge_all(library: str) -> None:
    """Judges each test case of standard input. All shares are 1: sampled checks run for every case."""
    adapter = adapter_of(library)
    adapter.load()
    adapter.prepare()
    listed = adapter.listed()
    told = [constraint for each in listed for constraint in from_docstring(each.api)]
    params = {each.api.name: each.api.params for each in listed}
    documentation = Documentation([*adapter.definitions(listed), *told], params)
    execution = Watched(adapter, dialect_of(library), list(ORACLES), documentation=documentation)
    for oracle in execution.oracles:
        # Oracles that judge suspects alone are asked below.
        oracle.share = float(oracle.share > 0)
        if isinstance(oracle, Differential):
            oracle.share_of = lambda mode, dialect: float(dialect.modes.get(mode, DEVICE).share > 0)
    for index, line in enumerate(sys.stdin):
        test = decode_test(json.loads(line))
        outcome, verdicts = execution.judge(test)
        verdicts += execution.weigh(test, lambda: None)
        print(json.dumps([index, outcome.kind, [list(verdict) for verdict, _ in verdicts]]), flush=True)
    compared = {mode for mode in adapter.ways if execution.mode(mode).spec.against}
    print(json.dumps({"idle": sorted(compared - execution.returned)}))


judge_all(sys.argv[1])
