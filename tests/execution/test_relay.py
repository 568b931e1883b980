"""Tests that the output of a container arrives line by line, complete, and bounded for any input."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.execution.docker import LINE, relay


def relayed(parts: list[tuple[bytes | None, bytes | None]], most: int = 1 << 20) -> list[tuple[str, bool]]:
    told: list[tuple[str, bool]] = []
    relay(parts, lambda line, error: told.append((line, error)), most)
    return told


def test_lines_that_come_in_pieces_are_put_together() -> None:
    assert relayed([(b"on", None), (b"e\ntw", b"err"), (None, b"or\n"), (b"o", None)]) == [
        ("one", False),
        ("error", True),
        ("two", False),
    ]


def test_signs_that_come_in_pieces_are_put_together() -> None:
    told = "ä€\N{SNAKE}".encode()
    assert relayed([(told[i : i + 1], None) for i in range(len(told))]) == [("ä€\N{SNAKE}", False)]
    assert relayed([(told[:1], None)]) == [("\N{REPLACEMENT CHARACTER}", False)]


def test_a_line_without_end_is_passed_on_in_pieces() -> None:
    told = relayed([(b"x" * 1000, None)] * 200)
    assert "".join(line for line, _ in told) == "x" * 200_000
    assert max(len(line) for line, _ in told) <= LINE + 1000


def test_too_much_is_read_but_not_passed_on() -> None:
    read: list[int] = []

    def stream() -> object:
        for number in range(100):
            read.append(number)
            yield b"line\n", None

    told = relayed(stream(), most=50)  # type: ignore[arg-type]
    assert len(read) == 100
    assert told == [("line", False)] * 10 + [("… further output is left out", True)]


def test_a_reader_that_went_away_does_not_stop_the_writer() -> None:
    def broken(line: str, error: bool) -> None:
        raise BrokenPipeError

    stream = iter([(b"a\n", None)] * 5)
    relay(stream, broken)
    assert next(stream, None) is None


@given(st.lists(st.binary(max_size=20)), st.integers(1, 7))
def test_how_it_is_cut_makes_no_difference(chunks: list[bytes], size: int) -> None:
    whole = b"".join(chunks)
    pieces = [(whole[i : i + size], None) for i in range(0, len(whole), size)]
    assert relayed(pieces) == relayed([(whole, None)])
