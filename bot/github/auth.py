"""Who we are to GitHub: a workflow's token, a fine-grained token, or an app whose tokens are renewed under way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import github

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.github.client import Client
from nightfuzz.bot.github.errors import RefusedError
from nightfuzz.bot.github.redaction import Secret

PUBLIC_API = "https://api.github.com"


class TokenAuth(NamedTuple):
    """GITHUB_TOKEN of a workflow, a fine-grained or a classic token."""

    token: Secret

    def signed(self) -> github.Auth.Auth:
        """Return the credentials as PyGithub wants them."""
        return github.Auth.Token(self.token.reveal())


class AppAuth(NamedTuple):
    """A GitHub App.

    Attributes:
        permissions: of its tokens, like `{"issues": "write"}`; None for all that the app was given.
    """

    app_id: str
    private_key: Secret
    permissions: Mapping[str, str] | None = None

    def app(self) -> github.Auth.AppAuth:
        """Return the app itself: requests signed with its key, good for ten minutes each."""
        return github.Auth.AppAuth(self.app_id, self.private_key.reveal())


Auth = TokenAuth | AppAuth


def log_in(auth: Auth, connect: Callable[[Callable[[], github.Auth.Auth]], Client]) -> tuple[Client, str]:
    """Return a client with these credentials, and our own name on GitHub.

    An app's name is its slug; a workflow's token belongs to `github-actions[bot]`. PyGithub asks for the token of the
    app's installation on the repository, and for the next one before that ends.

    Raises:
        UserError: there are no credentials, or GitHub refuses them.
    """
    if not isinstance(auth, AppAuth):
        client = connect(auth.signed)
        return client, _login(client)
    app = connect(auth.app)
    installation = _installation(app, auth)
    permissions = None if auth.permissions is None else dict(auth.permissions)
    installed = partial(github.Auth.AppInstallationAuth, auth.app(), installation, permissions)
    return connect(installed), f"{app.read('/app', lambda data: str(data['slug']))}[bot]"


def _installation(app: Client, auth: AppAuth) -> int:
    installation = app.find("installation", lambda data: int(data["id"]))
    if installation is None:
        remedy = "install it there: the app's page > Install App; or correct app-id or the name of the repository"
        raise UserError(f"the app {auth.app_id} is not installed on {app.repository}", remedy)
    return installation


def push_token(auth: AppAuth, app: Client) -> Secret:
    """Return a token of the app's installation that lasts an hour and may only write contents of the repository.

    Args:
        auth: the app's credentials.
        app: a client that is signed with the app's key.

    Raises:
        UserError: GitHub refuses the token.
    """
    path = f"/app/installations/{_installation(app, auth)}/access_tokens"
    asked = {"repositories": [app.repository.partition("/")[2]], "permissions": {"contents": "write"}}
    return app.write("POST", path, asked, lambda data: Secret(str(data["token"])), "contents: write")


def _login(client: Client) -> str:
    try:
        return client.read("/user", lambda data: str(data["login"]), permission="metadata: read")
    except RefusedError as error:
        # A workflow's token may not ask for its user, but may ask who looks.
        if error.status != 403:
            raise
    # The path of GraphQL is next to the path of the REST API.
    place = client.address.removesuffix("/v3") if client.address.endswith("/api/v3") else client.address
    return client.write("POST", f"{place}/graphql", {"query": "{viewer{login}}"}, _viewer)


def _viewer(data: Any) -> str:
    if data.get("errors"):
        raise UserError(
            "GitHub does not say which user the token belongs to", "use the token of the workflow, or a GitHub App"
        )
    return str(data["data"]["viewer"]["login"])


def from_environment(environment: Mapping[str, str]) -> TokenAuth:
    """Return the token in GITHUB_TOKEN.

    Raises:
        UserError: the variable is not set, or holds no token.
    """
    value = environment.get("GITHUB_TOKEN", "").strip()
    if not value:
        problem = "no way to log in to GitHub: GITHUB_TOKEN is not set"
        raise UserError(problem, "add to the workflow's step: `env: {GITHUB_TOKEN: ${{ github.token }}}`")
    if not (value.isascii() and value.isprintable()) or " " in value:
        problem = "the value of GITHUB_TOKEN is not a token: it has blanks or characters that no token has"
        raise UserError(problem, "store the secret again, without blanks and line breaks")
    return TokenAuth(Secret(value))


def api_address(environment: Mapping[str, str], option: str | None = None) -> str:
    """Return the API's address: the option, else the runner's GITHUB_API_URL, else github.com's.

    Raises:
        UserError: the address is no web address, is not encrypted, or holds a password.
    """
    address = (option or environment.get("GITHUB_API_URL") or PUBLIC_API).strip().rstrip("/")
    parts = urlsplit(address)
    remedy = f"write an address such as {PUBLIC_API}, or https://HOST/api/v3 for GitHub Enterprise Server"
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise UserError("the address of GitHub's API (setting api-url, or GITHUB_API_URL) is not a web address", remedy)
    if parts.username or parts.password:
        raise UserError(
            "the address of GitHub's API (setting api-url, or GITHUB_API_URL) has a user name or a password", remedy
        )
    if parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        problem = f"the address of GitHub's API, http://{parts.hostname}, would send the token without encryption"
        raise UserError(problem, remedy)
    return address
