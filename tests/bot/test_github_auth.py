"""The bot's identity on GitHub, and the secrecy of its credentials."""

from __future__ import annotations

import base64
import copy
import json
import logging
import pickle
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import faultproxy
import githubserver
import pytest
from clocks import FakeTime
from githubserver import APP, INSTALLATION, Repository
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.github.auth import PUBLIC_API, AppAuth, TokenAuth, api_address, from_environment
from nightfuzz.bot.github.budget import Budget, RateLimits
from nightfuzz.bot.github.errors import RefusedError
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.github.marker import Marker
from nightfuzz.bot.github.redaction import HIDDEN, Secret, scrub, scrub_logs

TOKENS = f"/app/installations/{INSTALLATION}/access_tokens"


@pytest.fixture
def proxy(github_repo: Repository) -> Iterator[faultproxy.Proxy]:
    with faultproxy.fault_proxy(github_repo.server.url, faultproxy.Plan(1, {})) as running:
        yield running


@pytest.fixture
def app(github_repo: Repository) -> AppAuth:
    # On this server, a token without a list of permissions has none; on GitHub, such a token has all of the app's.
    return AppAuth(str(APP), Secret(github_repo.server.private_key), {"issues": "write"})


def opened(proxy: faultproxy.Proxy, repo: Repository, auth: TokenAuth | AppAuth) -> Hub:
    time = FakeTime()
    return Hub.open(auth, repo.name, proxy.url, budget=Budget(time.clock, time.sleep, RateLimits(in_all=1e9)))


def asked_for_tokens(proxy: faultproxy.Proxy) -> list[str]:
    """Returns the tokens that the server gave out."""
    given = [seen for seen in proxy.seen if seen.url.endswith(TOKENS)]
    return [json.loads(seen.answer)["token"] for seen in given if seen.answer.startswith('{"token"')]


def test_an_app_writes_under_its_own_name(proxy: faultproxy.Proxy, github_repo: Repository, app: AppAuth) -> None:
    hub = opened(proxy, github_repo, app)
    assert hub.login() == "nightfuzz-app[bot]"
    made = hub.create_issue(Marker("bug", "0" * 32), "t", "b")
    assert made.author == hub.login()
    assert opened(proxy, github_repo, app).create_issue(Marker("bug", "0" * 32), "t", "b").number == made.number


def test_an_app_finds_its_installation(proxy: faultproxy.Proxy, github_repo: Repository, app: AppAuth) -> None:
    opened(proxy, github_repo, app).issues()
    assert any(seen.url.endswith(f"{github_repo.name}/installation") for seen in proxy.seen)
    assert asked_for_tokens(proxy)


def test_a_token_is_asked_for_once(proxy: faultproxy.Proxy, github_repo: Repository, app: AppAuth) -> None:
    hub = opened(proxy, github_repo, app)
    for _ in range(3):
        hub.issues()
    assert len(asked_for_tokens(proxy)) == 1


def test_a_token_that_ends_is_renewed_under_way(proxy: faultproxy.Proxy, github_repo: Repository, app: AppAuth) -> None:
    proxy.rewrite = lambda path, body: _ends(body, seconds=5) if path == TOKENS else body
    hub = opened(proxy, github_repo, app)
    hub.issues()
    before = len(asked_for_tokens(proxy))
    hub.issues()
    given = asked_for_tokens(proxy)
    assert len(given) > before
    assert len(set(given)) == len(given)


def _ends(body: bytes, seconds: int) -> bytes:
    end = datetime.now(UTC) + timedelta(seconds=seconds)
    return json.dumps({**json.loads(body), "expires_at": end.strftime("%Y-%m-%dT%H:%M:%SZ")}).encode()


def test_a_token_that_is_revoked_before_its_time_is_renewed_once(
    proxy: faultproxy.Proxy, github_repo: Repository, app: AppAuth
) -> None:
    hub = opened(proxy, github_repo, app)
    hub.issues()
    refuse = [1]
    denied = 401, {}, {"message": "Bad credentials"}
    proxy.instead = lambda verb, path: denied if path.endswith("/issues") and refuse and refuse.pop() else None
    assert hub.issues() == []
    assert len(asked_for_tokens(proxy)) == 2
    proxy.instead = lambda verb, path: denied if path.endswith("/issues") else None
    with pytest.raises(RefusedError, match="wrong, expired or revoked"):
        hub.issues()


