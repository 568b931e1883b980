"""Tests of the space files of a release: the choice for a build, and that no other file is taken for a space file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from sites import served

from fuzz_core.ir.errors import UserError
from fuzz_core.targets.spaces import INDEX, OfferedSpace, keep, kept, offered

CONTENT = b"a space file"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, str]]:
    """Yields a folder and the address that serves it; the cache is empty."""
    monkeypatch.setenv("NIGHTFUZZ_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "site"
    folder.mkdir()
    with served(folder) as address:
        yield folder, address


def offer(address: str, content: bytes = CONTENT) -> OfferedSpace:
    digest = hashlib.sha256(content).hexdigest()
    return OfferedSpace("torch-2-cp311", "torch", "2.0", f"{address}/torch.space", digest, len(content))


def test_the_file_is_fetched_once_and_kept(site: tuple[Path, str]) -> None:
    folder, address = site
    (folder / "torch.space").write_bytes(CONTENT)
    wanted = offer(address)
    assert kept(wanted) is None
    path = keep(wanted)
    assert (path.name, path.read_bytes(), kept(wanted)) == ("torch-2-cp311.space", CONTENT, path)
    (folder / "torch.space").unlink()
    assert keep(wanted) == path


def test_a_file_with_another_hash_is_none(site: tuple[Path, str]) -> None:
    folder, address = site
    (folder / "torch.space").write_bytes(CONTENT[::-1])
    with pytest.raises(UserError, match="is damaged: the index says SHA-256"):
        keep(offer(address))
    (folder / "torch.space").write_bytes(CONTENT)
    path = keep(offer(address))
    path.write_bytes(b"changed here")
    assert kept(offer(address)) is None
    assert keep(offer(address)).read_bytes() == CONTENT


def test_a_file_that_is_gone_is_an_error_of_the_user(site: tuple[Path, str]) -> None:
    with pytest.raises(UserError, match="gone"):
        keep(offer(site[1]))


@pytest.mark.parametrize(
    ("key", "version", "found"),
    [
        ("torch-2.13.0+cpu-cp311", "2.13.0+cpu", "torch-2.13.0+cpu-cp311"),
        ("torch-2.13.0-cp312", "2.13.0+cu130", "torch-2.13.0+cpu-cp311"),
        ("torch-2.14.0.dev20261201-cp311", "2.14.0.dev20261201", "torch-2.13.0+cpu-cp311"),
        ("torch-2.12.1-cp311", "2.12.1", "torch-2.12.0+cpu-cp311"),
        ("torch-2.1.0-cp311", "2.1.0", "torch-2.12.0+cpu-cp311"),
        ("torch-own-cp311", "a build of mine", "torch-2.12.0+cpu-cp311"),
    ],
)
def test_the_build_itself_or_the_nearest_is_offered(tmp_path: Path, key: str, version: str, found: str) -> None:
    index = tmp_path / "spaces.toml"
    index.write_text(
        "".join(
            f'[[space]]\nkey = "{library}-{number}+cpu-cp311"\nlibrary = "{library}"\nversion = "{number}+cpu"\n'
            f'url = "https://example.org/{number}"\nsha256 = "{number}"\nsize = 7\n'
            for library, number in (("jittor", "2.13.0"), ("torch", "2.13.0"), ("torch", "2.12.0"))
        )
    )
    chosen = offered(key, "torch", version, index)
    assert chosen is not None and chosen.key == found
    assert offered(key, "tensorflow", version, index) is None


def test_a_checkout_offers_none() -> None:
    assert INDEX.read_text().startswith("#")
    assert offered("torch-2.13.0-cp311", "torch", "2.13.0") is None
