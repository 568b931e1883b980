"""Values, test cases and an open store for the store's tests."""

from hypothesis import strategies as st

from fuzz_core.ir.outcome import KINDS, Outcome, Verdict
from fuzz_core.ir.values import NONE, Fill, Invocation, Map, Ref, Seq, Tensor, TestCase, Then, prim
from fuzz_core.store import NewBug, SeedRecord, Store, TargetRecord

KEY = "torch-2.13.0+cpu-cp311"
TARGET = TargetRecord(KEY, "torch==2.13.0", "torch", "2.13.0", "/env/bin/python", {"devices": ["cpu"]})
SEED = SeedRecord("d1", "docs", "torch.add#0", "ok", "", 0.5, 3, 1)
CRASH = Verdict("crash", "crash", "SIGSEGV")
DEAD = Outcome("signal", "SIGSEGV", "", ("at::native::add",), 0.25)


def add(*numbers: int, api: str = "torch.add") -> Invocation:
    return Invocation(api, tuple(map(prim, numbers)))


def case(seed: int = 1, *numbers: int) -> TestCase:
    return TestCase(add(*(numbers or (1, 2))), seed, 7, ("TensorDimMutation",))


def bug(signature: str = "torch.add SIGSEGV", *, minimised: bool = False, script: str = "import torch\n") -> NewBug:
    return NewBug(signature, "torch.add", "crash", "crash", case(), script, DEAD, 3, 3, minimised)


names = st.text(min_size=1, max_size=12)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
prims = scalars.map(prim)
shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)
floats = st.floats(allow_nan=False)
fills = st.tuples(st.sampled_from(["uniform", "constant"]), floats, floats, st.integers(0, 99)).map(lambda f: Fill(*f))
containers = st.sampled_from(["tensor", "variable", "ndarray"])
tensors = st.tuples(st.sampled_from(["float32", "int64", "bool"]), shapes, fills, containers).map(lambda t: Tensor(*t))
leaves = prims | tensors | st.builds(Ref, st.just("dtype"), st.just("float32")) | st.just(NONE)


def _pairs(children):
    return st.lists(st.tuples(names, children), max_size=2, unique_by=lambda pair: pair[0]).map(tuple)


def _calls(children):
    args = st.lists(children, max_size=3).map(tuple)
    then = st.none() | st.builds(Then, st.just("__call__"), args, _pairs(children))
    return st.builds(Invocation, names, args, _pairs(children), then)


def _nodes(children):
    seqs = st.builds(Seq, st.sampled_from(["list", "tuple"]), st.lists(children, max_size=3).map(tuple))
    return seqs | _pairs(children).map(Map) | _calls(children)


values = st.deferred(lambda: st.recursive(leaves, _nodes, max_leaves=8))
invocations = st.deferred(lambda: _calls(values))
tests = st.builds(TestCase, invocations, st.integers(0, 2**63 - 1), st.integers(0, 99), st.lists(names).map(tuple))
outcomes = st.builds(
    Outcome, st.sampled_from(KINDS), names, st.text(), st.lists(names, max_size=3).map(tuple), st.floats(0, 1e6)
)
verdicts = st.builds(Verdict, st.sampled_from(["crash", "differential"]), st.just("crash"), st.text())


def counted(store: Store, target: str, table: str, what: str = "COUNT(*)", where: str = "1") -> int:
    """Returns the number of a target's rows in a table, or another figure over these rows."""
    (row,) = store._rows(f"SELECT {what} AS n FROM {table} WHERE target = ? AND {where}", target)
    return int(row["n"] or 0)
