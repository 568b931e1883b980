"""Tests that programs get shorter as long as they have the same effect."""

from __future__ import annotations

import ast

from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.ir.codec import decode_test, encode_test
from fuzz_core.ir.values import Invocation, TestCase, prim
from fuzz_core.store.findings import finding_key
from fuzz_core.triage.reduce import minimise, shortened

PROGRAM = """import math

class Model:
    def __init__(self):
        self.first = math.sqrt
        self.second = math.log

    def forward(self, x):
        x = self.first(x)
        for _ in range(2):
            x = x + 1
        return self.second(x)

model = Model()
if True:
    print(model.forward(2.0))
print(1 / 0)
"""


def program(text: str) -> TestCase:
    return TestCase(Invocation("lib.gate"), 1, program=text)


def divides(test: TestCase) -> bool:
    return "1 / 0" in test.program


def test_what_does_not_matter_goes() -> None:
    assert minimise(program(PROGRAM), divides, lambda: False).program == "print(1 / 0)\n"


def test_what_a_program_is_about_stays_in_it() -> None:
    about = program(PROGRAM)._replace(invocation=Invocation("math.log"))
    small = shortened(about, divides, lambda: False).program
    assert "math.log" in small and "sqrt" not in small and "1 / 0" in small
    elsewhere = about._replace(invocation=Invocation("lib.other"))
    assert shortened(elsewhere, divides, lambda: False).program == "print(1 / 0)\n"


def test_what_its_end_does_not_depend_on_goes_at_once() -> None:
    asked: list[str] = []

    def dies(test: TestCase) -> bool:
        asked.append(test.program)
        return "b" in test.program and test.program.endswith("print(b)\n")

    many = "".join(f"a{number} = {number}\n" for number in range(20))
    assert shortened(program(f"b = 1\n{many}print(b)\n"), dies, lambda: False).program == "print(b)\n"
    assert asked[0] == "b = 1\nprint(b)\n" and len(asked) < 6


def test_it_stays_python_and_a_body_is_never_empty() -> None:
    def wanted(test: TestCase) -> bool:
        ast.parse(test.program)
        return "def forward" in test.program

    small = shortened(program(PROGRAM), wanted, lambda: False).program
    assert small == "class Model:\n\n    def forward(self, x):\n        pass\n\n"


def test_a_deadline_ends_it_with_the_best_so_far() -> None:
    calls = iter(range(100))
    found = shortened(program(PROGRAM), divides, lambda: next(calls) > 0)
    assert divides(found) and len(found.program) <= len(PROGRAM)


@examples(50)
@given(st.lists(st.sampled_from(["a = 1", "b = 2", "if a:\n    pass", "c = 3"]), min_size=1, max_size=8))
def test_the_result_has_what_is_wanted_and_nothing_that_can_go(parts: list[str]) -> None:
    small = shortened(
        program("\n".join([*parts, "wanted = 1"]) + "\n"), lambda test: "wanted" in test.program, lambda: False
    )
    assert small.program == "wanted = 1\n"


def test_a_program_is_part_of_what_a_finding_is() -> None:
    test = program(PROGRAM)
    assert decode_test(encode_test(test)) == test
    assert finding_key(test, "crash") != finding_key(test._replace(program=""), "crash")
    assert len(encode_test(test._replace(program=""))) == 4


def test_the_call_that_a_program_is_about_takes_its_place_where_it_suffices() -> None:
    test = TestCase(Invocation("a.b", (prim(7), prim(3))), 1, program=PROGRAM)
    small = minimise(test, lambda each: prim(7) in each.invocation.args or bool(each.program), lambda: False)
    assert small == TestCase(Invocation("a.b", (prim(7),)), 0)
