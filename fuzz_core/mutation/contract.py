"""The contract of mutators: one argument's value in, another value out.

A new mutator is one decorated function in a file of `mutation.rules`; generic tests run its examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.values import Fill, Invocation, Prim, Seq, Tensor, Then, Value, prim

if TYPE_CHECKING:
    from fuzz_core.mutation.registry import RuleBook

# The first three are the paper's (tables 1 and 2), each of which its ablation switches off; the others hold our rules.
# The rules of the kind `edge` make a value that does not fit the other arguments, so most such calls are refused. The
# sweep takes each of these rules once, and random mutants take them seldom.
PAPER_KINDS = ("type", "random", "database")
OWN_KINDS = BEYOND, EDGE = ("beyond", "edge")
KINDS = (*PAPER_KINDS, *OWN_KINDS)
MAX_ELEMENTS = 1 << 20
FLOATING = ("float", "complex")
NUMERIC = ("bool", "uint", "int", *FLOATING)

MATRIX = Tensor("float32", (2, 3))
LABELS = Tensor("int64", (4,), Fill("values", data=bytes(32)))
VOLUME = Tensor("float64", (3, 1, 5), Fill("constant", 2.0), "parameter", (5, 5, 1), True)
CALLS = (
    Invocation("torch.add", (MATRIX, MATRIX), (("alpha", prim(2)),)),
    Invocation("torch.nn.Linear", (prim(3), prim(4)), (("bias", prim(True)),), Then("__call__", (MATRIX,))),
)
_TENSORS = (MATRIX, LABELS, VOLUME, Tensor("bool", (2, 2)))
_SCALARS = tuple([prim(scalar) for scalar in (3, -1, 2**40, True, 0.5, float("inf"), 1 + 2j, "mean", "")])
_INNER = Seq("tuple", (prim(0.5), prim("same")))
_SEQUENCES = (
    *(Seq(kind, (prim(1), prim(2))) for kind in ("list", "tuple", "set")),
    *(Seq("list", (MATRIX, MATRIX)), Seq("tuple", (_INNER, LABELS)), Seq("list", (_INNER,))),
)

T = TypeVar("T")
# `strided`: arguments of libraries whose tensors have strides and requires_grad. `call`: the call under test as a
# whole, which is not itself an argument.
Scope = Literal["argument", "strided", "call"]


class ValueSource(Protocol):
    """The argument value space, as database rules see it."""

    def pick(self, rng: Rng, api: str, argument: str, fuzz_type: str) -> Value | None:
        """Return a value seen for this argument name and FuzzType in an api sampled by similarity (lines 20 to 25).

        An empty `argument` or `fuzz_type` stands for any.
        """

    def pick_tensor(self, rng: Rng, rank: int, dtype: str) -> Value | None:
        """Return a tensor seen anywhere with this rank and dtype (`pick_shape` and `pick_value` of table 2)."""


class Context(NamedTuple):
    """The inputs of a mutator besides the value."""

    rng: Rng
    api: str
    argument: str
    space: ValueSource
    rules: RuleBook
    call: Invocation | None = None  # the call that the value is a part of, before its mutation


class Domain(NamedTuple, Generic[T]):
    """The values of type T that a mutator applies to."""

    applies: Callable[[Value], bool]  # decided by the value's FuzzType alone
    examples: tuple[Value, ...]  # values it applies to, for the generic tests
    scope: Scope = "argument"


class Mutator(NamedTuple):
    """A mutation rule.

    `mutate` takes a value of the domain and returns another one, or None where the rule finds none. The function is
    pure: all randomness comes from `ctx.rng`. The result holds no tensor with more than MAX_ELEMENTS in memory. If the
    result equals the value, a wrapper drops it.
    """

    name: str  # the paper's, where the paper has the rule; users switch rules off by it
    kind: str  # one of KINDS
    domain: Domain[Any]
    mutate: Callable[[Any, Context], Value | None]
    boundary: bool = False  # whether each choice of the rule is a boundary class, see `mutation.sweep`
    random: bool = True  # whether random mutants take the rule; the sweep alone if not


def mutator(
    name: str, domain: Domain[T], kind: str = BEYOND, boundary: bool = False, random: bool = True
) -> Callable[[Callable[[T, Context], Value | None]], Mutator]:
    """Make a mutator of a function from a value of the domain to another value."""
    return lambda mutate: Mutator(name, kind, domain, mutate, boundary, random)


def make_domain(applies: Callable[[Value], bool], usual: Iterable[Value], scope: Scope = "argument") -> Domain[Any]:
    """Return a domain whose examples are those of the usual values that it applies to."""
    return Domain(applies, tuple(filter(applies, usual)), scope)


def tensors(*kinds: str, least_rank: int = 0, scope: Scope = "argument") -> Domain[Tensor]:
    """Return tensors of these kinds of dtype (default: all) and at least this rank."""
    names = {name for name, dtype in DTYPES.items() if not kinds or dtype.kind in kinds}

    def applies(value: Value) -> bool:
        return (
            isinstance(value, Tensor)
            and len(value.shape) >= least_rank
            and value.dtype in names
            and (scope != "strided" or value.container in ("tensor", "parameter"))
        )

    return make_domain(applies, _TENSORS, scope)


def scalars(*types: str) -> Domain[Prim]:
    """Scalars of these types."""
    return make_domain(lambda value: isinstance(value, Prim) and value.type in types, _SCALARS)


def sequences(*kinds: str, may_be_empty: bool = False) -> Domain[Seq]:
    """Sequences of these kinds (default: all) that are not empty."""

    def applies(value: Value) -> bool:
        return isinstance(value, Seq) and (not kinds or value.kind in kinds) and (may_be_empty or bool(value.items))

    return make_domain(applies, _SEQUENCES)


def invocations(scope: Scope = "argument") -> Domain[Invocation]:
    """Return objects by construction, or the call under test: no FuzzType describes their arguments."""
    return make_domain(lambda value: isinstance(value, Invocation), CALLS, scope)
