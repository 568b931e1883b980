"""Checks of execution and comparison: random streams, global state, results and modes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from adaptercontract.tensors import same_elements
from adaptercontract.world import Problems, World
from fuzz_core.adapters.modes import mode_of
from fuzz_core.ir.elements import elements
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import Fill, Tensor, TestCase

RELATIONS = ("values", "behaviour", "shape", "strides", "metadata", "gradient", "finite", "memory")
SEEDS = (0, 1, 2**31, 2**32 - 1, 2**63 - 1)
PLAIN = Tensor("float32", (2, 3), Fill("uniform", 1.0, 2.0))
NAN, INFINITY = float("nan"), float("inf")


def random(world: World) -> Problems:
    """A seed draws the same numbers each time, and another seed draws others; the dialect's statement does the same."""
    for seed in SEEDS:
        world.adapter.reset(seed)
        ast.parse(world.dialect.seed(seed))

    def by_text(seed: int) -> None:
        exec(world.dialect.seed(seed), world.scope)

    for seeding in (world.adapter.reset, by_text) if world.examples.random else ():
        one, other, again = (_drawn(world, seeding, seed) for seed in (7, 8, 7))
        if not same_elements(one, again):
            yield f"the same seed drew {one} and {again}"
        if same_elements(one, other):
            yield f"two seeds drew {one}"
    yield from _streams(world)


def _streams(world: World) -> Problems:
    """A random stream that is put back draws the same numbers again; the caller puts numpy's streams back."""
    back, numpy = world.adapter.models().streams(), np.random.get_state()
    if back is None or not world.examples.random:
        return
    first = elements(world.described(world.written(world.examples.random)))
    back()
    np.random.set_state(numpy)
    again = elements(world.described(world.written(world.examples.random)))
    if not same_elements(first, again):
        yield f"streams that were put back drew {first} and {again}"


def _drawn(world: World, seeding: Callable[[int], None], seed: int) -> Any:
    seeding(seed)
    return elements(world.described(world.written(world.examples.random)))


def state(world: World) -> Problems:
    """The state stays as it is over resets and ordinary calls, and changes with a global switch."""
    before = world.adapter.process_state()
    world.adapter.reset(3)
    for call in world.examples.calls:
        world.builder.call(call)
    if world.adapter.process_state() != before:
        yield f"{before} became {world.adapter.process_state()}"
    if world.examples.switch:
        world.written(world.examples.switch)
        if world.adapter.process_state() == before:
            yield f"{world.examples.switch} is not seen: {before}"


def comparing(world: World) -> Problems:
    """Equal results do not differ; others do, by value, shape, dtype or NaN, and in both directions."""
    one, same = world.builder.build(PLAIN), world.builder.build(PLAIN)
    differences = world.adapter.differences
    for relation in RELATIONS:
        pair = ([1.0, 2.0], [1.0, 2.0]) if relation == "gradient" else (one, same)
        if text := differences(*pair, relation):
            yield f"equal results, by {relation}: {text}"
    others = _others(world)
    for name, (a, b) in others.items():
        if not differences(a, b) or not differences(b, a):
            yield f"another {name} is not seen"
        if text := differences(a, a) or differences(b, b):
            yield f"{name} differs from itself: {text}"
    for relation in ("metadata", "shape"):
        yield from (
            f"another {name} is not seen by {relation}"
            for name in ("shape", "dtype")
            if not differences(*others[name], relation)
        )
        if differences(*others["value"], relation):
            yield f"{relation} looks at values"
    yield from _structures(world)


def _structures(world: World) -> Problems:
    """Results of different structure differ, by every relation that compares more than numbers."""
    one = world.vector(1.0)
    pairs = {
        "tuple against a list": ((one, one), [one, one]),
        "length": ((one, one), (one, one, one)),
        "length within": ([one, (one, one)], [one, (one,)]),
        "key": ({"a": one}, {"b": one}),
        "number of keys": ({"a": one}, {"a": one, "b": one}),
        "dictionary against a list": ({"a": one}, [one]),
        "container of one": ((one,), one),
        "nothing": (one, None),
        "nothing within": ((one, one), (one, None)),
    }
    for name, (a, b) in pairs.items():
        for relation in ("values", "behaviour", "shape", "strides", "metadata"):
            if not world.adapter.differences(a, b, relation) or not world.adapter.differences(b, a, relation):
                yield f"another structure is not seen by {relation}: {name}"
            if text := world.adapter.differences(a, a, relation) or world.adapter.differences(b, b, relation):
                yield f"{name} differs from itself by {relation}: {text}"
        if world.adapter.error(a, b) != INFINITY:
            yield f"error is {world.adapter.error(a, b)} where structures differ: {name}"
    if not world.adapter.differences([1.0], [1.0, 2.0], "gradient"):
        yield "another number of derivatives is not seen"


