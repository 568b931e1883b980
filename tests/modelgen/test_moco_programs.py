"""Tests of model programs in the persistent worker: results, places of failures, and the state between programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest
from fakelib_plans import call, plan_of

from fuzz_core.execution.replay import Replayer
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.values import TestCase
from fuzz_core.worker.programs_ran import ELSEWHERE, MAKE, USE, BlockTensors, TensorKind

CAUGHT = "try:\n  __made__(7, fakelib.add)(x, x[:1])\nexcept ValueError"
START = "import numpy as np, fakelib, random\nx = np.ones((2, 3))\n"


@pytest.fixture(scope="module")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    plan = plan_of(tmp_path_factory.mktemp("plan") / "plan", [])
    with Zygote(sys.executable, "fakelib", "fuzz", plan) as running:
        yield running


@pytest.fixture
def replayer(zygote: Zygote) -> Iterator[Replayer]:
    made = Replayer(zygote, timeout=2.0, memory=2 << 30)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("program", "kind", "name", "line", "how"),
    [
        ("fakelib.add(x, x)\n", "ok", "", 0, ""),
        ("y = x\nfakelib.add(x, x[:1])\n", "exception", "ValueError", 4, "raise"),
        ("fakelib.row_sum(3)\n", "exception", "AttributeError", 3, "expression"),
        ("fakelib.resize(x, 'a')\n", "exception", "TypeError", 3, "expression"),
        ("fakelib.concat([1])\n", "exception", "AttributeError", 3, "expression"),
        ("random.choice([])\n", "exception", "IndexError", 3, "program"),
        ("next(iter(()))\n", "exception", "StopIteration", 3, "program"),
        ("x @ x\n", "exception", "ValueError", 3, "call"),
        ("exec('\\n' * 9 + 'raise SystemError(x)')\n", "exception", "SystemError", 3, "program"),
        ("raise SystemError(x)\n", "exception", "SystemError", 3, "program"),
        ("def f(n):\n  return f(n + 1)\n\nf(0)\n", "exception", "RecursionError", 4, "program"),
        ("f = lambda n: np.apply_along_axis(f, 0, n)\nf(x)\n", "exception", "RecursionError", 3, "program"),
        ("np.zeros(-1)\n", "exception", "ValueError", 3, "call"),
        ("x.no\n", "exception", "AttributeError", 3, "program"),
        ("fakelib.add(x)\n", "exception", "TypeError", 3, "call"),
        ("def f():\n  return x / missing\n\nf()\n", "exception", "NameError", 4, "program"),
        ("x = (\n", "exception", "SyntaxError", 3, "program"),
        ("fakelib.fail(-1)\n", "exit", "7", 3, ""),
        ("fakelib.reserve(2**21)\n", "oom", "MemoryError", 3, ""),
        ("fakelib.mute(-1)\n", "exception", "Unprintable", 3, "raise"),
        ("fakelib.interrupt(-1)\n", "exception", "KeyboardInterrupt", 3, "raise"),
        ("fakelib.row_sum(x[:, :0])\n", "signal", "SIGSEGV", 3, ""),
        ("fakelib.resize(x, 2**40)\n", "signal", "SIGABRT", 3, ""),
        ("fakelib.pool(x, 6, True)\n", "timeout", "2 s", 3, ""),
        ("fakelib.vanish(-1)\n", "exit", "3", 0, ""),
        ("fakelib.hang_up(-1)\n", "exit", "0", 0, ""),
        ("fakelib.scribble(-1)\n", "ok", "", 0, ""),
        ("fakelib.chatter(-1)\n", "ok", "", 0, ""),
    ],
)
def test_what_a_program_does_is_told_with_its_line(
    program: str, kind: str, name: str, line: int, how: str, replayer: Replayer
) -> None:
    for data in (0, len(START)):
        ran = replayer.program(START + program, data)
        assert (ran.outcome.kind, ran.outcome.name, ran.line, ran.how) == (kind, name, line, how), ran
        assert replayer.program(START).outcome.kind == "ok"


WATCHED = (
    START
    + """
