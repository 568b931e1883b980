"""Faults planted for each check of the adapter contract: the check must report its fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from adaptercontract.__main__ import CHANGING, CHECKS, problems
from adaptercontract.world import World

from fuzz_core.adapters.dialect import ModeSpec, Way
from fuzz_core.adapters.inventory import Listed
from fuzz_core.adapters.modes import Mode
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.codec import encode
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.values import Fill, Tensor, TestCase, prim

HERE = __name__
ONES = np.ones(3, np.float32)
VALUES = Tensor("float32", (2,), Fill("values", data=np.array([-0.0, 1.5], np.float32).tobytes()))


class Wrong(Mode):
    """A mode with another result."""

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        return self.builder.call(test.invocation) + 1


def undeclared(listed: list[Listed]) -> Iterator[Constraint]:
    """Yields a constraint on a parameter that the api does not have."""
    yield Constraint(listed[0].api.name, "no_such_parameter", "minimum", (0,), "words", "docstring")


def unlisted(listed: list[Listed]) -> Iterator[Constraint]:
    """Yields a constraint on an api that is not listed."""
    yield Constraint("numpy.no_such_api", "x", "minimum", (0,), "words", "docstring")


def unusable(world: World) -> None:
    """Lists a class and names a method that the class does not have."""
    world.listed.append(Listed(Api("numpy.linalg.float", "class"), float, np))
    world.adapter.then_methods = lambda cls: ("no_such_method",)  # type: ignore[method-assign]


def _patched(half: str, **replaced: Any) -> Callable[[World], None]:
    def patch(world: World) -> None:
        for name, value in replaced.items():
            setattr(getattr(world, half) if half else world, name, value)

    return patch


def _around(half: str, name: str, change: Callable[..., Any]) -> Callable[[World], None]:
    """Returns a patch that passes the result of a half's function through `change`.

    Args:
        half: attribute of the world, `adapter` or `dialect`.
        name: function of that half.
        change: called with the result and the arguments.
    """

    def patch(world: World) -> None:
        plain = getattr(getattr(world, half), name)
        setattr(getattr(world, half), name, lambda *args: change(plain(*args), *args))

    return patch


def _blind_to(*kinds: str) -> Callable[..., str]:
    """Returns a comparison that sees only shapes and dtypes, and not even the given kinds of them."""

    def differences(a: Any, b: Any, relation: str = "values") -> str:
        return next((kind for kind in ("shape", "dtype") if kind not in kinds and _of(a, kind) != _of(b, kind)), "")

    return differences


def _alike(a: Any, b: Any) -> bool:
    """Returns whether one of the two values is a list and one is a tuple."""
    return sorted((type(a).__name__, type(b).__name__)) == ["list", "tuple"]


def _of(value: Any, kind: str) -> Any:
    return getattr(value, kind, None)


FAULTS: list[tuple[str, Callable[[World], None]]] = [
    ("loading", _patched("", started=1)),
    ("loading", _patched("dialect", library="another")),
    ("listing", lambda world: world.listed.reverse()),
    ("listing", lambda world: world.listed.insert(1, world.listed[0])),
    ("resolving", _patched("adapter", ref=lambda ref, device: len)),
    ("refusing", _patched("adapter", ref=lambda ref, device: len)),
    ("constraints", _patched("adapter", definitions=undeclared)),
    ("constraints", _patched("adapter", definitions=unlisted)),
    ("bounding", _patched("adapter", build=lambda tensor, device: ONES)),
    ("values", _patched("adapter", describe=lambda value, describe: prim(1))),
    ("written_to", _patched("adapter", build=lambda tensor, device: ONES)),
    ("round_trip", _around("adapter", "build", lambda made, *_: abs(made))),
    ("round_trip", _around("adapter", "build", lambda made, *_: made.astype(np.float64))),
    ("round_trip", _around("adapter", "build", lambda made, *_: made[None])),
    ("round_trip", _around("adapter", "describe", lambda made, *_: made and made._replace(fill=Fill("constant", 1.0)))),
    ("spelled", _around("dialect", "tensor", lambda made, *_: f"abs({made})")),
    ("spelled", _around("dialect", "tensor", lambda made, *_: f"{made}.tolist()")),
    ("random", _patched("adapter", reset=lambda seed: None)),
    ("random", _patched("dialect", seed=lambda seed: "np.random.seed(1)")),
    ("state", _patched("adapter", state=lambda: 0)),
    ("state", _patched("adapter", state=object)),
    ("comparing", _patched("adapter", differences=lambda a, b, relation="values": "")),
    ("comparing", _patched("adapter", differences=lambda a, b, relation="values": "differs")),
    ("comparing", _patched("adapter", differences=_blind_to())),
    ("comparing", _patched("adapter", differences=_blind_to("dtype"))),
    ("comparing", _around("adapter", "differences", lambda text, a, b, *how: "" if _alike(a, b) else text)),
    ("relations", _patched("adapter", differences=lambda a, b, relation="values": "")),
    ("relations", _patched("adapter", differences=lambda a, b, relation="values": "differs")),
    ("errors", _patched("adapter", error=lambda a, b: 0.0)),
    ("errors", _patched("adapter", error=lambda a, b: float("inf"))),
    ("errors", _patched("adapter", has_whole_numbers=lambda result: True)),
    ("ways", _patched("adapter", ways={"wrong": ModeSpec(f"{HERE}:Wrong")})),
    ("ways", _patched("adapter", device_modes=lambda: ("cuda", "cpu"))),
    ("ways", _patched("dialect", modes={"nowhere": ModeSpec(script=Way(""))})),
    ("references", _patched("dialect", ref=lambda ref: "None")),
    ("patterns", lambda world: setattr(world.dialect, "internal_error", world.dialect.out_of_memory)),
    ("hooks", unusable),
    ("hooks", _patched("adapter", seed_programs=lambda: [("program", "no python")])),
]


@pytest.fixture
def world(numpylib: Path) -> Iterator[World]:
    """The checked world of numpy in this process; numpy's error settings are restored at the end."""
    errors = np.geterr()
    yield World("numpy")
    np.seterr(**errors)


def said(world: World, check: str) -> str:
    """Returns the problems that a check finds, as JSON."""
    arguments = [encode(VALUES)] if check in ("round_trip", "spelled") else []
    return problems({**CHECKS, **CHANGING}[check], world, arguments)


@pytest.mark.parametrize(("check", "fault"), FAULTS)
def test_a_fault_is_seen(world: World, check: str, fault: Callable[[World], None]) -> None:
    fault(world)
    assert said(world, check) != "[]"


def test_every_check_has_a_fault_and_nothing_to_say_without(world: World) -> None:
    assert {check for check, _ in FAULTS} == {*CHECKS, *CHANGING}
    assert [check for check in sorted({*CHECKS, *CHANGING}) if said(world, check) != "[]"] == []
