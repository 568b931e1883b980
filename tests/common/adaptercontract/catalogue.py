"""Checks of a library's inventory: its apis by name, their constraints, and the calls and operators that it reports."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter

from adaptercontract.world import Problems, World
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import Ref

KINDS = ("function", "class", "method")
NAMES = ("no_such_thing", "nn.no_such.thing", "__nothing__.x")


def loading(world: World) -> Problems:
    """`load` alone imports the library, and it starts no thread that a fork would lose."""
    yield from (f"{name} was imported by making the adapter" for name in world.early)
    if world.started:
        yield f"loading and listing started {world.started} threads"
    yield from (f"{name} is not imported" for name in world.adapter.prefixes[:1] if name not in sys.modules)
    if world.adapter.library != world.library or world.dialect.library != world.library:
        yield f"{world.adapter.library} and {world.dialect.library} call themselves otherwise"


def listing(world: World) -> Problems:
    """Apis are listed once, in order, with kinds, parameters and owners, and below a root that scripts import."""
    names = [entry.api.name for entry in world.listed]
    if not names or names != sorted(names):
        yield "nothing is listed, or not in order"
    count = Counter(name for entry in world.listed for name in (entry.api.name, *entry.api.aliases))
    yield from (f"{name} stands for {times}" for name, times in count.items() if times > 1)
    for api, found, owner in world.listed:
        if api.name.split(".")[0] not in world.scope:
            yield f"{api.name} is not what scripts import"
        if api.kind not in KINDS or isinstance(found, type) != (api.kind == "class"):
            yield f"{api.name} is a {api.kind}"
        if not callable(found) or not all(map(str.isidentifier, api.params)):
            yield f"{api.name} cannot be called with {api.params}"
        if api.kind == "method" and (api.params[:1] != ("self",) or not isinstance(owner, type)):
            yield f"{api.name} is no method of {owner}"


def resolving(world: World) -> Problems:
    """Every api is found by its canonical name and by its aliases, and described by its canonical name."""
    for api, found, _ in world.listed:
        for name in (api.name, *api.aliases):
            try:
                if world.builder.resolve(name) is not found:
                    yield f"{name} is something else"
            except BuildError as error:
                yield str(error)
        if api.kind != "method" and world.describer.describe(found) != Ref("name", api.name):
            yield f"{api.name} is described as {world.describer.describe(found)}"


def refusing(world: World) -> Problems:
    """Unknown names and dtypes are BuildErrors; a dtype exists only in libraries whose tensors can have it."""
    root = world.listed[0].api.name.split(".")[0]
    refs = [Ref("dtype", "float1024"), *(Ref("name", f"{root}.{name}") for name in NAMES)]
    yield from (f"{ref} is {world.builder.build(ref)}" for ref in refs if world.builds(ref))
    for name in DTYPES:
        if name != "string" and world.builds(Ref("dtype", name)) != (name in world.dtypes):
            yield f"{name} is known as a dtype, but no tensor has it, or the other way round"


def constraints(world: World) -> Problems:
    """Constraints name listed apis and parameters that these apis have."""
    known = {entry.api.name: entry.api for entry in world.listed}
    for each in world.adapter.definitions(world.listed):
        if each.api not in known:
            yield f"{each.api} is not listed"
        elif not _has(known[each.api], each.argument):
            yield f"{known[each.api].definition} has no {each.argument}"
        if Constraint.from_json(json.loads(json.dumps(each))) != each:
            yield f"{each} is not read back"


def _has(api: Api, argument: str) -> bool:
    """Returns whether an api has a parameter. An api without known parameters may have any parameter."""
    return argument in api.params or "(" not in api.definition or argument in re.findall(r"\w+", api.definition)


def hooks(world: World) -> Problems:
    """Methods of instances exist; reported calls and operators are well-formed, and seed programs are Python."""
    for api, found, _ in world.listed:
        for name in world.adapter.then_methods(found) if api.kind == "class" else ():
            if not callable(getattr(found, name, None)):
                yield f"{api.name} has no {name}"
    seen: list[str] = []
    with world.adapter.operators(seen.append):
        _call_all(world)
    yield from (f"operator {text!r}" for text in seen if len(text.split()) != 2)
    told: list[str] = []
    world.adapter.observe(lambda api, arguments, results: told.append(api) is None)
    _call_all(world)
    names = {name for entry in world.listed for name in (entry.api.name, *entry.api.aliases)}
    yield from (f"{api} was told, but is not listed" for api in told if api not in names)
    for _, code in world.adapter.seed_programs():
        ast.parse(code)


def _call_all(world: World) -> None:
    for call in world.examples.calls:
        world.builder.call(call)