w = __made__(3, fakelib.nn.Window)(2, stride=1)
y = __made__(4, fakelib.add)(w(x), __seen__(5, x))
print("loss", y.mean())
"""
)


def test_blocks_tell_what_they_take_and_give(replayer: Replayer) -> None:
    kind = TensorKind((2, 3), "float64")
    ran = replayer.program(WATCHED)
    assert (ran.outcome.kind, ran.losses) == ("ok", (3.0,))
    assert ran.saw == {3: BlockTensors(kind, kind), 4: BlockTensors(kind, kind)}
    assert ran.passed == {5: kind}
    assert (ran.inside, ran.phase) == (None, "")


def test_what_a_block_took_is_told_even_where_it_fails(replayer: Replayer) -> None:
    ran = replayer.program(START + "add = lambda *a: __made__(4, fakelib.add)(*a)\nadd(x, x)\nadd(x[:1], x)")
    assert (ran.inside, ran.saw) == (4, {4: BlockTensors(TensorKind((1, 3), "float64"), None, False)})


@pytest.mark.parametrize(
    ("program", "inside", "phase"),
    [
        ("__made__(3, fakelib.nn.Window)(0)", 3, MAKE),
        ("__made__(3, fakelib.nn.Window)(1)('x', 2)", 3, USE),
        ("__made__(3, fakelib.nn.Window)(1)(x)\nfakelib.nn.Window(0)", None, ELSEWHERE),
        ("__made__(7, fakelib.add)(x, x[:1])", 7, USE),
        (
            "try:\n  __made__(7, fakelib.add)(x, x[:1])\nexcept ValueError:\n  pass\nfakelib.add(x, x[:1])",
            None,
            ELSEWHERE,
        ),
        (f"{CAUGHT} as e:\n  raise KeyError from e", 7, USE),
        ("__made__(3, fakelib.nn.Window)(2, stride=0)(x[0])", 3, USE),
        ("__made__(8, fakelib.row_sum)(x[:0])", 8, USE),
        ("__made__(3, fakelib.nn.Window)(2)\nfakelib.row_sum(x[:0])", None, ELSEWHERE),
        ("__made__(9, fakelib.pool)(x, 6, True)", 9, USE),
    ],
)
def test_a_failure_names_the_block_even_where_the_process_dies(
    program: str, inside: int | None, phase: str, replayer: Replayer
) -> None:
    ran = replayer.program(START + program)
    assert (ran.inside, ran.phase, ran.line) == (inside, phase, 3 + program.count("\n"))


def test_data_is_made_once_and_every_program_finds_it_as_it_was(replayer: Replayer) -> None:
    data = (
        "import numpy as np, fakelib, random\n"
        "rng, x, rows, n = np.random.default_rng(3), np.random.rand(2, 3), [[1]], 0\n"
        "def made():\n  return n\n"
    )
    use = (
        "x *= rng.random() + np.random.rand() + random.random()\nrows[0].append(7)\nn = 5\n"
        "print('loss', x.sum())\nprint('loss', len(rows[0]) + made())\nassert __name__ == '__main__'\n"
    )
    whole = replayer.program(data + use)
    parts = [replayer.program(data + use, len(data)) for _ in range(3)]
    assert whole.losses[1] == 7 and not whole.reused
    assert [each.losses for each in parts] == [whole.losses] * 3
    assert [each.reused for each in parts] == [False, True, True]
    assert replayer.program(data + use, len(data), seed=1).losses != whole.losses


def test_data_that_cannot_be_copied_is_made_again(replayer: Replayer) -> None:
    data, use = "numbers = iter(range(9))\ngate = (n for n in numbers)\n", "print('loss', next(gate))\n"
    ran = [replayer.program(data + use, len(data)) for _ in range(2)]
    assert [(each.losses, each.reused) for each in ran] == [((0.0,), False)] * 2


def test_a_program_that_changes_a_switch_ends_its_process(replayer: Replayer) -> None:
    ran = replayer.program(START + "fakelib.switch(1)")
    assert ran.spoilt and replayer.child is None
    assert not replayer.program(START).spoilt


def test_nothing_of_a_program_is_left_for_the_next(replayer: Replayer) -> None:
    replayer.program(START + "leftover = 1\nw = __made__(1, fakelib.nn.Window)(1)\nfakelib.left = w")
    used = "fakelib.left(x)\nassert not hasattr(type(fakelib.left).__call__, '__wrapped__')\nleftover"
    seen = replayer.program(START + used)
    assert (seen.outcome.name, seen.line, seen.saw) == ("NameError", 5, {})


SWITCHED = """import os, sys, warnings
sys.setrecursionlimit(300)
os.environ["SWITCH"] = "1"
os.chdir("/")
warnings.simplefilter("error")
np.seterr(all="raise")
"""
SHOWN = """import os, sys, warnings
print("loss", sys.getrecursionlimit())
print("loss", int("SWITCH" in os.environ))
print("loss", len(os.getcwd()))
print("loss", len(warnings.filters))
print("loss", int(np.geterr()["divide"] == "raise"))
"""


def test_what_the_interpreter_does_for_everybody_is_as_the_programs_data_left_it(replayer: Replayer) -> None:
    made = START + SWITCHED
    plain, _, *shown = (
        replayer.program(*each) for each in ((START + SHOWN,), (made,), (START + SHOWN,), (made + SHOWN, len(made)))
    )
    again = replayer.program(made + SHOWN, len(made))
    assert plain.losses == shown[0].losses and again.reused
    assert again.losses == shown[1].losses and plain.losses != again.losses


LEFT = """
def wrapped(function):
    def call(*args):
        return function(*args) + more
    return call

