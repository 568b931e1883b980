"""Wheels of made-up libraries, written in milliseconds: a series of nightly builds with a fault in its middle, say."""

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
    """One wheel. source: the package's `__init__.py`, before a line that sets `__version__`.

    files: further ones by their path in the wheel. build: a build tag, as `2`. numpy: whether importing it finds the
    numpy of these tests, without installing one.
    """

    name: str
    version: str
    source: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    tag: str = "py3-none-any"
    build: str = ""
    requires: Sequence[str] = ()
    requires_python: str = ""
    numpy: bool = False

    @property
    def module(self) -> str:
        """The name that is imported."""
        return self.name.replace("-", "_")

    @property
    def filename(self) -> str:
        """As PEP 427 has it."""
        return "-".join(filter(None, [self.module, self.version, self.build, self.tag])) + ".whl"

    def contents(self) -> dict[str, str]:
        """Every file but RECORD, by its path in the wheel."""
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
    """Writes a wheel into a folder, which is made; the same wheel gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    path, contents = folder / wheel.filename, wheel.contents()
    record = f"{wheel.module}-{wheel.version}.dist-info/RECORD"
    rows = [*(f"{name},{_digest(text)},{len(text.encode())}" for name, text in contents.items()), f"{record},,"]
    with ZipFile(path, "w") as archive:
        for name, text in {**contents, record: "\n".join(rows) + "\n"}.items():
            # A fixed time, as the clock would make every wheel another one.
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
    """Writes a source archive from which that wheel is built, without a network."""
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
    """A series of nightly builds `BASE.devYYYYMMDD`, oldest first.

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
