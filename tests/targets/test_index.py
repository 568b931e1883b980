"""Tests of listings of indexes in both forms: valid entries are kept, invalid entries are left out."""

from __future__ import annotations

import ensurepip
import importlib.util
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakeindex import Faults, faulty_index, real_index
from fakewheels import FakeWheel, write_wheel

from fuzz_core.ir.errors import UserError
from fuzz_core.targets import index
from fuzz_core.targets.artifact import sha256_of
from fuzz_core.targets.installer import IndexUnreachable, pip_command


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
    assert index.listing(address, "other") == []
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
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    assert index.sources()[0].address == "http://file/simple"
    monkeypatch.setenv("PIP_INDEX_URL", "http://variable/simple")
    assert index.sources()[0].address == "http://variable/simple"
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(UserError, match="set up to use no package index"):
        index.sources()


def test_pip_settings_name_indexes_and_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://first/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "http://second/simple http://third/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "0")
    indexes = [(f"http://{name}/simple", False) for name in ("first", "second", "third")]
    assert index.sources() == [*indexes, (tmp_path.as_uri(), True)]
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert index.sources() == [(tmp_path.as_uri(), True)]


def test_a_folder_of_wheels_and_an_index_of_files_are_read(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / "files", FakeWheel("my-lib", "1.0"))
    write_wheel(tmp_path / "files", FakeWheel("other", "2.0"))
    page = tmp_path / "simple" / "my-lib" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text(f'<a href="../../files/{wheel.name}#sha256={sha256_of(wheel)}">{wheel.name}</a>')
    [of_folder] = index.listing((tmp_path / "files").as_uri(), "My_Lib", flat=True)
    [of_index] = index.listing((tmp_path / "simple").as_uri(), "my-lib")
    assert of_folder.url == of_index.url == wheel.as_uri()
    assert of_folder.sha256 == of_index.sha256 == sha256_of(wheel)
    assert index.listing((tmp_path / "simple").as_uri(), "other") == []
    with pytest.raises(UserError, match="cannot be read: No such file"):
        index.listing((tmp_path / "nowhere").as_uri(), "other", flat=True)


def test_a_page_of_links_is_read(served: tuple[str, Faults]) -> None:
    address, faults = served
    faults.html = True
    found = index.listing(f"{address}/my-lib/", "my-lib", flat=True)
    assert [each.version for each in found] == ["1.0", "1.1"]
    assert index.listing(f"{address}/my-lib/", "other", flat=True) == []


def test_an_index_out_of_reach_counts_only_if_no_other_has_the_package(
    served: tuple[str, Faults], caplog: pytest.LogCaptureFixture
) -> None:
    places = [index.PackageSource("http://127.0.0.1:9/simple"), index.PackageSource(served[0])]
    assert [each.version for each in index.listed(places, "my-lib", hasty=True)] == ["1.0", "1.1"]
    unreachable = "the index http://127.0.0.1:9/simple cannot be reached: Connection refused"
    assert caplog.messages == [f"note: {unreachable}; builds that only this index has are left out"]
    with pytest.raises(IndexUnreachable, match="Connection refused"):
        index.listed(places, "other", hasty=True)


@pytest.mark.parametrize("place", ["_bundled", "debian", ""])
def test_pip_need_not_be_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """A job that holds a token has no pip installed. Python brings its wheel, in ensurepip or in a Debian folder."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(ensurepip, "__file__", str(tmp_path / "__init__.py"))
    monkeypatch.setattr(sysconfig, "get_config_var", {"WHEEL_PKG_DIR": str(tmp_path / "debian")}.get)
    if place:
        wheel = write_wheel(tmp_path / place, FakeWheel("pip", "23.0"))
        assert pip_command() == [sys.executable, str(wheel / "pip")]
    else:
        with pytest.raises(UserError, match="has no pip"):
            pip_command()
