"""The marker: it survives people's edits of a text, and a foreign text does not pass for one."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightfuzz.bot.github.marker import BODY, MOST_ALSO, Marker, marked, parsed

ID, OTHER = "0123456789abcdef" * 2, "fedcba9876543210" * 2
BUG, THEIRS = Marker("bug", ID), Marker("bug", OTHER)
ids = st.text(alphabet="0123456789abcdef", min_size=32, max_size=32)
kinds = st.text(alphabet=string.ascii_lowercase, min_size=1, max_size=32)
markers = st.builds(Marker, kinds, ids, st.lists(ids, max_size=20).map(tuple))


@given(markers, st.text(max_size=300))
def test_a_round_trip_with_any_text(marker: Marker, text: str) -> None:
    assert parsed(marked(text, marker)) == marker


@given(markers, st.text(max_size=300))
def test_as_a_web_form_sends_it_back(marker: Marker, text: str) -> None:
    body = marked(text, marker).replace("\r", "").replace("\n", "\r\n")
    assert parsed(f"{body}  \r\n\r\n") == marker


@given(st.text(max_size=400))
def test_any_text_is_read(text: str) -> None:
    found = parsed(text)
    assert found is None or found.text in text


def test_the_line() -> None:
    assert BUG.text == f"<!-- nightfuzz:1 kind=bug id={ID} -->"
    assert Marker("bug", ID, (OTHER, ID)).text == f"<!-- nightfuzz:1 kind=bug id={ID} also={OTHER},{ID} -->"


def test_what_it_covers() -> None:
    assert Marker("bug", ID, (OTHER,)).covers(ID)
    assert Marker("bug", ID, (OTHER,)).covers(OTHER)
    assert not BUG.covers(OTHER)


@pytest.mark.parametrize(
    "body",
    [
        f"{BUG.text}", f"{BUG.text}\ntext", f"\n\n{BUG.text}\ntext", f"text\n{BUG.text}", f"text\n{BUG.text}\n\n",
        f"a person's note\n\n{BUG.text}\ntext\n\nand another", f"{BUG.text}\n```\n{THEIRS.text}\n```",
        f"{BUG.text}\ntext\n{THEIRS.text}", f"```py\n{THEIRS.text}\n```\n{BUG.text}\n",
        f"{BUG.text}\n```\n{THEIRS.text}\n", f"> {THEIRS.text}\n\nnote\n\n{BUG.text}\nmore",
        f"note\n{BUG.text}\nmore\n{BUG.text}\nmore", f"a ```b``` c\n{BUG.text}\nmore",
    ],
)  # fmt: skip
def test_ours_is_found(body: str) -> None:
    assert parsed(body) == BUG


@pytest.mark.parametrize(
    "body",
    [
        None, "", "text", f"```\n{BUG.text}\n```", f"~~~~\n{BUG.text}\n~~~\n{BUG.text}", f"> {BUG.text}",
        f"    {BUG.text}", f"`{BUG.text}`", f"see {BUG.text}", f"{BUG.text} x", f"a\n{BUG.text}\nb\n{THEIRS.text}\nc",
        BUG.text.replace(":1", ":2"), BUG.text.replace(ID, ID.upper()), BUG.text.replace(ID, ID[:-1]),
        BUG.text.replace("kind=bug", "kind=b_g"), BUG.text.replace(" -->", " x=1 -->"), f"\u2028{BUG.text}",
        f"hello\u2028{BUG.text}", f"hello\x0b{BUG.text}\x0cbye",
    ],
)  # fmt: skip
def test_what_is_none_is_none(body: str | None) -> None:
    assert parsed(body) is None


@pytest.mark.parametrize(
    "marker",
    [
        Marker("Bug", ID), Marker("", ID), Marker("bug -->", ID), Marker("bug", ID[:-1]), Marker("bug", f"{ID}\n"),
        Marker("bug", ID, ("x",)), Marker("bug", ID, (OTHER,) * (MOST_ALSO + 1)), Marker("a" * 33, ID),
    ],
)  # fmt: skip
def test_what_could_not_be_read_back_is_not_written(marker: Marker) -> None:
    with pytest.raises(ValueError, match="no marker"):
        _ = marker.text


def test_a_long_body_is_cut_and_keeps_its_marker() -> None:
    body = marked("x" * (2 * BODY), Marker("bug", ID, (OTHER,) * MOST_ALSO))
    assert len(body) == BODY
    assert parsed(body) is not None


def test_hostile_texts_take_no_time() -> None:
    also = "0" * 32
    for text in ("<!-- nightfuzz:1 kind=" * 50_000, f"<!-- nightfuzz:1 kind=bug id={ID} also={(also + ',') * 50_000}",
                 "`" * 1_000_000, "```\n" * 200_000):  # fmt: skip
        assert parsed(text) is None
