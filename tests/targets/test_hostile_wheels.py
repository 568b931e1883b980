"""Tests of wheels and source archives that attack the machine at their installation and first import."""

from __future__ import annotations

import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from fakewheels import FakeWheel, write_source, write_wheel

from fuzz_core.ir.errors import UserError
from fuzz_core.targets import environment
from fuzz_core.targets.environment import ensure
from fuzz_core.targets.record import list_targets
from fuzz_core.targets.spec import parse_spec

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("own_index")]
SECRET = "s3cr3t-of-another-process"
# The attack. A package's code runs from a `.pth` file at each start, at the import, and at the build.
STEAL = f"""
import glob
for place in glob.glob("/proc/[0-9]*/environ"):
    try:
        found = {SECRET!r}.encode() in open(place, "rb").read()
    except OSError:
        continue
    if found:
        raise SystemExit("stolen: " + place)
"""


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """Returns the path of a file outside of all folders of a target."""
    return tmp_path / "outside" / "written"


@pytest.fixture(autouse=True)
def somebody() -> Iterator[None]:
    """Runs a process of this user that holds a secret, as the runner's processes do."""
    with subprocess.Popen(["/bin/sleep", "300"], env={"TOKEN": SECRET}) as process:
        yield
        process.kill()


def write_to(mark: Path) -> str:
    mark.parent.mkdir(exist_ok=True)
    return f"""
try:
    open({str(mark)!r}, "w").write("by the package")
except OSError:
    pass
"""


def test_a_pth_file_writes_nothing_outside(tmp_path: Path, mark: Path) -> None:
    line = f"import builtins; exec({write_to(mark) + STEAL!r})\n"
    write_wheel(tmp_path / "index", FakeWheel("fakelib", "1.0", files={"evil.pth": line}))
    assert ensure(parse_spec("fakelib==1.0")).version == "1.0"
    assert not mark.exists()


def test_neither_does_the_first_import(tmp_path: Path, mark: Path) -> None:
    write_wheel(tmp_path / "index", FakeWheel("fakelib", "1.0", write_to(mark) + STEAL))
    assert ensure(parse_spec("fakelib==1.0")).version == "1.0"
    assert not mark.exists()


def test_the_first_import_reaches_no_network(tmp_path: Path) -> None:
    code = "import socket\nlistening = socket.create_server(('127.0.0.1', 0))\n"
    code += "try:\n    socket.create_connection(listening.getsockname(), 5)\nexcept OSError:\n    pass\n"
    code += "else:\n    raise SystemExit('connected')\n"
    write_wheel(tmp_path / "index", FakeWheel("fakelib", "1.0", code))
    assert ensure(parse_spec("fakelib==1.0")).version == "1.0"


def test_the_build_of_a_source_archive_writes_nothing_outside(
    tmp_path: Path, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fakewheels.BACKEND", f"{write_to(mark)}{STEAL}{_backend()}")
    (tmp_path / "index").mkdir(exist_ok=True)
    write_source(tmp_path / "index", FakeWheel("fakelib", "1.0"))
    assert ensure(parse_spec("fakelib==1.0")).version == "1.0"
    assert not mark.exists()


def test_so_does_that_of_a_dependency(tmp_path: Path, mark: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fakewheels.BACKEND", f"{write_to(mark)}{STEAL}{_backend()}")
    write_wheel(tmp_path / "index", FakeWheel("fakelib", "1.0", "import helper", requires=["helper"]))
    write_source(tmp_path / "index", FakeWheel("helper", "1.0"))
    assert ensure(parse_spec("fakelib==1.0")).version == "1.0"
    assert not mark.exists()


def _backend() -> str:
    import fakewheels

    return fakewheels.BACKEND


@pytest.mark.parametrize("member", ["../../../outside/written", "/outside/written", "fakelib-1.0.data/data/../../x"])
def test_a_member_that_leads_out_is_not_unpacked_there(tmp_path: Path, mark: Path, member: str) -> None:
    mark.parent.mkdir()
    wheel = write_wheel(tmp_path / "index", FakeWheel("fakelib", "1.0"))
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr(member.replace("/outside", str(mark.parent)) if member[0] == "/" else member, "x")
    with suppress(UserError):
        ensure(parse_spec("fakelib==1.0"))
    assert list(mark.parent.iterdir()) == []


def test_a_wheel_that_would_fill_the_disk_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = "0" * (20 << 20)
    wheel = write_wheel(tmp_path / "index", FakeWheel("fakelib", "1.0", files={"fakelib/bomb.txt": bomb}))
    with zipfile.ZipFile(wheel) as archive:
        contents = {info.filename: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    assert wheel.stat().st_size < 100_000
    monkeypatch.setattr(environment, "UNPACKED_BYTES", 10 << 20, raising=False)
    with pytest.raises(UserError, match="would unpack to"):
        ensure(parse_spec("fakelib==1.0"))
    assert list_targets() == []


def test_a_wheel_of_another_name_than_its_file_is_refused(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / "index", FakeWheel("evil", "1.0"))
    wheel.rename(wheel.with_name("fakelib-1.0-py3-none-any.whl"))
    with pytest.raises(UserError):
        ensure(parse_spec("fakelib==1.0"))
    assert list_targets() == []
