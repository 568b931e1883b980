"""Who we are to GitHub: a workflow's token, a fine-grained token, or an app whose tokens are renewed under way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

import github
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.github.redaction import Secret

PUBLIC_API = "https://api.github.com"


class TokenAuth(NamedTuple):
    """GITHUB_TOKEN of a workflow, a fine-grained or a classic token."""

    token: Secret

    def signed(self) -> github.Auth.Auth:
        """As PyGithub wants it."""
        return github.Auth.Token(self.token.reveal())


class AppAuth(NamedTuple):
    """A GitHub App. installation: its number; None asks GitHub which one is on the repository.

    permissions: what its tokens may do, like `{"issues": "write"}`; None for all that the app was given.
    """

    app_id: str
    private_key: Secret
    installation: int | None = None
    permissions: Mapping[str, str] | None = None

    def app(self) -> github.Auth.AppAuth:
        """The app itself: requests signed with its key, good for ten minutes each."""
        return github.Auth.AppAuth(self.app_id, self.private_key.reveal())

    def signed(self) -> github.Auth.Auth:
        """The app where it is installed: PyGithub asks for a token, and for the next one before that ends."""
        if self.installation is None:
            raise ValueError("which installation is not known yet")
        permissions = None if self.permissions is None else dict(self.permissions)
        return github.Auth.AppInstallationAuth(self.app(), self.installation, permissions)


Auth = TokenAuth | AppAuth


def from_environment(
    environment: Mapping[str, str],
    *,
    token: str = "GITHUB_TOKEN",
    app_id: str = "NIGHTFUZZ_APP_ID",
    private_key: str = "NIGHTFUZZ_APP_PRIVATE_KEY",
    installation: str = "NIGHTFUZZ_APP_INSTALLATION",
) -> Auth:
    """The app whose id is there, else the token. The arguments are names of variables. Raises UserError."""
    if environment.get(app_id, "").strip():
        return _app(environment, app_id, private_key, installation)
    value = environment.get(token, "").strip()
    if not value:
        problem = f"no way to log in to GitHub: neither {token} nor {app_id} is set"
        raise UserError(problem, f"in the workflow's step: `env: {{{token}: ${{{{ github.token }}}}}}`")
    if not (value.isascii() and value.isprintable()) or " " in value:
        raise UserError(f"{token} is no token: it holds blanks or signs that no token has", "store the secret again")
    return TokenAuth(Secret(value))


def _app(environment: Mapping[str, str], app_id: str, private_key: str, installation: str) -> AppAuth:
    key = environment.get(private_key, "").replace("\\n", "\n").strip()
    if not key:
        raise UserError(f"{app_id} is set, but {private_key} is not", f"store the app's private key as {private_key}")
    secret = Secret(key)
    if not _is_rsa(key):
        remedy = "store the whole .pem file as the secret, its first and last lines included"
        raise UserError(f"{private_key} holds no RSA private key", remedy)
    number = environment.get(installation, "").strip()
    if number and not (number.isdecimal() and len(number) < 16):
        raise UserError(f"{installation} is no number", "it is the number at the end of the address of its settings")
    return AppAuth(environment[app_id].strip(), secret, int(number) if number else None)


def _is_rsa(key: str) -> bool:
    try:
        return isinstance(load_pem_private_key(key.encode(), None), RSAPrivateKey)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return False


def api_address(environment: Mapping[str, str], option: str | None = None) -> str:
    """Where the API is: the option, else GITHUB_API_URL (set by every runner), else github.com's. Raises UserError."""
    address = (option or environment.get("GITHUB_API_URL") or PUBLIC_API).strip().rstrip("/")
    parts = urlsplit(address)
    remedy = f"like {PUBLIC_API}, or https://github.example.com/api/v3 for GitHub Enterprise Server"
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise UserError("the address of GitHub's API is no web address", remedy)
    if parts.username or parts.password:
        raise UserError("the address of GitHub's API holds a name or a password", f"leave them out: {remedy}")
    if parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise UserError("the address of GitHub's API is not encrypted: the token would be sent in the open", remedy)
    return address