@pytest.mark.parametrize("fault", ["5xx-before", "5xx-after", "cut-after", "truncated", "html", "secondary", "429"])
def test_faults_while_a_token_is_asked_for(
    proxy: faultproxy.Proxy, github_repo: Repository, app: AppAuth, fault: str
) -> None:
    hub = opened(proxy, github_repo, app)
    proxy.plan = faultproxy.Plan(1, {fault: 1}, density=1.0)
    assert hub.issues() == []
    assert proxy.injected == {fault: 1}
    assert TOKENS in proxy.seen[-2].url or TOKENS in proxy.seen[-3].url


def test_an_app_that_is_not_installed_says_so(proxy: faultproxy.Proxy, github_repo: Repository, app: AppAuth) -> None:
    missing = 404, {}, {"message": "Not Found"}
    proxy.instead = lambda verb, path: missing if path.endswith("/installation") else None
    with pytest.raises(UserError, match="is not installed on") as caught:
        opened(proxy, github_repo, app)
    assert "install it there" in caught.value.remedy


def test_an_app_with_another_key_is_refused(proxy: faultproxy.Proxy, github_repo: Repository, app: AppAuth) -> None:
    other = githubserver.private_key()
    with pytest.raises(RefusedError, match="HTTP 401"):
        opened(proxy, github_repo, app._replace(private_key=Secret(other)))


def test_nothing_of_it_shows_anywhere(
    proxy: faultproxy.Proxy, github_repo: Repository, app: AppAuth, caplog: pytest.LogCaptureFixture
) -> None:
    """At the most detailed log level and with faults, tokens, signed requests and keys show only where they belong."""
    scrub_logs()
    caplog.set_level(logging.DEBUG)
    token = TokenAuth(Secret(github_repo.token))
    proxy.plan = faultproxy.Plan(3, dict.fromkeys(faultproxy.ALL, 3), density=0.5)
    texts = []
    for auth in (token, app):
        hub = opened(proxy, github_repo, auth)
        hub.create_issue(Marker("bug", f"{len(texts):032x}"), "t", "b")
        texts += [repr(hub), str(auth), repr(auth), f"{auth}", hub.budget.text()]
    secrets = [github_repo.token, *asked_for_tokens(proxy), github_repo.server.private_key.splitlines()[5]]
    assert len(secrets) >= 3
    proxy.seen[:] = [seen for seen in proxy.seen if not seen.url.endswith(TOKENS)]
    assert proxy.leaks(*secrets, "eyJhbGciOi") == []
    said = caplog.text + "".join(texts)
    assert "GET" in said
    assert [secret for secret in [*secrets, "eyJhbGciOi"] if secret in said] == []


def test_errors_hold_no_token(proxy: faultproxy.Proxy, github_repo: Repository) -> None:
    echo = 403, {}, {"message": f"no: {github_repo.token}"}
    proxy.instead = lambda verb, path: echo if path.endswith("/issues") else None
    with pytest.raises(RefusedError) as caught:
        opened(proxy, github_repo, TokenAuth(Secret(github_repo.token))).issues()
    text = "".join(traceback.format_exception(caught.value))
    assert github_repo.token not in text
    assert HIDDEN in text


def test_a_secret_does_not_show() -> None:
    secret = Secret("correct horse battery staple")
    shown = [str(secret), repr(secret), f"{secret}", f"{secret:>40}", f"{secret!r}", "%s" % secret, str([secret])]  # noqa: UP031
    assert not any("horse" in text for text in shown)
    assert secret.reveal() == "correct horse battery staple"
    for copied in (pickle.dumps, copy.copy, json.dumps):
        with pytest.raises(TypeError):
            copied(secret)  # type: ignore[operator]


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz0123456789_-", min_size=4, max_size=60), st.text(), st.text())
def test_what_is_known_as_a_secret_is_scrubbed(value: str, before: str, after: str) -> None:
    secret = f"s3cr3t-{value}"
    Secret(secret)
    assert secret not in scrub(before + secret + after)


