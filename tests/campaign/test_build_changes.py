"""Changes between two builds: their kinds, and the apis they belong to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.campaign.changes import KINDS, ApiChange, Changes, compare, compare_seeds
from fuzz_core.ir.catalogue import Api
from fuzz_core.store.records import SeedRecord

ADD = Api("torch.add", "function", ("a", "b"), "torch.add(a, b)", "d1")
NAMES = st.sampled_from([f"torch.f{n}" for n in range(6)])
APIS = st.lists(
    st.builds(
        Api,
        NAMES,
        st.sampled_from(["function", "class"]),
        st.just(("x",)),
        st.sampled_from(["f(x)", "f(x, y)"]),
        st.sampled_from(["", "d1", "d2"]),
        st.lists(NAMES, max_size=2).map(tuple),
    ),
    unique_by=lambda api: api.name,
)


def kinds(before: list[Api], after: list[Api]) -> list[tuple[str, str]]:
    return [(change.kind, change.api) for change in compare(before, after, {}, {})]


def test_added_removed_and_moved() -> None:
    moved = ADD._replace(name="torch.ops.add", aliases=("torch.add",))
    assert kinds([], [ADD]) == [("added", "torch.add")]
    assert kinds([ADD], []) == [("removed", "torch.add")]
    assert compare([ADD], [moved], {}, {}) == [ApiChange("torch.ops.add", "moved", "torch.add", "torch.ops.add")]
    changes = Changes("new", "old", tuple(compare([ADD], [moved], {}, {})))
    assert (changes.gone, changes.changed_apis) == ({"torch.add"}, {"torch.ops.add"})


def test_another_signature_is_told_from_another_address() -> None:
    function = ADD._replace(definition="torch.add(a, b=<function relu at 0x7ff3de0405e0>)")
    assert kinds([function], [function._replace(definition="torch.add(a, b=<function relu at 0x112233>)")]) == []
    (change,) = compare([ADD], [ADD._replace(definition="torch.add(a, b, c=1)")], {}, {})
    assert change == ApiChange("torch.add", "signature", "torch.add(a, b)", "torch.add(a, b, c=1)")
    assert kinds([ADD], [ADD._replace(params=("a", "c"))]) == [("signature", "torch.add")]


def test_newly_deprecated_is_what_was_not_and_what_nobody_knew_is_not_told() -> None:
    before, after = {"torch.add": frozenset({"b"})}, {"torch.add": frozenset({"*", "a", "b"})}
    assert compare([ADD], [ADD], before, after) == [ApiChange("torch.add", "deprecated", "", "itself, a")]
    assert compare([ADD], [ADD], after, before) == []
    assert compare([ADD], [ADD], {}, after) == []


@given(APIS, APIS)
def test_nothing_changes_within_a_build_and_all_names_are_accounted_for(before: list[Api], after: list[Api]) -> None:
    assert compare(before, before, {}, {}) == []
    changes = Changes("new", "old", tuple(compare(before, after, {}, {})))
    old, new = {api.name for api in before}, {api.name for api in after}
    assert changes.gone == old - new
    assert changes.changed_apis <= new
    assert new - old - changes.changed_apis == set()
    assert [KINDS.index(c.kind) for c in changes.apis] == sorted(KINDS.index(c.kind) for c in changes.apis)


def test_seeds_by_source() -> None:
    def seed(digest: str, name: str, source: str = "docs") -> SeedRecord:
        return SeedRecord(digest, source, name, "ok")

    before = [seed("1", "a"), seed("2", "b"), seed("3", "c"), seed("9", "model", "models")]
    after = [seed("1", "a"), seed("4", "b"), seed("5", "d"), seed("9", "model", "models")]
    docs, models = compare_seeds(before, after)
    assert docs == ("docs", 1, 1, 1, 1)
    assert models == ("models", 1, 0, 0, 0)
