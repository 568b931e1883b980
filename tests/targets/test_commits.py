"""Tests of a build's source commit: by the subject of the nightly release, or by a fallback marked as such."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import date, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fakeindex import Faults, faulty_index
from fakewheels import FakeWheel, write_wheel
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.adapters.library import KNOWN_LIBRARIES
from fuzz_core.ir.errors import UserError
from fuzz_core.targets import commits, index, resolve
from fuzz_core.targets.environment import ensure
from fuzz_core.targets.record import Target
from fuzz_core.targets.spec import parse_spec

DAY = date(2026, 4, 24)
SOURCE, OTHER, OWN = "a" * 40, "b" * 40, "c" * 40
TORCH = "from types import SimpleNamespace as N\nversion = N(git_version={own!r}, cuda={cuda!r})\n" + (
    "cuda = N(device_count=lambda: 0)\n"
)
FIELDS = st.sampled_from(["sha", "commit", "message"])
SetUp = Callable[..., list[dict[str, list[str]]]]


def release(day: str = "2026-04-24", source: str = SOURCE, own: str = OWN) -> dict[str, Any]:
    return {"sha": own, "commit": {"message": f"{day} nightly release ({source})\n\nmore"}}


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[SetUp]:
    """Yields a function that sets GitHub's answer for the commits of PyTorch and returns the list of queries."""
    queries: list[dict[str, list[str]]] = []
    answer: list[tuple[int, bytes]] = [(200, b"[]")]

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_arguments: object) -> None:
            """Prints no line: standard error belongs to the tests."""

        def do_GET(self) -> None:
            address = urlsplit(self.path)
            queries.append(parse_qs(address.query))
            known = address.path == "/api/repos/pytorch/pytorch/commits"
            status, content = answer[0] if known else (404, b"{}")
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def set_up(data: Any, status: int = 200) -> list[dict[str, list[str]]]:
        answer[0] = (status, data if isinstance(data, bytes) else json.dumps(data).encode())
        return queries

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        monkeypatch.setenv(commits.API_VARIABLE, f"http://127.0.0.1:{server.server_port}/api/")
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield set_up
        server.shutdown()
        thread.join()


def found(git_version: str | None = None) -> commits.Commit:
    with index.session() as session:
        return commits.of_torch_nightly(DAY, git_version, session)


def test_the_commit_is_the_one_in_the_subject_of_the_days_release(github: SetUp) -> None:
    queries = github([release("2026-04-25", OTHER), release(), {"sha": OTHER, "commit": {"message": "a fix (#1)"}}])
    assert found() == (SOURCE, "the nightly release's subject")
    [query] = queries
    assert query["sha"] == ["nightly"]
    assert query["since"][0] < "2026-04-24" < query["until"][0]


def test_two_releases_of_a_day_are_told_apart_by_the_builds_own_commit(github: SetUp) -> None:
    github([release(source=OTHER, own=OTHER), release()])
    assert found(OWN) == (SOURCE, "the nightly release's subject")
    assert found("d" * 40) == ("d" * 40, "git_version, a fallback (GitHub has 2 nightly releases of 2026-04-24)")


def test_two_days_with_one_commit_are_no_problem(github: SetUp) -> None:
    github([release("2026-04-25", own=OTHER), release()])
    assert found(OWN).text == SOURCE


@pytest.mark.parametrize(
    ("data", "status", "why"),
    [
        ([], 200, "GitHub has no nightly releases of 2026-04-24"),
        ([release("2026-04-23", own=OTHER)], 200, "GitHub has no nightly releases"),
        ([1, {}, {"sha": 1}, {"sha": OWN, "commit": {"message": 3}}, release("2026-99-99")], 200, "GitHub has no"),
        ({"message": "API rate limit exceeded"}, 403, "GitHub could not be asked: HTTP 403"),
        ({"message": "strange"}, 200, "GitHub's answer can't be read"),
        (b"<html>", 200, "GitHub's answer can't be read"),
    ],
)
def test_the_fallback_is_called_one_and_says_why(github: SetUp, data: Any, status: int, why: str) -> None:
    github(data, status)
    commit = found(OWN)
    assert commit.text == OWN
    assert commit.by.startswith(f"git_version, a fallback ({why}")
    assert found() == ("", "")


