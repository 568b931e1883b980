"""Golden tests of mutation: a seed's mutants stay the same bit for bit.

The stored data are digests of every rule's values and of whole mutations. `python tests/golden/test_mutations.py`
writes the digests anew, after an intended change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from fuzz_core.ir.rng import Rng, derive
from fuzz_core.ir.values import NONE, Fill, Invocation, Map, Prim, Ref, Seq, Slice, Tensor, Then, Value, prim
from fuzz_core.mutation.algorithm import Algorithm1
from fuzz_core.mutation.contract import KINDS, Context, Mutator
from fuzz_core.mutation.registry import CALL_MUTATORS, MUTATORS, RuleBook, load_mutators
from fuzz_core.mutation.space import ArgumentSpace

STORED = Path(__file__).with_name("mutations.json")
STREAMS = 20
CASES = 60

MATRIX = Tensor("float32", (2, 3))
COUNTS = Tensor("int64", (3,), Fill("values", data=bytes([1, 0, 0, 0, 0, 0, 0, 0] * 3)))
HALVES = Tensor("float16", (4, 2), Fill("constant", 0.5, special=float("nan")), "parameter", (1, 4), True)
COMPLEX = Tensor("complex128", (2, 1, 2, 1), Fill("uniform", -2.0, 2.0, 7))
FLAGS = Tensor("bool", (), container="ndarray")
NAMES = Tensor("string", (2,), Fill("values", data=b"a\0b"))
SMALL = Tensor("float8_e5m2", (0, 4), container="variable")
HUGE = Tensor("float32", (2**12, 2**7, 1, 2))
PAIR = Seq("tuple", (prim(3), prim(5)))
WINDOW = Invocation(
    "fakelib.nn.Window", (prim(3),), (("stride", PAIR), ("ceil", prim(True))), Then("__call__", (MATRIX,))
)
MIX = Invocation(
    "fakelib.concat",
    (Seq("list", (MATRIX, HALVES, MATRIX)), Map((("p", prim(0.5)), ("sizes", PAIR))), Slice(NONE, prim(3), NONE)),
    (("axis", prim(-1)), ("module", WINDOW), ("mode", prim("zeros")), ("phase", prim(1 + 2j)), ("out", NONE)),
)
INVOCATIONS = (
    WINDOW,
    MIX,
    Invocation("fakelib.add", (MATRIX, MATRIX)),
    Invocation("fakelib.outer", (COUNTS, COMPLEX), (("dtype", Ref("dtype", "int64")),)),
    Invocation("fakelib.scale", (HALVES, prim(0.25)), (("by", prim(2)),)),
    Invocation("fakelib.pool", (NAMES, prim(6), prim(False)), (("size", Seq("list", tuple(map(prim, range(20))))),)),
    Invocation("fakelib.fail", (prim(7),)),
)
VALUES: tuple[Value, ...] = (
    *(MATRIX, COUNTS, HALVES, COMPLEX, FLAGS, NAMES, SMALL, HUGE),
    *map(prim, (3, -1, 0, 2**40, True, False, 0.5, float("nan"), float("-inf"), 1 + 2j, "mean", "", b"raw", None)),
    *(
        PAIR,
        Seq("list", ()),
        Seq("set", (prim(1), prim("x"))),
        Seq("list", (MATRIX, Seq("tuple", (prim(0.5), COUNTS)))),
    ),
    Seq("tuple", tuple(prim(number / 2) for number in range(70))),
    *(
        Map(()),
        Map((("p", prim(0.5)), ("size", prim(2)))),
        Slice(NONE, prim(3), NONE),
        Slice(prim(0), prim(4), prim(2)),
    ),
    *(Ref("dtype", "float32"), Ref("device", "cpu"), Ref("name", "fakelib.nn"), Prim("ellipsis", None)),
    *INVOCATIONS,
)
PARAMS = {"fakelib.nn.Window": ("size",), "fakelib.scale": ("x", "by"), "fakelib.concat": ("parts", "options", "part")}
APIS = sorted({invocation.api for invocation in INVOCATIONS})
SPACE = {
    "values": {
        "size": {
            "int": {"fakelib.nn.Window": [3, 8, 16], "fakelib.pool": [2, 6]},
            "none": {"fakelib.pool": [None]},
            "(int,int)": {"fakelib.pool": [["S", "tuple", [7, 9]]]},
        },
        "by": {"float": {"fakelib.scale": ["0.125", "nan"], "fakelib.add": ["-2.0"]}, "int": {"fakelib.scale": [4]}},
        "stride": {"(int,int)": {"fakelib.nn.Window": [["S", "tuple", [1, 2]], ["S", "tuple", [7, 7]]]}},
        "ceil": {"bool": {"fakelib.nn.Window": [True, False]}},
        "mode": {"str": {"fakelib.concat": ["zeros", "reflect"]}, "none": {"fakelib.concat": [None]}},
        "axis": {"int": {"fakelib.concat": [0, 1, -2]}},
        "dtype": {"dtype": {"fakelib.outer": [["R", "dtype", "float64"]]}},
        "parts": {
            "tensor<2,float32>": {
                "fakelib.add": [
                    ["T", "float32", [5, 1], ["constant", "2.0", "1.0", 0, "", None], "tensor", None, False]
                ]
            }
        },
    },
    "apis": APIS,
    "similarity": {},
    "tensors": {
        "2,float32": [["T", "float32", [9, 1], ["uniform", "-1.0", "1.0", 5, "", None], "tensor", None, False]],
        "1,int64": [["T", "int64", [4], ["constant", "3.0", "1.0", 0, "", None], "tensor", None, False]],
    },
}


def digest(made: Iterator[object]) -> str:
    """Returns a digest of the texts of all values, in order."""
    return blake2b("\n".join(map(repr, made)).encode(), digest_size=8).hexdigest()


def made_by(rule: Mutator) -> Iterator[object]:
    """Yields the rule's examples, and its mutants of the examples and of all fixed values, stream by stream."""
    examples = rule.domain.examples
    yield rule.name, rule.kind, examples
    space, book = ArgumentSpace.from_json(SPACE), RuleBook(PARAMS)
    for place, value in enumerate((*examples, *VALUES)):
        if not rule.domain.applies(value):
            yield "does not apply"
            continue
        for stream in range(STREAMS):
            argument = ("size", "by", "mode", "stride", "dtype", "parts", "axis")[stream % 7]
            rng = Rng(derive(rule.name, place, stream))
            yield rule.mutate(value, Context(rng, APIS[stream % len(APIS)], argument, space, book))
            yield rng.random()


