"""Who we are on GitHub, which depends on how we log in."""

from __future__ import annotations

from typing import Any

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.github.auth import AppAuth, Auth
from nightfuzz.bot.github.client import Client
from nightfuzz.bot.github.errors import RefusedError


def installed(client: Client, auth: Auth) -> Auth:
    """An app with the number of its installation on the repository, asked of GitHub where it was not given."""
    if not isinstance(auth, AppAuth) or auth.installation is not None:
        return auth
    try:
        return auth._replace(installation=client.as_app(f"{client.home}/installation", lambda data: int(data["id"])))
    except RefusedError as error:
        if error.status != 404:
            raise
        remedy = "install it there: the app's page > Install App; or check the name of the repository"
        raise UserError(f"the app {auth.app_id} is not installed on {client.repository}", remedy) from None


def login(client: Client) -> str:
    """Our own name: an app's is its slug, a workflow's token belongs to `github-actions[bot]`."""
    if isinstance(client.auth, AppAuth):
        return f"{client.as_app('/app', lambda data: str(data['slug']))}[bot]"
    try:
        return client.read("/user", lambda data: str(data["login"]), permission="metadata: read")
    except RefusedError as error:
        # A workflow's token may not ask for its user, but may ask who looks.
        if error.status != 403:
            raise
    return client.put("POST", client.graphql, {"query": "{viewer{login}}"}, _viewer)


def _viewer(data: Any) -> str:
    if data.get("errors"):
        raise UserError("GitHub does not say to whom the token belongs", "use a workflow's token, or an app")
    return str(data["data"]["viewer"]["login"])
