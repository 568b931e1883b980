import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from moco_grounds import KNOWLEDGE, program

from fuzz_core.modelgen.moco.drawing import COLOURS, svg
from fuzz_core.modelgen.moco.nodes import FINDING, OK, REFUSED, STATES, Arrival, Node, Result
from fuzz_core.modelgen.moco.tree import Tree

SVG = "{http://www.w3.org/2000/svg}"


def nodes_of(most: int = 400) -> list[Node]:
    tree = Tree(program(), KNOWLEDGE, 3)
    arrives = {number: Arrival((2, 6, 9, 9)) for number in range(5)}
    for _ in range(most):
        node = tree.take()
        if node is None:
            break
        tree.tell(node.number, Result(OK if node.positive else REFUSED, "", arrives))
    return tree.nodes


def parsed(picture: str) -> ET.Element:
    return ET.fromstring(picture)


def titles(root: ET.Element) -> list[str]:
    return [
        title.text or "" for shape in (f"{SVG}circle", f"{SVG}rect") for title in root.findall(f"{shape}/{SVG}title")
    ]


def node(number: int, parent: int | None, **more: object) -> Node:
    plain = Node(number, parent, 0 if parent is None else 1, 0, "a", "f()", "RG")
    return plain._replace(**more)  # type: ignore[arg-type]


class DescribeDrawing:
    def test_every_node_of_a_small_tree_is_drawn_with_its_tooltip(self) -> None:
        nodes = nodes_of(12)
        found = titles(parsed(svg(nodes)))
        assert len(found) == len(nodes)
        for each in nodes:
            (title,) = [title for title in found if title.startswith(f"#{each.number} ")]
            assert each.call in title and (each.state or "not run yet") in title and each.new in title

    def test_the_same_nodes_give_the_same_picture(self) -> None:
        assert svg(nodes_of(), "a") == svg(nodes_of(), "a")

    def test_colours_are_those_of_the_legend(self) -> None:
        nodes = [node(0, None, state=OK), *(node(n, 0, state=state) for n, state in enumerate((*STATES, ""), 1))]
        root = parsed(svg(nodes))
        for state in (*STATES, ""):
            assert len([c for c in root.iter(f"{SVG}circle") if c.get("fill") == COLOURS[state]]) == 2 + (state == OK)
        texts = [text.text for text in root.iter(f"{SVG}text")]
        assert {*STATES, "not run yet", "level 1 (8)"} <= set(texts)

    def test_nodes_do_not_overlap_and_children_are_below(self) -> None:
        nodes = nodes_of()
        root = parsed(svg(nodes, widest=10**6))
        shapes = [
            (
                float(each.get("cx") or float(each.get("x") or 0) + 6),
                float(each.get("cy") or float(each.get("y") or 0) + 6),
            )
            for shape in (f"{SVG}circle", f"{SVG}rect")
            for each in root.findall(shape)
            if each.find(f"{SVG}title") is not None
        ]
        assert len(shapes) == len(nodes)
        rows: dict[float, list[float]] = {}
        for x, y in shapes:
            rows.setdefault(y, []).append(x)
        assert len(rows) == 5
        for row in rows.values():
            row.sort()
            assert all(right - left >= 12 for left, right in pairwise(row))

    def test_wide_levels_are_summed_up_but_findings_are_drawn(self) -> None:
        nodes = [node(0, None, state=OK), *(node(n, 0, state=OK) for n in range(1, 2000)), node(2000, 0, state=FINDING)]
        picture = svg(nodes)
        root = parsed(picture)
        assert len(picture) < 60_000 and float(root.get("width") or 0) < 2000
        assert any(title.startswith("#2000 ") and "finding" in title for title in titles(root))
        assert "1,940 more" in [text.text for text in root.iter(f"{SVG}text")]
        assert "1,940 ok" in titles(root)

    def test_the_ancestors_of_a_finding_are_drawn(self) -> None:
        nodes = [node(0, None, state=OK)]
        nodes += [node(n, 0, state=OK, kept=True) for n in range(1, 500)]
        nodes += [node(500, 499, level=2, state=FINDING)]
        found = titles(parsed(svg(nodes, widest=5)))
        assert any(title.startswith("#499 ") for title in found) and any(title.startswith("#500 ") for title in found)

    def test_pruned_nodes_are_faint(self) -> None:
        root = parsed(svg([node(0, None, state=OK), node(1, 0, state=OK, kept=False), node(2, 0, state=OK, kept=True)]))
        faint = [circle.find(f"{SVG}title") for circle in root.iter(f"{SVG}circle") if circle.get("opacity")]
        assert [title is not None and (title.text or "").startswith("#1 ") for title in faint] == [True]

    @given(st.text(), st.text(), st.text())
    @settings(deadline=None)
    def test_any_text_is_escaped(self, call: str, why: str, title: str) -> None:
        root = parsed(svg([node(0, None, call=call, why=why, state=FINDING)], title))
        assert {each.tag for each in root} <= {f"{SVG}{tag}" for tag in ("title", "rect", "circle", "text", "line")}

    @pytest.mark.parametrize("text", ["</title><script>alert(1)</script>", "&amp;", "\x00\x1b[31m", "\ud800", "]]>"])
    def test_markup_and_control_signs(self, text: str) -> None:
        picture = svg([node(0, None, call=text, new=text, parameter=text)], text)
        assert parsed(picture) is not None and "<script" not in picture and picture.encode()

    def test_no_nodes_make_an_empty_picture(self) -> None:
        assert parsed(svg([])).tag == f"{SVG}svg"

    def test_a_deep_tree_needs_no_recursion(self) -> None:
        chain = [node(0, None), *(node(n, n - 1, level=n) for n in range(1, 3000))]
        assert len(titles(parsed(svg(chain)))) == 3000
