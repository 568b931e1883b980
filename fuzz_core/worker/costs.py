"""What an oracle costs per test, measured in the process that would pay it."""

from __future__ import annotations

from time import process_time
from typing import Any

from fuzz_core.ir.rng import derive
from fuzz_core.ir.values import TestCase
from fuzz_core.worker.channel import Channel, World
from fuzz_core.worker.execution import Execution


def costs(world: World, channel: Channel, job: dict[str, Any]) -> None:
    """Judges the plan's invocations by one oracle for a while, as a fuzz would: each in the share that takes it in.

    Sends the processor seconds per test with the oracle and with none, taken in turns, and how many tests that was:
    other processes of a busy machine do not count.
    """
    assert world.plan is not None
    world.adapter.prepare()
    plan = world.plan
    tests = [plan.test(api, index) for api in plan.places for index in range(plan.count(api))]
    judging = Execution(world.adapter, world.dialect, [job["oracle"]], documentation=plan.documentation)
    executions = [Execution(world.adapter, world.dialect, []), judging]
    spent, count = [0.0, 0.0], 0
    for test in tests:
        _judge(executions, test, spent)
    spent = [0.0, 0.0]
    while count == 0 or sum(spent) < job["budget"]:
        for place, test in enumerate(tests):
            # Who comes second finds everything warm: they take turns.
            _judge(executions, test._replace(seed=derive(test.seed, count)), spent, (count + place) % 2 == 0)
        count += 1
    tried = count * len(tests)
    channel.send({"spent": spent[1] / tried, "executed": spent[0] / tried, "tests": tried, "end": True})


def _judge(executions: list[Execution], test: TestCase, spent: list[float], swapped: bool = False) -> None:
    for number in (1, 0) if swapped else (0, 1):
        began = process_time()
        executions[number].judge(test)
        spent[number] += process_time() - began
