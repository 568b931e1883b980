"""Wheels of made-up libraries, written in milliseconds; for example, a series of nightly builds with a fault."""

from __future__ import annotations

import base64
import hashlib
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile, ZipInfo

import numpy as np

NUMPY_PLACE = Path(np.__file__).parent.parent
SourceOf = Callable[[int], "str | None"]


@dataclass(frozen=True)
class FakeWheel:
    """A wheel of a made-up library."""

    name: str
    version: str
    source: str = ""  # the package's `__init__.py`, before a line that sets `__version__`
    files: Mapping[str, str] = field(default_factory=dict)  # further files, by their path in the wheel
    tag: str = "py3-none-any"
    build: str = ""  # a build tag, as `2`
    requires: Sequence[str] = ()
    requires_python: str = ""
    numpy: bool = False  # an import finds the numpy of these tests, without an installation

    @property
    def module(self) -> str:
        """The name that programs import."""
        return self.name.replace("-", "_")

    @property
    def filename(self) -> str:
        """The file name of the wheel, as PEP 427 defines it."""
        return "-".join(filter(None, [self.module, self.version, self.build, self.tag])) + ".whl"

    def contents(self) -> dict[str, str]:
        """Returns every file but RECORD, by its path in the wheel."""
        info = f"{self.module}-{self.version}.dist-info"
        found = {f"{self.module}/__init__.py": f"{self.source}\n__version__ = {self.version!r}\n", **self.files}
        found[f"{info}/METADATA"] = self._metadata()
        found[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: fake\nRoot-Is-Purelib: true\nTag: {self.tag}\n"
        return found | ({f"{self.module}_numpy.pth": f"{NUMPY_PLACE}\n"} if self.numpy else {})

    def _metadata(self) -> str:
        lines = ["Metadata-Version: 2.1", f"Name: {self.name}", f"Version: {self.version}"]
        lines += [f"Requires-Dist: {each}" for each in self.requires]
        lines += [f"Requires-Python: {self.requires_python}"] if self.requires_python else []
        return "\n".join(lines) + "\n"


def write_wheel(folder: Path, wheel: FakeWheel) -> Path:
    """Writes a wheel into a folder, which it makes; the same wheel gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    path, contents = folder / wheel.filename, wheel.contents()
    record = f"{wheel.module}-{wheel.version}.dist-info/RECORD"
    rows = [*(f"{name},{_digest(text)},{len(text.encode())}" for name, text in contents.items()), f"{record},,"]
    with ZipFile(path, "w") as archive:
        for name, text in {**contents, record: "\n".join(rows) + "\n"}.items():
            # A fixed time: the time of the clock would change the bytes of every wheel.
            archive.writestr(ZipInfo(name, (2026, 1, 1, 0, 0, 0)), text)
    return path


BACKEND = """
import shutil
from pathlib import Path
def build_wheel(folder, settings=None, metadata=None):
    [wheel] = Path(__file__).parent.glob("*.whl")
    shutil.copy(wheel, folder)
    return wheel.name
"""
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


def write_source(folder: Path, wheel: FakeWheel) -> Path:
    """Writes a source archive that builds into this wheel without a network."""
    path = folder / f"{wheel.module}-{wheel.version}.tar.gz"
    with TemporaryDirectory() as place:
        inside = Path(place) / f"{wheel.module}-{wheel.version}"
        write_wheel(inside, wheel)
        (inside / "backend.py").write_text(BACKEND)
        (inside / "pyproject.toml").write_text(PROJECT)
        (inside / "PKG-INFO").write_text(f"Metadata-Version: 2.1\nName: {wheel.name}\nVersion: {wheel.version}\n")
        with tarfile.open(path, "w:gz") as archive:
            archive.add(inside, inside.name)
    return path


def write_nightlies(
    folder: Path, name: str, nights: int, source_of: SourceOf, *, first: date = date(2026, 1, 1), base: str = "1.0"
) -> list[FakeWheel]:
    """Writes a series of nightly builds `BASE.devYYYYMMDD`, oldest first.

    `source_of` gives the source of night 0, 1, …, or None for a night without a build.
    """
    sources = {night: source_of(night) for night in range(nights)}
    wheels = [
        FakeWheel(name, f"{base}.dev{first + timedelta(days=night):%Y%m%d}", source, numpy=True)
        for night, source in sources.items()
        if source is not None
    ]
    for wheel in wheels:
        write_wheel(folder, wheel)
    return wheels


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).decode().rstrip("=")
