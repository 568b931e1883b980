"""Listings of indexes in both forms: what they say is kept, what they should not say is left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakeindex import Faults, faulty_index, real_index
from fakewheels import FakeWheel, write_wheel

from fuzz_core.ir.errors import UserError
from fuzz_core.targets import index
from fuzz_core.targets.installer import IndexUnreachable


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Faults]]:
    write_wheel(tmp_path / "served", FakeWheel("my-lib", "1.0"))
    write_wheel(tmp_path / "served", FakeWheel("my-lib", "1.1", build="3"))
    with faulty_index(tmp_path / "served") as told:
        yield told


def test_both_forms_say_the_same_of_a_file(served: tuple[str, Faults]) -> None:
    address, faults = served
    faults.requires_python = {"my_lib-1.0-py3-none-any.whl": ">=3.10"}
    faults.yanked = {"my_lib-1.1-3-py3-none-any.whl": "bad"}
    first, second = index.listing(f"{address}/", "my-lib")
    assert (first.index, first.distribution, first.version) == (address, "my-lib", "1.0")
    assert (first.requires_python, first.yanked, first.build) == (">=3.10", None, ())
    assert (second.yanked, second.build) == ("bad", (3, ""))
    assert first.size and first.url.endswith("/files/my_lib-1.0-py3-none-any.whl")
    faults.html = True
    plain = index.listing(address, "my-lib")
    assert [each.sha256 for each in plain] == [first.sha256, second.sha256]
    assert [each.url for each in plain] == [first.url, second.url]


def test_a_real_server_is_read(tmp_path: Path) -> None:
    paths = [write_wheel(tmp_path, FakeWheel("my-lib", version)) for version in ("1.0", "1.1.dev20260101+cpu")]
    with real_index(tmp_path) as address:
        found = index.listing(address, "my-lib")
    assert {each.filename for each in found} == {path.name for path in paths}
    assert all(each.sha256 for each in found)


@pytest.mark.parametrize(
    "name",
    ["my_lib-1.0-1\x1b[2J-py3-none-any.whl", "my_lib-1.0.zip.exe", "my_lib-no.version-py3-none-any.whl", "my_lib"],
)
def test_names_that_say_nothing_or_too_much_are_left_out(served: tuple[str, Faults], tmp_path: Path, name: str) -> None:
    (tmp_path / "served" / name).touch()
    assert len(index.listing(served[0], "my-lib")) == 2


def test_a_reason_is_one_line_without_controls(served: tuple[str, Faults]) -> None:
    address, faults = served
    faults.yanked = {"my_lib-1.0-py3-none-any.whl": "bad\x1b[31m\n" + "x" * 1000}
    reason = index.listing(address, "my-lib")[0].yanked
    assert reason is not None
    assert reason.startswith("bad [31m x") and len(reason) <= 200


def test_what_is_no_index_is_told(served: tuple[str, Faults], monkeypatch: pytest.MonkeyPatch) -> None:
    address, faults = served
    with pytest.raises(UserError, match="has no package other"):
        index.listing(address, "other")
    for status, kind in ((500, "HTTP 500"), (403, "HTTP 403"), (429, "HTTP 429")):
        faults.broken = status
        with pytest.raises(IndexUnreachable, match=kind):
            index.listing(address, "my-lib")


@pytest.mark.parametrize(
    "page", ["[]", "{", '{"meta": {"api-version": "9.0"}, "name": "x", "files": []}', '{"files": 3}']
)
def test_a_page_that_can_not_be_read_is_told(served: tuple[str, Faults], page: str) -> None:
    address, faults = served
    faults.page = page
    with pytest.raises(UserError, match="does not answer as a package index does"):
        index.listing(address, "my-lib")


def test_the_index_is_the_one_of_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "pip.conf"
    file.write_text("[global]\nindex-url = http://file/simple\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    monkeypatch.delenv("PIP_NO_INDEX", raising=False)
    assert index.configured() == "http://file/simple"
    monkeypatch.setenv("PIP_INDEX_URL", "http://variable/simple")
    assert index.configured() == "http://variable/simple"
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(UserError, match="set up to use no package index"):
        index.configured()
