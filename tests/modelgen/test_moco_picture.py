import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from moco_grounds import KNOWLEDGE, program

from fuzz_core.modelgen.moco.nodes import FINDING, OK, REFUSED, STATES, Arrival, Result, TreeNode
from fuzz_core.modelgen.moco.picture import COLOURS, MOST, mermaid
from fuzz_core.modelgen.moco.tree import Tree

LINE = re.compile(
    r"# .*|```(mermaid)?|flowchart TD|  classDef \w+ fill:#\w{6},stroke:#333333|"
    r'  (n\d+|rest)\["[^"`<>]*(<br>[^"`<>]*)*"\](:::\w+)?|  n\d+ -(-|\.-)> n\d+|'
)


def nodes_of(most: int) -> list[TreeNode]:
    tree = Tree(program(), KNOWLEDGE, 3)
    arrives = {number: Arrival((2, 6, 9, 9)) for number in range(5)}
    for _ in range(most):
        node = tree.take()
        if node is None:
            break
        tree.tell(node.number, Result(OK if node.positive else REFUSED, "", arrives))
    return tree.nodes


def node(number: int, parent: int | None, **more: object) -> TreeNode:
    plain = TreeNode(number, parent, 0 if parent is None else 1, 0, "a", "f()", "RG")
    return plain._replace(**more)  # type: ignore[arg-type]


def drawn(picture: str) -> dict[int, str]:
    """Returns the class of each node by its number."""
    assert all(LINE.fullmatch(line) for line in picture.splitlines()), picture
    return {int(number): state for number, state in re.findall(r'(?m)^  n(\d+)\[".*"\]:::(\w+)$', picture)}


def edges(picture: str) -> list[tuple[int, int]]:
    return [(int(one), int(other)) for one, other in re.findall(r"(?m)^  n(\d+) -[-.]-?> n(\d+)$", picture)]


def test_every_node_of_a_small_tree_hangs_below_its_parent() -> None:
    nodes = nodes_of(12)
    picture = mermaid(nodes, widest=50)
    assert set(drawn(picture)) == {each.number for each in nodes} and picture == mermaid(nodes, widest=50)
    assert edges(picture) == [(each.parent, each.number) for each in nodes[1:]]


def test_each_state_has_its_colour() -> None:
    nodes = [node(0, None, state=OK), *(node(n, 0, state=state) for n, state in enumerate((*STATES, ""), 1))]
    picture = mermaid(nodes)
    assert len(set(drawn(picture).values())) == len(COLOURS)
    assert all(f"  classDef {name} fill:" in picture for name in drawn(picture).values())


def test_wide_levels_are_summed_up_but_findings_are_drawn() -> None:
    nodes = [node(0, None, state=OK), *(node(n, 0, state=OK) for n in range(1, 2000)), node(2000, 0, state=FINDING)]
    picture = mermaid(nodes)
    assert len(picture) < 50_000 and drawn(picture)[2000] == FINDING
    assert '"1,980 more: 1,980 ok"' in picture


def test_the_ancestors_of_a_finding_are_drawn() -> None:
    nodes = [node(0, None, state=OK), *(node(n, 0, state=OK, kept=True) for n in range(1, 500))]
    nodes += [node(500, 499, level=2, state=FINDING)]
    assert {499, 500} <= set(drawn(mermaid(nodes, widest=5)))


def test_a_picture_stays_within_what_is_rendered() -> None:
    chain = [node(0, None), *(node(n, n - 1, level=n, call="f" * 100) for n in range(1, 3000))]
    picture = mermaid(chain)
    assert len(drawn(picture)) == MOST and len(edges(picture)) == MOST - 1 and len(picture) < 50_000
    assert drawn(mermaid([])) == {}


@given(st.text(), st.text(), st.text())
def test_any_text_is_escaped(call: str, new: str, title: str) -> None:
    assert drawn(mermaid([node(0, None, call=call, state=FINDING), node(1, 0, new=new)], title)).keys() == {0, 1}


@pytest.mark.parametrize("text", ['"]', "```", "<script>", "\x00\x1b[31m", "\ud800", "end\nclick n0"])
def test_markup_and_control_signs(text: str) -> None:
    assert drawn(mermaid([node(0, None, call=text)], text)) and mermaid([node(0, None, call=text)]).encode()
