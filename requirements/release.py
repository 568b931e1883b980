"""Checks of a release, and its text.

`release.py check [TAG]`, `release.py files FOLDER`, `release.py notes`, `release.py spaces FOLDER URL`.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

from packaging.metadata import Metadata

ROOT = Path(__file__).parents[1]
NEXT = "Unreleased"


class ReleaseError(Exception):
    """A fault that keeps this checkout from a release, with its remedy."""


def version(root: Path) -> str:
    """Return the version in pyproject.toml."""
    return str(tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"])


def section(root: Path, name: str) -> str:
    """Return the text below the heading `## [NAME]` of the changelog. Raises ReleaseError without such a text."""
    parts = re.split(r"^## \[([^\]]+)\].*\n", (root / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    texts = dict(zip(parts[1::2], parts[2::2], strict=True))
    if not texts.get(name, "").strip():
        raise ReleaseError(f"CHANGELOG.md has no text below `## [{name}]`: write it")
    return texts[name].strip() + "\n"


def check(root: Path, tag: str = "") -> str:
    """Check that the tag `vX.Y.Z`, the version and the changelog agree; without a tag, that a next release has a text.

    Returns what was checked. Raises ReleaseError.
    """
    found = version(root)
    if not re.fullmatch(r"\d+\.\d+\.\d+", found):
        raise ReleaseError(f"pyproject.toml has the version {found}: a release is X.Y.Z")
    if not tag:
        section(root, NEXT)
        return f"{found}: CHANGELOG.md has a text for the next release"
    if tag != f"v{found}":
        raise ReleaseError(f"the tag is {tag} and pyproject.toml has the version {found}: tag v{found}")
    section(root, found)
    return f"{tag}: the version and the changelog agree"


def inspect(folder: Path, expected: str) -> str:
    """Check that the folder holds one wheel and one source archive of that version, with valid and equal metadata.

    Returns what was checked. Raises ReleaseError.
    """
    wheels, archives = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    if len(wheels) != 1 or len(archives) != 1:
        count = f"{len(wheels)} wheels and {len(archives)} source archives"
        raise ReleaseError(f"{folder} holds {count}: build one of each")
    stem = f"nightfuzz-{expected}"
    with zipfile.ZipFile(wheels[0]) as wheel:
        first = wheel.read(f"{stem}.dist-info/METADATA")
    with tarfile.open(archives[0]) as archive:
        file = archive.extractfile(f"{stem}/PKG-INFO")
        second = file.read() if file else b""
    if first != second:
        raise ReleaseError("the wheel and the source archive describe themselves differently: build both again")
    Metadata.from_email(first, validate=True)
    return f"{wheels[0].name}, {archives[0].name}: metadata valid and equal"


def spaces(root: Path, folder: Path, url: str) -> str:
    """Write the index of the release's space files: those of a folder, each beside what `pack --json` said of it.

    url: of the folder that the release publishes them in. Returns what was written. Raises ReleaseError for a file that
    is not as its JSON says.
    """
    index = root / "fuzz_core" / "targets" / "spaces.toml"
    lines = index.read_text().splitlines(keepends=True)[:1]
    names = []
    for told in sorted(folder.glob("*.json")):
        data, file = json.loads(told.read_text()), told.with_suffix(".space")
        if hashlib.sha256(file.read_bytes()).hexdigest() != data["sha256"] or file.stat().st_size != data["size"]:
            raise ReleaseError(f"{file.name} is not the file that {told.name} tells of: pack it again")
        data["url"] = f"{url.rstrip('/')}/{file.name}"
        kept = ("key", "library", "version", "url", "sha256", "size")
        lines += ["\n[[space]]\n", *(f"{name} = {json.dumps(data[name])}\n" for name in kept)]
        names.append(file.name)
    index.write_text("".join(lines))
    return f"{index.name}: {', '.join(names) or 'no space file'}"


def main(arguments: list[str]) -> str:
    """Do what the command line says; returns the text to print. Raises ReleaseError."""
    match arguments:
        case ["check", *tag]:
            return check(ROOT, *tag)
        case ["files", folder]:
            return inspect(Path(folder), version(ROOT))
        case ["spaces", folder, url]:
            return spaces(ROOT, Path(folder), url)
        case ["notes"]:
            return section(ROOT, version(ROOT))
    raise ReleaseError(str(__doc__))


if __name__ == "__main__":
    try:
        print(main(sys.argv[1:]))
    except (ReleaseError, KeyError, ExceptionGroup) as error:
        sys.exit(f"release: {error}")