@pytest.mark.parametrize(
    "shape",
    ["ghp_" + "a1B2" * 9, "ghs_" + "0" * 36, "gho_" + "Zz" * 18, "github_pat_" + "11AB_" * 15,
     "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxMjMifQ.c2lnbmF0dXJl-_",
     "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----",
     "-----BEGIN PRIVATE KEY-----\nMIIE cut off"],
)  # fmt: skip
def test_what_looks_like_a_secret_is_scrubbed(shape: str) -> None:
    assert scrub(f"Authorization: Bearer {shape}") == f"Authorization: Bearer {HIDDEN}"


@pytest.mark.parametrize("text", ["", "ghost_writer", "torch.nn.Conv2d", "commit " + "a" * 40, "eyJ is no token"])
def test_other_texts_stay(text: str) -> None:
    assert scrub(text) == text


def test_logged_tracebacks_are_scrubbed(caplog: pytest.LogCaptureFixture) -> None:
    scrub_logs()
    token = "ghp_" + "q" * 36
    try:
        raise ValueError(token)
    except ValueError:
        logging.getLogger("anybody").exception("it was %s, %r", token, {"x": token})
    assert "anybody" in caplog.text
    assert "ValueError" in caplog.text
    assert token not in caplog.text


def test_the_environment_has_the_token() -> None:
    assert from_environment({"GITHUB_TOKEN": "ghs_x"}) != from_environment({"GITHUB_TOKEN": "ghs_y"})
    assert from_environment({"GITHUB_TOKEN": " ghp_abcdefgh \n"}).token.reveal() == "ghp_abcdefgh"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, "GITHUB_TOKEN is not set"), ("  ", "not set"), ("two words", "GITHUB_TOKEN is not a token"),
        ("tok\u00e9n", "GITHUB_TOKEN is not a token"), ("a\nb", "GITHUB_TOKEN is not a token"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_the_environment_is_said(value: str | None, problem: str) -> None:
    with pytest.raises(UserError, match=problem) as caught:
        from_environment({} if value is None else {"GITHUB_TOKEN": value})
    assert caught.value.remedy
    assert not (value and value.strip() and value in str(caught.value))


@pytest.mark.parametrize(
    ("environment", "option", "address"),
    [
        ({}, None, PUBLIC_API),
        ({"GITHUB_API_URL": "https://ghe.example.com/api/v3/"}, None, "https://ghe.example.com/api/v3"),
        ({"GITHUB_API_URL": "https://ghe.example.com/api/v3"}, "http://127.0.0.1:1", "http://127.0.0.1:1"),
    ],
)
def test_where_the_api_is(environment: dict[str, str], option: str | None, address: str) -> None:
    assert api_address(environment, option) == address


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ("api.github.com", "not a web address"), ("ftp://x", "not a web address"), ("https://", "not a web address"),
        ("https://x/?token=abc", "not a web address"), ("https://me:pass@x", "a user name or a password"),
        ("http://ghe.example.com", "without encryption"),
    ],
)  # fmt: skip
def test_odd_addresses_are_refused(option: str, problem: str) -> None:
    with pytest.raises(UserError, match=problem) as caught:
        api_address({}, option)
    assert "pass" not in caught.value.problem.replace("password", "")


def test_no_token_is_sent_in_the_open() -> None:
    with pytest.raises(UserError, match="without encryption"):
        Hub.open(TokenAuth(Secret("ghp_" + "x" * 36)), "a/b", "http://github.example.com/api/v3")


def test_a_signed_request_is_short_lived_and_says_who(proxy: faultproxy.Proxy, app: AppAuth) -> None:
    head, body, _ = app.app().token.split(".")
    said: dict[str, Any] = json.loads(base64.urlsafe_b64decode(body + "=="))
    assert json.loads(base64.urlsafe_b64decode(head + "=="))["alg"] == "RS256"
    assert said["iss"] == str(APP)
    assert said["exp"] - said["iat"] <= 600
