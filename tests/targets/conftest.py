"""Fixtures: a made-up library in hand-zipped wheels, and a package index that is a folder of these wheels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest

from fuzz_core.adapters.library import KNOWN_LIBRARIES, Library

MakeWheel = Callable[..., Path]


@pytest.fixture
def make_wheel(tmp_path: Path, own_index: None) -> MakeWheel:
    """Returns a function that zips a wheel of `fakelib` into the folder that stands for the package index."""

    def make(version: str, says: str | None = None, tag: str = "py3-none-any", body: str = "", needs: str = "") -> Path:
        info = f"fakelib-{version}.dist-info"
        path = tmp_path / "index" / f"fakelib-{version}-{tag}.whl"
        metadata = f"Metadata-Version: 2.1\nName: fakelib\nVersion: {version}\n"
        with ZipFile(path, "w") as archive:
            archive.writestr("fakelib/__init__.py", f"__version__ = {says or version!r}\n{body}\n")
            archive.writestr(f"{info}/METADATA", metadata + (f"Requires-Dist: {needs}\n" if needs else ""))
            archive.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
            archive.writestr(f"{info}/RECORD", "")
        return path

    return make


@pytest.fixture
def own_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the folder the single index for packages, and a temporary folder the single place for targets."""
    monkeypatch.setitem(KNOWN_LIBRARIES, "fakelib", Library("fakelib", distributions=("fakelib",)))
    for name, value in {"CONFIG_FILE": "/dev/null", "NO_INDEX": "1", "FIND_LINKS": str(tmp_path / "index")}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NIGHTFUZZ_CACHE", str(tmp_path / "cache"))
    (tmp_path / "index").mkdir()