def _others(world: World) -> dict[str, tuple[Any, Any]]:
    """Returns pairs of results that differ, by the kind of their difference."""
    one, vector = world.builder.build(PLAIN), world.vector
    return {
        "value": (one, world.builder.build(PLAIN._replace(fill=Fill("uniform", 3.0, 4.0)))),
        "single value": (vector(1.0, 1.0), vector(1.0, 1.01)),
        "shape": (one, world.builder.build(PLAIN._replace(shape=(3, 2)))),
        "dtype": (one, world.builder.build(PLAIN._replace(dtype="int32"))),
        "NaN": (vector(NAN, 1.0), vector(1.0, 1.0)),
        "infinity": (vector(INFINITY, 1.0), vector(1.0, 1.0)),
        "sign of infinity": (vector(INFINITY, 1.0), vector(-INFINITY, 1.0)),
        "integer": (vector(1, 2, dtype="int32"), vector(1, 3, dtype="int32")),
        "boolean": (vector(0, 1, dtype="bool"), vector(1, 1, dtype="bool")),
        "part": ([one, vector(1.0)], [one, vector(2.0)]),
    }


def relations(world: World) -> Problems:
    """`finite` looks in one direction alone; derivatives have tolerances of their own."""
    differences, nan, number = world.adapter.differences, world.vector(NAN, 1.0), world.vector(1.0, 1.0)
    if not differences(nan, number, "finite"):
        yield "NaN where the reference has a number is not seen"
    if differences(number, nan, "finite"):
        yield "a number where the reference has none is seen"
    if not differences([1.0, 2.0], [1.0, 2.1], "gradient") or differences([1.0, NAN], [1.0 + 1e-5, NAN], "gradient"):
        yield "derivatives have no tolerance, or none that is seen"


def errors(world: World) -> Problems:
    """Errors are zero for equal results, in units of the tolerance for close ones, and infinite if no number fits."""
    error, whole = world.adapter.error, world.adapter.has_whole_numbers
    for dtype in ("float16", "float32", "float64", "int32", "bool"):
        live = world.vector(0, 1, 1, dtype=dtype)
        if error(live, live) != 0 or whole(live) != (dtype in ("int32", "bool")):
            yield f"{dtype} differs from itself, or is not what it is"
    wide, nan = world.vector(1.0, 2.0, dtype="float64"), world.vector(NAN, 2.0)
    far, near = world.vector(1.0, 2.1), world.vector(1.0, np.nextafter(np.float32(2), np.float32(3)))
    if not error(wide, near) < 1 < error(wide, far) < INFINITY or error(nan, nan) != 0:
        yield f"errors are {error(wide, near)}, {error(wide, far)}, and {error(nan, nan)} of NaN"
    integers = world.vector(1, 2, dtype="int32"), world.vector(1, 3, dtype="int32")
    for pair in ((wide, nan), (wide, world.vector(1.0, 2.0, 3.0)), integers):
        if error(*pair) != INFINITY:
            yield f"{pair} differ by {error(*pair)}"


def ways(world: World) -> Problems:
    """Every mode loads, names its relation and its reference mode, and agrees with it on a fitting example."""
    modes = (*world.adapter.device_modes(), *world.adapter.ways)
    if modes[0] != "cpu":
        yield f"the first mode is {modes[0]}"
    for name in modes:
        mode = mode_of(world.adapter, name)
        spec = mode.spec
        if spec.against not in ("", *modes) or spec.relation not in ("", *RELATIONS):
            yield f"{name} is compared by {spec.relation} with {spec.against}"
        tests = [TestCase(call, seed) for call in world.examples.calls for seed in (1, 2)]
        texts = [_disagreement(world, name, test) for test in tests if mode.applies(test)]
        if tests and all(text is None for text in texts):
            yield f"{name} applies to no example"
        yield from (f"{name}: {text}" for text in texts if text)
    # Devices that this machine lacks have a text all the same.
    texts = (name for name in world.dialect.ways if not name.startswith("cuda"))
    yield from (f"{name} is a way in text alone" for name in texts if name not in modes)


def _disagreement(world: World, name: str, test: TestCase) -> str | None:
    """Returns the difference between a mode's result and its reference; None if the mode has no such call."""
    mode = mode_of(world.adapter, name)
    spec = mode.spec
    results = []
    for each in (mode_of(world.adapter, spec.against or "cpu"), mode):
        world.adapter.enter("cpu")
        world.adapter.reset(test.seed)
        try:
            results.append(each.run(test))
        except BuildError:
            return None
    return world.adapter.differences(*results, spec.relation) if spec.relation and spec.against else ""
