"""Encryption of bugs that may be security holes, with age, for the people who may read them."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import pyrage  # type: ignore[import-untyped]

from fuzz_core.ir.errors import UserError
from fuzz_core.store.intake import take_in
from nightfuzz.bot.github.redaction import Secret
from nightfuzz.bot.state.place import MAX_FILE, PRIVATE, Files, compressed, expanded

MAX_BLOBS = 200
MAX_BYTES = 256 << 20
END = ".age"


class Keys(NamedTuple):
    """Keys for private findings.

    Attributes:
        recipients: public keys that private findings are encrypted for.
        identity: a secret key, where there is one.
    """

    recipients: tuple[str, ...] = ()
    identity: Secret | None = None

    @property
    def all_recipients(self) -> tuple[str, ...]:
        """The recipients, and the public key of the identity."""
        own = () if self.identity is None else (public_key(self.identity),)
        return tuple(dict.fromkeys((*self.recipients, *own)))


class PrivateStates(NamedTuple):
    """Private parts as state files.

    Attributes:
        unread: parts that no given key opens; they stay as they are.
    """

    states: tuple[Path, ...]
    unread: Files
    problems: tuple[str, ...]


class Kept(NamedTuple):
    """Encrypted parts for a place, and the steps that failed, a line each."""

    files: Files
    problems: tuple[str, ...]


def encrypt(path: Path, recipients: Sequence[str]) -> bytes:
    """Return a state file, compressed and encrypted so that each of the recipients (`age1…`) can read it alone."""
    keys = [pyrage.x25519.Recipient.from_str(each) for each in recipients]
    return bytes(pyrage.encrypt(compressed(path.read_bytes()), keys))


def decrypt(data: bytes, identity: Secret, path: Path) -> None:
    """Write the state file that `encrypt` was given.

    Raises:
        UserError: another key, or damaged.
    """
    try:
        packed = pyrage.decrypt(data, [_identity(identity)])
    except pyrage.DecryptError as error:
        remedy = "give the secret key that belongs to its public key; without that key, delete the part from the state"
        raise UserError(f"a private part cannot be decrypted ({error})", remedy) from None
    path.write_bytes(expanded(packed, MAX_BYTES))


def _identity(identity: Secret) -> pyrage.x25519.Identity:
    try:
        return pyrage.x25519.Identity.from_str(identity.reveal().strip())
    except (pyrage.IdentityError, ValueError):
        raise UserError(
            "the value of the input private-identity is not a secret key of the tool `age`",
            "give a key that begins with AGE-SECRET-KEY-1; `age-keygen` makes one",
        ) from None


def public_key(identity: Secret) -> str:
    """Return the recipient that belongs to a secret key."""
    return str(_identity(identity).to_public())


def salted(fingerprint: str, salt: bytes) -> str:
    """Return a digest from which readers without the salt cannot find the fingerprint."""
    return hmac.new(salt, fingerprint.encode(), sha256).hexdigest()


def salt_of(identity: Secret) -> bytes:
    """Return the salt of a repository: who can guess at signatures must not be able to check the guess."""
    return hmac.new(identity.reveal().strip().encode(), b"nightfuzz: fingerprints", sha256).digest()


def fingerprints(plain: Iterable[str], identity: Secret) -> bytes:
    """Return the public form of the list of private bugs."""
    salt = salt_of(identity)
    return (json.dumps(sorted(salted(each, salt) for each in plain)) + "\n").encode()


def blobs(files: Files) -> dict[str, bytes]:
    """Return the encrypted parts of a place by name, the oldest first."""
    return {name: files[name] for name in sorted(files) if name.startswith(PRIVATE) and name.endswith(END)}


def sealed(parts: Iterable[bytes], now: datetime) -> dict[str, bytes]:
    """Return encrypted parts by the names that they get in a place: these sort by age."""
    return {f"{PRIVATE}{now:%Y%m%dT%H%M%S}-{sha256(data).hexdigest()[:32]}{END}": data for data in parts}


def bounded(parts: Files) -> Kept:
    """Collect encrypted parts, each once, up to a bound, so that readers without the key lose none of them.

    If the parts exceed the bound, the oldest part is removed, with a note. A part that is too large for every place is
    removed as well. Later runs find the bugs of lost parts again if they still exist.
    """
    once = {name.partition("-")[2]: name for name in sorted(parts, reverse=True)}
    kept = {name: parts[name] for name in sorted(once.values()) if len(parts[name]) <= MAX_FILE}
    problems = (
        [f"{large} encrypted private parts were too large and are not kept"] if (large := len(once) - len(kept)) else []
    )
    old = 0
    while len(kept) > MAX_BLOBS or sum(map(len, kept.values())) > MAX_BYTES:
        del kept[next(iter(kept))]
        old += 1
    problems += [f"{old} encrypted private parts that no run could read were dropped, the oldest first"] if old else []
    return Kept(kept, tuple(problems))


def opened(parts: Files, identity: Secret, folder: Path) -> PrivateStates:
    """Decrypt private parts with the key.

    The parts come from untrusted jobs: each is checked like a state file.
    """
    states: list[Path] = []
    unread: dict[str, bytes] = {}
    problems: list[str] = []
    for number, (name, data) in enumerate(parts.items()):
        raw, clean = folder / f"raw-{number}.db", folder / f"private-{number}.db"
        try:
            decrypt(data, identity, raw)
        except UserError as error:
            unread[name] = data
            problems.append(f"{name}: {error.problem}")
            continue
        try:
            take_in(raw, clean)
            states.append(clean)
        except UserError as error:
            problems.append(f"{name} is left out: {error.problem}")
        finally:
            raw.unlink()
    return PrivateStates(tuple(states), unread, tuple(problems))
