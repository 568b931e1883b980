"""The derivation tree on a bug's page: the path to a public bug, and no byte of a private one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from bench.made_state import StateSize, make_state
from fuzz_core.campaign.dashboard.collection import public_site
from fuzz_core.campaign.dashboard.trees import _node_of
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, TestCase, prim
from fuzz_core.modelgen.moco.nodes import FINDING, OK, REFUSED, TreeNode
from fuzz_core.modelgen.moco.picture import path_svg
from fuzz_core.store import NewBug, Store, open_store
from fuzz_core.triage.known import Registry

SIZE = StateSize(bugs=2, builds=1, findings=2, apis=4, checks=0, judged=0)
NODES = (
    TreeNode(0, None, 0, None, "", "", "root", state=OK),
    TreeNode(1, 0, 1, 1, "torch.nn.ReLU", "nn.ReLU()", "original", state=OK, line=3),
    TreeNode(2, 0, 1, 1, "torch.nn.ELU", "nn.ELU(2.0)", "AR", old="torch.nn.ReLU", new="torch.nn.ELU", state=REFUSED),
    TreeNode(3, 1, 2, 2, "torch.nn.Tanh", "nn.Tanh()", "RG", "slope", "1", "-0.5", state=FINDING, line=4),
)


def settle(store: Store, name: str, outcome: Outcome, origin: str) -> None:
    test = TestCase(Invocation(name, (prim(1),)), 7)
    verdict = Verdict("crash", "crash" if outcome.kind == "signal" else "internal-error")
    found = store.add_finding(store.targets()[-1].key, 1, test, verdict, outcome, origin=origin)
    new = NewBug(f"{name}: it", name, "crash", verdict.kind, test, f"{name}(1)\n", outcome, 5, 5, True)
    assert found is not None and store.settle_finding(found, "confirmed", hits=5, runs=5, bug=new)


def trees(state: Path) -> dict[str, str]:
    """Returns the picture of each bug that has one, by the bug's api."""
    site = public_site(state, Registry(), lambda: datetime(2026, 11, 26, tzinfo=UTC))
    return {bug.api: tree for bug in site.bugs if (tree := site.bug_details[bug.id].tree)}


def test_a_page_shows_the_path_to_a_public_bug_alone(tmp_path: Path) -> None:
    state = make_state(tmp_path / "state.db", SIZE)
    public = Outcome("exception", "RuntimeError", 'INTERNAL ASSERT FAILED at "/w/a.cpp":3')
    origin = "net, line 4, block 2: RG changed slope of torch.nn.Tanh from 1 to -0.5"
    with open_store(state) as store:
        tree = store.begin_tree(store.targets()[-1].key, "net", "d" * 32, 7, {})
        store.save_nodes(tree, NODES)
        settle(store, "torch.nn.Tanh", public, f"{origin} (implementation)")
    before = trees(state)
    assert list(before) == ["torch.nn.Tanh"]
    words = [each.text for each in ElementTree.fromstring(before["torch.nn.Tanh"]).iter() if each.text]
    assert [each for each in words if each.strip()][:3] == [
        "seed program net", "nn.ReLU(), as in the seed", "RG: slope of Tanh 1 → -0.5"
    ]  # fmt: skip
    # A private bug of a node beside the path, and of a node below it, changes no byte.
    secret = NODES[3]._replace(number=4, api="torch.nn.s3cret", call="nn.s3cret()", new="s3cret", line=5)
    with open_store(state) as store:
        store.save_nodes(tree, [secret, secret._replace(number=5, parent=0, level=1)])
        died = Outcome("signal", "SIGSEGV", "s3cret", ("s3cret::kernel",))
        hidden = "net, line 5, block 2: RG changed slope of torch.nn.s3cret from 1 to s3cret"
        settle(store, "torch.nn.s3cret", died, hidden)
    assert trees(state) == before


@given(text=st.text(min_size=1, max_size=200))
def test_hostile_text_leaves_a_path_well_formed(text: str) -> None:
    nodes = [*NODES[:3], NODES[3]._replace(parameter=text, old=text, new=text, api=text)]
    drawn = ElementTree.fromstring(path_svg(nodes, 3, text))
    assert {each.tag.partition("}")[2] for each in drawn.iter()} == {"svg", "rect", "line", "circle", "text"}


def test_a_mutation_whose_words_begin_another_one_is_not_taken_for_it() -> None:
    nodes = [NODES[3], NODES[3]._replace(number=4, new="-0.55")]
    for end in (" (implementation)", "; refused"):
        for node in nodes:
            text = f"net, line 4, block 2: RG changed slope of torch.nn.Tanh from 1 to {node.new}{end}"
            assert _node_of(text, "net", nodes) == node.number