def cases(*off: str) -> Iterator[object]:
    """Yields whole mutations of all invocations, as young and as old members of the corpus."""
    algorithm = Algorithm1(PARAMS, ArgumentSpace.from_json(SPACE), off)
    for number, invocation in enumerate(INVOCATIONS):
        for index in range(CASES):
            yield algorithm.case(invocation, number, derive("even", number, index), (0, 40)[index % 2] * index)


def digests() -> dict[str, dict[str, str]]:
    """Returns all stored digests: the rules in their order, then the cases without each kind of rule."""
    rules = [*load_mutators(MUTATORS), *load_mutators(CALL_MUTATORS)]
    made = {"even": digest(cases())}
    made |= {f"without {kind}": digest(cases(kind)) for kind in (*KINDS, "Redrawn Contents")}
    return {"rules": {rule.name: digest(made_by(rule)) for rule in rules}, "cases": made}


def test_a_seed_makes_what_it_always_made() -> None:
    stored, now = json.loads(STORED.read_text()), digests()
    assert {part: list(entries) for part, entries in now.items()} == {part: list(stored[part]) for part in stored}
    for part, entries in now.items():
        assert {name for name in entries if entries[name] != stored[part][name]} == set()


if __name__ == "__main__":
    STORED.write_text(json.dumps(digests(), indent=1) + "\n")
