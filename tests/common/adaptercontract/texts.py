"""Checks of a library's texts: references, and the patterns that recognize its errors."""

from __future__ import annotations

from adaptercontract.world import Problems, World
from fuzz_core.ir.values import Ref

ORDINARY = (
    "",
    "ValueError: step must be positive",
    "TypeError: f() missing 1 required positional argument: 'x'",
    "TypeError: f(): incompatible function arguments: 1. (arg0: std::vector<int>) -> None",
    "RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0",
    "IndexError: index 5 is out of bounds for axis 0 with size 3",
    "NotImplementedError: not for this dtype",
    "KeyError: 'a'",
)
MEMORY = ("MemoryError: ", "RuntimeError: std::bad_alloc", "OSError: [Errno 12] Cannot allocate memory")
INTERNAL = "SystemError: f returned NULL without setting an exception"
FILES = ("/usr/lib/x86_64-linux-gnu/libc.so.6", "/opt/bin/python3.11", "/opt/lib/libgomp-24e2ab19.so.1")


def references(world: World) -> Problems:
    """A dtype's text is the dtype; a device's text is an expression."""
    for name in world.dtypes:
        ref = Ref("dtype", name)
        if name != "string" and world.written(world.dialect.ref(ref)) != world.builder.build(ref):
            yield f"{name} is spelled {world.dialect.ref(ref)}"
    world.written(world.dialect.ref(Ref("device", "cpu")))
    api = world.listed[0].api.name
    if world.dialect.ref(Ref("name", api)) != api:
        yield f"{api} is spelled {world.dialect.ref(Ref('name', api))}"


def patterns(world: World) -> Problems:
    """Patterns match their own errors, and no ordinary message or foreign file."""
    dialect = world.dialect
    for text in ORDINARY:
        found = [each for each in (dialect.internal_error, dialect.out_of_memory, dialect.poisons) if each.search(text)]
        yield from (f"{each.pattern[:60]} matches {text!r}" for each in found)
    for text in MEMORY:
        if not dialect.out_of_memory.search(text) or dialect.internal_error.search(text):
            yield f"{text!r} is no clean out-of-memory"
    yield from (f"{name} is its own" for name in FILES if dialect.native_modules.search(name))
    if not dialect.internal_error.search(INTERNAL) or dialect.out_of_memory.search(INTERNAL):
        yield "a SystemError is not internal"
    if not dialect.distributions or dialect.strided not in (True, False):
        yield "it is in no distribution, or neither strided nor not"
