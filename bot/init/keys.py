"""The pair of keys that private findings are encrypted with: the secret half stays with the user."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pyrage  # type: ignore[import-untyped]
from platformdirs import user_config_path

from fuzz_core.ir.errors import UserError

_SECRET = "AGE-SECRET-KEY-"  # how a secret key of age begins


class KeyPair(NamedTuple):
    """public: to be written into workflows. file: where the secret half is. made: now, and not on an earlier day."""

    public: str
    file: Path
    made: bool


def default_file(project: str) -> Path:
    """Where a project's secret key is kept, outside of the project."""
    return user_config_path("nightfuzz") / f"{project}.agekey"


def key_pair(file: Path) -> KeyPair:
    """The pair whose secret half is in the file, made where there is none. Only its owner may read it.

    Raises UserError inside a git repository, and for a file that is there and holds no key: it is never overwritten.
    """
    file = file.expanduser().absolute()
    if any((place / ".git").exists() for place in file.resolve().parents):
        raise UserError(f"{file} is inside a git repository", "name a file outside of any with --key-file")
    if file.exists():
        return KeyPair(_public(file), file, False)
    identity = pyrage.x25519.Identity.generate()
    public = str(identity.to_public())
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as stream:
            stream.write(f"# public key: {public}\n{identity}\n")
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror}", "name another file with --key-file") from error
    return KeyPair(public, file, True)


def _public(file: Path) -> str:
    remedy = "move it away, or name another file with --key-file"
    try:
        lines = [line for line in file.read_text(encoding="ascii").splitlines() if line.startswith(_SECRET)]
        return str(pyrage.x25519.Identity.from_str(lines[0]).to_public())
    except (OSError, UnicodeDecodeError, IndexError, pyrage.IdentityError) as error:
        raise UserError(f"{file} holds no key of age", remedy) from error