def test_an_unreachable_server_is_a_reason_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(commits.API_VARIABLE, "http://127.0.0.1:9")
    assert found(OWN) == (OWN, "git_version, a fallback (GitHub could not be asked: Connection refused)")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("v2.21.0-rc1-14-g0123abcdef0", "0123abcdef0"),
        ("0123456789abcdef0123456789abcdef01234567", "0123456789abcdef0123456789abcdef01234567"),
        ("v1.12.1-0-g0123abc", "0123abc"),
        ("v2.21.0", ""),
        ("unknown", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_what_a_library_says_holds_a_commit_or_none(said: str | None, expected: str) -> None:
    assert commits.said_by_library(said).text == expected


@given(st.text())
def test_any_text_holds_hexadecimal_digits_or_none(said: str) -> None:
    assert set(commits.said_by_library(said).text) <= set("0123456789abcdef")


JSON = st.recursive(
    st.none() | st.integers() | st.text(), lambda each: st.lists(each) | st.dictionaries(FIELDS, each), max_leaves=8
)


@given(st.lists(JSON), JSON)
def test_any_answer_of_the_server_is_read_or_refused(entries: list[Any], other: Any) -> None:
    class Session:
        def __init__(self, data: Any) -> None:
            self.content = json.dumps(data)

        def get(self, *_address: str, **_options: Any) -> Any:
            return nullcontext(self)

        def raise_for_status(self) -> None:
            """Reports no error."""

    assert len(commits.nightly_releases(DAY, Session([*entries, release()]))) == 1  # type: ignore[arg-type]
    if not isinstance(other, list):
        with pytest.raises(ValueError, match="no list"):
            commits.nightly_releases(DAY, Session(other))  # type: ignore[arg-type]


@pytest.fixture
def nights(tmp_path: Path, own_index: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Faults]:
    """Yields the faults of a made-up nightly index of PyTorch, with nightly builds in three flavours and a release."""
    folder = tmp_path / "nights"
    for day, label in (("23", "cpu"), ("24", "cpu"), ("24", "cu126"), ("25", "cu130")):
        version = f"2.13.0.dev202604{day}+{label}"
        cuda = None if label == "cpu" else "13.0"
        write_wheel(folder, FakeWheel("torch", version, TORCH.format(own=OWN, cuda=cuda)))
    write_wheel(folder, FakeWheel("torch", "2.14.0", TORCH.format(own=OWN, cuda=None)))
    monkeypatch.setattr(resolve, "has_gpu", lambda: False)
    monkeypatch.setitem(KNOWN_LIBRARIES, "torch", KNOWN_LIBRARIES["torch"]._replace(companions=()))
    with faulty_index(folder) as (address, faults):
        monkeypatch.setenv("NIGHTFUZZ_TORCH_INDEX", address.removesuffix("/simple"))
        yield faults


def made(spec: str) -> Target:
    return ensure(parse_spec(spec))


@pytest.mark.usefixtures("nights")
def test_a_night_of_torch_says_flavour_day_and_commit(github: SetUp) -> None:
    github([release()])
    target = made("torch-nightly")
    assert (target.version, target.wanted, target.info.flavour) == ("2.13.0.dev20260424+cpu", "cpu", "cpu")
    assert target.origin is not None
    assert (target.origin.commit, target.origin.commit_by) == (SOURCE, "the nightly release's subject")
    assert f"built 2026-04-24, commit {SOURCE} by the nightly release's subject" in target.summary()
    assert target.origin.artifact.index.endswith("/nightly/cpu")


@pytest.mark.usefixtures("nights")
def test_a_label_names_the_flavour_and_a_version_the_night(github: SetUp) -> None:
    github([])
    assert made("torch-nightly/cu126").info.flavour == "cuda"
    assert made("Torch-Nightly/cu130").version == "2.13.0.dev20260425+cu130"
    assert made("torch-nightly/cpu==2.13.0.dev20260423").version == "2.13.0.dev20260423+cpu"


@pytest.mark.usefixtures("nights")
def test_the_fallback_shows_in_the_summary(github: SetUp) -> None:
    github([], status=500)
    summary = made("torch-nightly/cpu").summary()
    assert f"commit {OWN} by git_version, a fallback (GitHub could not be asked: HTTP 500)" in summary


@pytest.mark.usefixtures("nights", "github")
@pytest.mark.parametrize(("days", "notes"), [(0, 0), (1, 0), (2, 1), (90, 1)])
def test_that_the_newest_night_is_old_is_said(monkeypatch: pytest.MonkeyPatch, days: int, notes: int) -> None:
    monkeypatch.setattr(resolve, "_today", lambda: DAY + timedelta(days=days))
    told = ensure(parse_spec("torch-nightly/cpu")).notes
    assert len(told) == notes
    assert all(f"the newest nightly build that fits here is {days} days old (2026-04-24)" in each for each in told)
    assert ensure(parse_spec("torch-nightly/cpu==2.13.0.dev20260424")).notes == ()


def test_a_release_from_an_index_keeps_to_the_flavour(
    nights: Faults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    address = os.environ["NIGHTFUZZ_TORCH_INDEX"] + "/simple"
    with pytest.raises(UserError, match=r"no CPU build of torch 2\.14\.0 was found, only 2\.14\.0"):
        ensure(parse_spec("torch", index=address), "cpu")
    target = ensure(parse_spec("torch", index=address))
    assert "no CPU build of torch 2.14.0 was found, only 2.14.0: took that build" in target.notes
    write_wheel(tmp_path / "nights", FakeWheel("torch", "2.14.0+cpu", TORCH.format(own=OWN, cuda=None)))
    target = ensure(parse_spec("torch", index=address), "cpu")
    assert (target.version, target.notes) == ("2.14.0+cpu", ())
    assert target.origin is not None and target.origin.commit_by == "its own version file"


@pytest.mark.usefixtures("nights")
def test_a_label_that_is_not_there_names_what_is(github: SetUp) -> None:
    with pytest.raises(UserError, match="no nightly build of torch labelled rocm9") as caught:
        made("torch-nightly/rocm9")
    assert "2.13.0.dev20260425+cu130" in caught.value.remedy
