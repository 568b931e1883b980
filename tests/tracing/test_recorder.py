"""Tests that the calls of a seed are recorded, and that the seed does not notice the recorder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fuzz_core.ir.values import Invocation, Seq, Then, prim
from fuzz_core.tracing import recorder

Trace = Callable[..., Any]
START = "import tinylib, itertools\nimport numpy as np\n"


def clean(traced: Any) -> Any:
    """Returns the traced seed, after a check that no statement failed."""
    assert traced.end["failed"] == 0, traced.end["reason"]
    return traced


def test_a_call_is_recorded_once_with_its_arguments(trace: Trace) -> None:
    traced = clean(trace(START + "assert tinylib.add(1, b=2) == 3\ntinylib.add(1, b=2)\ntinylib.add(1, b=3)"))
    assert traced.good == ['["tinylib.add",[1],[["b",2]],null]', '["tinylib.add",[1],[["b",3]],null]']
    assert traced.end["calls"] == 3


def test_calls_that_differ_in_elements_alone_are_one(trace: Trace) -> None:
    traced = clean(trace(START + "tinylib.add(np.zeros(3))\ntinylib.add(np.ones(3))\ntinylib.add(np.ones(4))"))
    assert len(traced.calls) == 2


def test_one_and_true_are_two(trace: Trace) -> None:
    traced = clean(trace(START + "tinylib.add(1)\ntinylib.add(True)\ntinylib.add(1.0)"))
    assert traced.good == [f'["tinylib.add",[{x}],[],null]' for x in ("1", "true", "1.0")]


def test_objects_are_described_by_their_construction(trace: Trace) -> None:
    traced = clean(trace(START + "s = tinylib.Scale(2)\nassert tinylib.Chain(s, tinylib.Scale(by=3))(5) == 30"))
    scale = (Invocation("tinylib.Scale", (prim(2),)), Invocation("tinylib.Scale", (), (("by", prim(3)),)))
    chain = Invocation("tinylib.Chain", scale)
    calls = [call for call, ok in traced.calls if ok]
    assert calls[:3] == [*scale, chain]
    assert chain._replace(then=Then("__call__", (prim(5),))) in calls
    assert scale[1]._replace(then=Then("__call__", (prim(10),))) in calls


def test_one_instance_called_twice_is_two_calls_of_one_construction(trace: Trace) -> None:
    traced = clean(trace(START + "s = tinylib.Scale(2)\ns(1)\ns('x')"))
    scale = Invocation("tinylib.Scale", (prim(2),))
    calls = [scale, *(scale._replace(then=Then("__call__", (prim(x),))) for x in (1, "x"))]
    assert [call for call, _ in traced.calls] == calls


def test_an_instance_that_was_not_made_under_the_recorder_is_counted(trace: Trace) -> None:
    traced = clean(trace(START + "s = tinylib.Scale.__new__(tinylib.Scale)\ns.by = 3\ntinylib.apply(s, 1)"))
    assert traced.undescribed == {("tinylib.apply", "tinylib.Scale"): 1}


def test_subclasses_are_no_constructions_of_the_library(trace: Trace) -> None:
    code = "class Mine(tinylib.Scale):\n    def __init__(self):\n        super().__init__(4)\n"
    traced = clean(trace(START + code + "assert Mine()(2) == 8\ntinylib.apply(Mine(), 1)"))
    assert traced.good == []
    assert traced.undescribed == {("tinylib.apply", "seed.Mine"): 1}


def test_a_call_that_raises_is_recorded_as_one_and_raises(trace: Trace) -> None:
    traced = trace(START + "tinylib.fail(1)\ntinylib.Scale(0)\nx = 1")
    assert traced.calls == [
        (Invocation("tinylib.fail", (prim(1),)), False),
        (Invocation("tinylib.Scale", (prim(0),)), False),
    ]
    assert (traced.end["parts"], traced.end["failed"], traced.end["reason"]) == (5, 2, "ValueError: no 1")


def test_arguments_are_described_as_they_were_before_the_call(trace: Trace) -> None:
    traced = clean(trace(START + "x = [1, 2]\ntinylib.fill(x)\nassert x == [9, 9]"))
    assert traced.good == ['["tinylib.fill",[["S","list",[1,2]]],[],null]']


def test_calls_between_apis_are_recorded(trace: Trace) -> None:
    traced = clean(trace(START + "tinylib.outer(5)"))
    assert '["tinylib.add",[5,1],[],null]' in traced.good


def test_functions_of_the_library_are_described_by_name(trace: Trace) -> None:
    traced = clean(trace(START + "assert tinylib.apply(tinylib.add, 2) == 2"))
    assert '["tinylib.apply",[["R","name","tinylib.add"],2],[],null]' in traced.good


@pytest.mark.parametrize("items", ["(i for i in (7, 8))", "map(int, '78')", "filter(None, [7, 8])"])
@pytest.mark.parametrize("call", ["tinylib.take({})", "tinylib.take(items={})"])
def test_iterators_are_recorded_and_not_used_up(trace: Trace, items: str, call: str) -> None:
    traced = clean(trace(f"{START}assert {call.format(items)} == [7, 8]"))
    assert Seq("list", (prim(7), prim(8))) in (*traced.calls[0][0].args, *dict(traced.calls[0][0].kwargs).values())


def test_iterators_stay_iterators_for_the_library(trace: Trace) -> None:
    traced = clean(trace(START + "g = (i for i in (7, 8))\nassert tinylib.first(g) == 7"))
    assert traced.good == ['["tinylib.first",[["S","list",[7,8]]],[],null]']


@pytest.mark.parametrize(
    "items", ["itertools.count(7)", "(i for i in itertools.count(7))", "map(int, itertools.count(7))"]
)
def test_endless_iterators_end_nothing(trace: Trace, items: str) -> None:
    traced = clean(trace(f"{START}assert tinylib.take({items}) == [7, 8, 9]"))
    assert sum(traced.undescribed.values()) == 1


def test_what_cannot_be_described_is_counted_by_type(trace: Trace) -> None:
    code = "o = object()\nfor _ in range(3):\n    tinylib.apply(lambda x: x, o)\ntinylib.add([], [o])"
    traced = trace(START + code)
    assert traced.undescribed == {("tinylib.apply", "builtins.function"): 3, ("tinylib.add", "builtins.object"): 1}
    assert traced.good == []


@pytest.mark.parametrize(
    "value",
    [
        "2**80",
        "'x' * 5000",
        "b'x' * 5000",
        "list(range(999))",
        "{1: 2}",
        "np.array([object()])",
        "np.zeros(1, 'M8[s]')",
    ],
)
def test_what_is_too_large_or_strange_is_counted(trace: Trace, value: str) -> None:
    traced = clean(trace(f"{START}assert tinylib.apply(id, {value})\ntinylib.take({value} if 0 else [{value}])"))
    assert sum(traced.undescribed.values()) == 2


def test_a_list_that_holds_itself_is_counted(trace: Trace) -> None:
    traced = clean(trace(START + "x = []\nx.append(x)\ntinylib.take(x)"))
    assert traced.undescribed == {("tinylib.take", "nesting deeper than 12"): 1}


HOSTILE = {
    "__class__": "class H:\n    __class__ = property(lambda self: 1 / 0)",
    "__repr__": "class H:\n    def __repr__(self): 1 / 0\n    __str__ = __repr__",
    "__getattr__": "class H:\n    def __getattribute__(self, name): 1 / 0",
    "__hash__": "class H:\n    __hash__ = None\n    def __eq__(self, other): 1 / 0",
    "__bool__": "class H:\n    def __bool__(self): 1 / 0\n    __len__ = __bool__",
    "tuple": "class H(tuple):\n    def __iter__(self): 1 / 0\n    __len__ = __iter__",
    "dict": "class H(dict):\n    def items(self): 1 / 0",
    "int": "class H(int):\n    def __int__(self): 1 / 0\n    __index__ = __abs__ = __int__",
    "str": "class H(str):\n    def __str__(self): 1 / 0",
    "lying": "class H:\n    __class__ = int",
    "metaclass": "class M(type):\n    def __getattribute__(self, name): 1 / 0\nclass H(metaclass=M): pass",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_objects_reach_the_library_untouched(trace: Trace, name: str) -> None:
    code = "h = H()\nassert tinylib.apply(lambda x: x is h, h)\nassert tinylib.take([h])[0] is h"
    clean(trace(f"{START}{HOSTILE[name]}\n{code}"))


def test_unique_calls_beyond_the_cap_are_counted_as_dropped(trace: Trace) -> None:
    traced = clean(trace(START + "for i in range(300):\n    assert tinylib.add(i) == i"))
    assert len(traced.good) == recorder.UNIQUE_CAP
    assert traced.end["dropped"] == [["tinylib.add", 300 - recorder.UNIQUE_CAP]]


def test_calls_beyond_the_cap_are_counted_as_dropped(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "CALL_CAP", 10)
    traced = clean(trace(START + "for i in range(15):\n    tinylib.add(1)"))
    assert (len(traced.good), traced.end["dropped"]) == (1, [["tinylib.add", 5]])


def test_calls_on_other_threads_work_and_are_not_recorded(trace: Trace) -> None:
    code = "import threading\nseen = []\nt = threading.Thread(target=lambda: seen.append(tinylib.add(1, 2)))\n"
    traced = clean(trace(START + code + "t.start(); t.join()\nassert seen == [3]"))
    assert traced.good == []


def test_a_wrapped_function_looks_like_itself(trace: Trace) -> None:
    code = "import inspect\nassert str(inspect.signature(tinylib.add)) == '(a, b=0)'\n"
    code += "assert (tinylib.add.__doc__, tinylib.add.__name__) == ('a + b', 'add')\n"
    clean(trace(START + code + "assert tinylib.Scale(3).by == 3\nassert isinstance(tinylib.Scale(1), tinylib.Scale)"))
