"""Who a job is to GitHub, and whose keys it holds, out of its inputs."""

from __future__ import annotations

from pydantic import SecretStr

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.action.inputs import Inputs
from nightfuzz.bot.github.auth import AppAuth, Auth, TokenAuth
from nightfuzz.bot.github.redaction import Secret
from nightfuzz.bot.state.private import Keys


def auth_of(inputs: Inputs) -> Auth:
    """Who writes to the user's own repository. Raises UserError where nobody may."""
    if inputs.app_id is not None and inputs.app_private_key is not None:
        return AppAuth(str(inputs.app_id), _secret(inputs.app_private_key))
    if inputs.github_token is None:
        raise UserError("there is no token", "add `github-token: ${{ github.token }}` to the step's inputs")
    return TokenAuth(_secret(inputs.github_token))


def auth_elsewhere(inputs: Inputs) -> Auth | None:
    """Who files in the libraries' own repositories; None where nobody may."""
    return None if inputs.upstream_token is None else TokenAuth(_secret(inputs.upstream_token))


def keys_of(inputs: Inputs) -> Keys:
    """Who private bugs are encrypted for, and who reads them."""
    recipients = (inputs.private_recipient,) if inputs.private_recipient else ()
    return Keys(recipients, None if inputs.private_identity is None else _secret(inputs.private_identity))


def _secret(given: SecretStr) -> Secret:
    return Secret(given.get_secret_value())