more = 0
fakelib.add = wrapped(fakelib.add)
"""


@pytest.mark.parametrize("lines", [0, 40])
@pytest.mark.parametrize("data", [0, len(START)])
def test_what_an_earlier_program_has_left_in_the_library_is_not_taken_for_the_library(
    lines: int, data: int, replayer: Replayer
) -> None:
    left = START + "\n" * lines + LEFT
    assert replayer.program(left, len(left)).outcome.kind == "ok"
    ran = replayer.program(START + "fakelib.add(x, x)\n", data)
    assert (ran.outcome.kind, ran.spoilt, ran.disturbed) == ("ok", False, False)
    assert replayer.program(START + "fakelib.add(x, x)\n", data).outcome.kind == "ok"


def test_a_program_that_gives_its_functions_other_globals_is_run_twice_at_most(replayer: Replayer) -> None:
    other = "f = type(lambda: 0)(compile('1 / 0', 'program.py', 'eval'), {})\nf()\n"
    ran = replayer.program(START + other)
    assert (ran.outcome.name, ran.disturbed, ran.spoilt) == ("ZeroDivisionError", True, True)
    assert replayer.child is None


def test_what_a_library_cannot_do_is_left_out(replayer: Replayer) -> None:
    assert replayer.program(WATCHED, doubled=True).outcome[:2] == ("skipped", "BuildError")
    ran = replayer.program(WATCHED, compared=True, settled=True)
    assert (ran.outcome.kind, ran.compiled, ran.gradients, len(ran.saw)) == ("ok", None, {}, 2)


def test_memory_is_told_at_its_peak_and_after(replayer: Replayer) -> None:
    replayer.program(START)
    before, most, after = replayer.program(START + "big = np.ones(1 << 23)").memory
    assert most - before > 60 << 20 and after - before < 30 << 20
    before, most, after = replayer.program(START + "fakelib.big = np.ones(1 << 23)").memory
    assert after - before > 60 << 20


@pytest.mark.parametrize(
    "put",
    [
        "os.mkfifo('stack')",
        "os.symlink('/proc/self/maps', 'stack')",
        "os.mkdir('stack')",
        "open('stack', 'w').write(x)",
    ],
)
def test_what_stands_in_the_place_of_a_stack_is_not_believed(put: str, replayer: Replayer) -> None:
    far = "x = 'x' * 99999 + '\\n  File \"program.py\", line 7 in f\\n'\n"
    died = f"import os\nos.remove('stack')\n{put}\nfakelib.row_sum(np.ones((0, 1)))"
    ran = replayer.program(START + far + died)
    assert (ran.outcome.name, ran.line, ran.frames) == ("SIGSEGV", 0, ())


def test_a_process_that_has_grown_much_ends(replayer: Replayer) -> None:
    assert not replayer.program(START + "fakelib.big = np.ones(1 << 25)").spoilt
    assert replayer.program(START + "fakelib.bigger = np.ones(1 << 26)").spoilt
    assert replayer.child is None


def test_tests_and_programs_take_turns_in_one_process(replayer: Replayer) -> None:
    pids = set()
    for _ in range(2):
        assert replayer.program(START + "print('{\"replayed\": 1}')").outcome.kind == "ok"
        assert replayer.run(TestCase(call("add", np.ones(2), np.ones(2)), 1)).outcome.kind == "ok"
        pids.add(replayer.child and replayer.child.pid)
    assert len(pids) == 1 and None not in pids
