"""Tests of the evidence on a difference: random draws, rounding, invalid arguments, blame. No real library is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np
import pytest
from nightfuzz_fakelib.adapter import Adapter
from nightfuzz_fakelib.dialect import Dialect

from fuzz_core.adapters.dialect import ModeSpec
from fuzz_core.adapters.modes import Mode
from fuzz_core.ir.elements import pack
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Fill, Invocation, Ref, Tensor, TestCase, prim
from fuzz_core.oracles.kinds import RESIZED
from fuzz_core.worker.execution import Execution

Function = Callable[..., Any]
# The lowest bits of a seed; real modes choose layouts by these bits.
LAYOUT = 7


def tensor(*values: float, dtype: str = "float32") -> Tensor:
    return Tensor(dtype, (len(values),), Fill("values", data=pack(np.array(values, dtype=dtype))))


class TwoDevices(Adapter):
    """An adapter of functions of `lib`: each function gets the device that it runs on, and the seed of the test."""

    def __init__(self, **functions: Function) -> None:
        self.functions = functions
        self.device, self.seed = "cpu", 0
        self.ran: list[str] = []

    def device_modes(self) -> tuple[str, ...]:
        return ("cpu", "cuda")

    def enter(self, mode: str) -> str:
        self.device = mode
        return mode

    def reset(self, seed: int) -> None:
        np.random.seed(seed & 0xFFFFFFFF)
        self.seed = seed

    def ref(self, ref: Ref, device: str) -> Any:
        function = self.functions[ref.name.removeprefix("lib.")]

        def call(*args: Any) -> Any:
            self.ran.append(self.device)
            return function(self, *args)

        call.__doc__ = function.__doc__
        return call

    def refusal(self, value: Any) -> str:
        return "far too small" if isinstance(value, np.ndarray) and (value < -100).any() else ""


def compared(adapter: TwoDevices, call: Invocation, seed: int = LAYOUT, mode: str = "cuda") -> Outcome:
    """Returns the outcome of a mode, by default of the second device, compared with the first device."""
    execution = Execution(adapter, Dialect(), [])
    test = TestCase(call, seed)
    return execution._outcome(test, mode, {"cpu": execution.run(test, "cpu")})


def toss(adapter: TwoDevices, x: Any) -> Any:
    return x + (np.random.randint(2) if adapter.device == "cuda" else 0)


def test_a_toss_of_a_coin_is_random_even_if_it_is_the_same_three_times() -> None:
    outcomes = [compared(TwoDevices(f=toss), Invocation("lib.f", (tensor(1.0),)), seed) for seed in range(40)]
    assert {outcome.name for outcome in outcomes if outcome.text} == {"random"}


class Held(np.ndarray):
    """An array in the memory of a device."""


class Places(TwoDevices):
    """An adapter whose second device gives the first address that no tensor holds."""

    def __init__(self, **functions: Function) -> None:
        super().__init__(**functions)
        self.made: list[ref[Held]] = []

    def build(self, tensor: Tensor, device: str) -> Any:
        made = np.array(super().build(tensor, device)).view(Held)
        if device == "cuda":
            self.made.append(ref(made))
        return made


def address(adapter: Places, x: Any) -> Any:
    return np.asarray(sum(each() is not None for each in adapter.made) if adapter.device == "cuda" else -1)


def test_an_address_on_a_device_is_random() -> None:
    outcome = compared(Places(f=address), Invocation("lib.f", (tensor(1.0),)))
    assert (outcome.name, bool(outcome.text)) == ("random", True)


def test_a_difference_that_a_number_of_single_precision_removes_is_rounding() -> None:
    def lossy(adapter: TwoDevices, x: Any, exponent: int) -> Any:
        held = int(np.float32(exponent)) if adapter.device == "cuda" else exponent
        return x + x.dtype.type(100.0 * (held != 2**24))

    def of(dtype: str) -> Outcome:
        call = Invocation("lib.f", (tensor(1.0, dtype=dtype), prim(2**24 + 1)))
        return compared(TwoDevices(f=lossy), call)

    assert of("float32").name == "rounding"
    # A result in double precision holds the number, so the mode has lost it.
    assert of("float64").text and not of("float64").name


def test_what_depends_on_the_layout_is_not_random() -> None:
    def scattered(adapter: TwoDevices, x: Any) -> Any:
        return x + (adapter.seed & LAYOUT if adapter.device == "cuda" else 0)

    outcome = compared(TwoDevices(f=scattered), Invocation("lib.f", (tensor(1.0, 2.0),)))
    assert outcome.text and not outcome.name


def test_a_difference_within_what_rounding_of_the_input_moves_is_no_fault() -> None:
    def cancels(adapter: TwoDevices, x: Any) -> Any:
        return (x - x.dtype.type(16777000.0)) + x.dtype.type(adapter.device == "cuda")

    outcome = compared(TwoDevices(f=cancels), Invocation("lib.f", (tensor(16777001.0, 16777002.0),)))
    assert outcome.name == "rounding"
    # The same difference, for an input that rounding moves little.
    small = compared(
        TwoDevices(f=lambda adapter, x: x + (adapter.device == "cuda")), Invocation("lib.f", (tensor(1.0),))
    )
    assert small.text and not small.name


def test_an_argument_that_the_library_s_own_check_refuses_reaches_no_mode() -> None:
    made = Invocation("lib.make", (tensor(-101.0),))
    adapter = TwoDevices(make=lambda adapter, x: x, f=lambda adapter, x: x / 0)
    execution = Execution(adapter, Dialect(), ["crash", "differential", "performance"])
    for oracle in execution.oracles:
        oracle.share = 1.0
    plain, verdicts = execution.judge(TestCase(Invocation("lib.f", (made,)), 1))
    assert (plain.kind, verdicts, adapter.ran) == ("skipped", [], ["cpu"])
    assert "far too small" in plain.text


def test_results_that_the_library_s_own_check_refuses_are_not_compared() -> None:
    def breaks(adapter: TwoDevices, x: Any) -> Any:
        return x - (205 if adapter.device == "cuda" else 204)

    assert compared(TwoDevices(f=breaks), Invocation("lib.f", (tensor(1.0),))).kind == "skipped"


def solve(adapter: TwoDevices, factor: Any) -> Any:
    """Solve. The factor is expected to be computed by :func:`lib.factorise`."""
    return factor + (0 if (factor > 3).all() else adapter.device == "cuda")


def test_an_argument_is_replaced_by_what_the_documented_producer_returns() -> None:
    call = Invocation("lib.solve", (tensor(1.0, 2.0),))
    valid = TwoDevices(solve=solve, factorise=lambda adapter, x: x + 4)
    assert compared(valid, call).name == "not produced as documented"
    broken = TwoDevices(solve=solve, factorise=lambda adapter, x: x + 1)
    assert compared(broken, call).name == ""


@pytest.mark.parametrize("wrong", ["cpu", "cuda"])
def test_numpy_says_which_side_is_wrong(wrong: str) -> None:
    def negative(adapter: TwoDevices, x: Any) -> Any:
        return -x + 9 * (adapter.device == wrong)

    text = compared(TwoDevices(negative=negative), Invocation("lib.negative", (tensor(1, 2, dtype="int32"),))).text
    first, amount, blame = text.splitlines()
    assert first == "2 of 2 elements differ"
    # The right result is the expected one.
    assert amount == "first at (0,): 8 against -1"
    assert blame == f"wrong: {wrong}, by NumPy"


def test_nobody_is_blamed_without_evidence() -> None:
    def own(adapter: TwoDevices, x: Any) -> Any:
        return x + (adapter.device == "cuda")

    text = compared(TwoDevices(own=own), Invocation("lib.own", (tensor(1, dtype="int32"),))).text
    assert text and "wrong:" not in text


class ThreeModes(TwoDevices):
    """An adapter with a third mode, which runs the function as if on a third device and has code of its own."""

    @property
    def ways(self) -> dict[str, ModeSpec]:
        return {"foreseen": ModeSpec(f"{__name__}:Foreseen", independent=True, phrases=("as foreseen", "as it is"))}


class Foreseen(Mode):
    def run(self, test: TestCase) -> Any:
        self.adapter.enter("foreseen")
        return super().run(test)


@pytest.mark.parametrize(("foreseen", "blamed"), [(2, "\nwrong: cpu, by the call as foreseen"), (1, ""), (3, "")])
def test_a_third_mode_tells_that_the_plain_call_has_the_wrong_shape(foreseen: int, blamed: str) -> None:
    shapes = {"cpu": 1, "cuda": 2, "foreseen": foreseen}
    adapter = ThreeModes(f=lambda adapter, x: np.zeros(shapes[adapter.device], "float32"))
    text = compared(adapter, Invocation("lib.f", (tensor(1.0),))).text
    assert text.partition("\n")[0].startswith("shape is")
    assert text.partition("\n")[2] == blamed.lstrip("\n")


def test_a_call_in_place_that_resizes_its_argument_is_the_wrong_one() -> None:
    def f(adapter: TwoDevices, x: Any) -> Any:
        if adapter.device == "cpu":
            x.resize((4,), refcheck=False)
        return x

    def g(adapter: TwoDevices, x: Any) -> Any:
        if adapter.device == "cuda":
            raise ValueError("no such shape")
        return f(adapter, x)

    blamed = f"wrong: cpu, by {RESIZED}"
    assert compared(TwoDevices(f=f), Invocation("lib.f", (tensor(1.0),))).text.endswith(blamed)
    adapter = TwoDevices(g=g)
    execution = Execution(adapter, Dialect(), [])
    test = TestCase(Invocation("lib.g", (tensor(1.0),)), LAYOUT)
    plain, other = execution.run(test, "cpu")[0], execution.run(test, "cuda")[0]
    assert execution._refusal(test, "cuda", plain, other).text.endswith(f"no such shape\n{blamed}")


def test_a_difference_that_only_huge_numbers_show_is_no_fault() -> None:
    def centred(adapter: TwoDevices, x: Any) -> Any:
        # The second device keeps a rounding error of the largest number, times a factor of its own.
        return x - x + (np.abs(x) * 1e-15 * (adapter.device == "cuda") if (np.abs(x) > 1).any() else 0)

    huge = Invocation("lib.f", (tensor(1e30, 2e30, dtype="float64"),))
    assert compared(TwoDevices(f=centred), huge).name == "rounding of huge numbers"
    # Scaled to 1, the second number is below any tolerance.
    small = TwoDevices(f=lambda adapter, x: x * np.array([1, 1 + (adapter.device == "cuda")]))
    assert compared(small, Invocation("lib.f", (tensor(1e30, 1e20, dtype="float64"),))).name == ""
    always = TwoDevices(f=lambda adapter, x: x * (1 + (adapter.device == "cuda")))
    assert compared(always, huge).text and not compared(always, huge).name


def test_an_argument_keeps_to_the_documented_set_of_values() -> None:
    def margin(adapter: TwoDevices, x: Any, y: Any) -> Any:
        """The loss between ``x`` and a label ``y`` (containing 1
        or -1)."""
        return x * y + (adapter.device == "cuda") * (np.abs(y) > 2)

    def wrong(adapter: TwoDevices, x: Any, y: Any) -> Any:
        return x * y + (adapter.device == "cuda")

    wrong.__doc__ = margin.__doc__
    outside = Invocation("lib.f", (tensor(0.5, 2.0), tensor(-89.0, 1.0)))
    assert compared(TwoDevices(f=margin), outside).name == "not of the documented set"
    assert [compared(TwoDevices(f=wrong), outside).name] == [""]
    margin.__doc__ = "The loss between x and a label y."
    assert compared(TwoDevices(f=margin), outside).name == ""


class Precise(TwoDevices):
    """An adapter with a mode of higher precision, which must be finite where the plain call is."""

    @property
    def ways(self) -> dict[str, ModeSpec]:
        return {"wide": ModeSpec(f"{__name__}:Wide", relation="finite", phrases=("in double precision", "in its own"))}


class Wide(Mode):
    def run(self, test: TestCase) -> Any:
        self.adapter.enter("wide")
        return super().run(test)


def test_a_number_that_rounding_alone_makes_finite_is_no_fault() -> None:
    def inverse(adapter: TwoDevices, x: Any) -> Any:
        a, b, c, d = x.astype("float64") if adapter.device == "wide" else x
        with np.errstate(all="ignore"):
            return np.asarray(1 / (a * d - b * c))

    def lost(adapter: TwoDevices, x: Any) -> Any:
        return x.astype("float64") if adapter.device == "wide" else x * np.float32(np.nan)

    epsilon = float(np.finfo("float32").eps)
    singular = Invocation("lib.f", (tensor(1 + epsilon, 1 + 2 * epsilon, 1, 1 + epsilon),))
    assert compared(Precise(f=inverse), singular, mode="wide").name == "ill-conditioned"
    fault = compared(Precise(f=lost), singular, mode="wide")
    assert fault.text and not fault.name
    # A zero stays a zero however it is rounded, so a number lost there has no excuse.
    zero = compared(Precise(f=lost), Invocation("lib.f", (tensor(0.0),)), mode="wide")
    assert zero.text and not zero.name
