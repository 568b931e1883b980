"""The GitHub server of the bot's tests: one server per test process, one repository per test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import githubserver
import pytest


@pytest.fixture(scope="session")
def github_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[githubserver.Server]:
    """A GitHub server (npm's emulate); skips the test if it is not installed and npm's registry can't be reached."""
    try:
        githubserver.installed("emulate", githubserver.EMULATE)
    except githubserver.MissingPartError as error:
        pytest.skip(f"npm's emulate {githubserver.EMULATE} is missing: {error}")
    with githubserver.github_server(tmp_path_factory.mktemp("github")) as server:
        yield server


@pytest.fixture
def github_repo(github_server: githubserver.Server) -> githubserver.Repository:
    """A fresh repository with one commit."""
    return github_server.repository()


@pytest.fixture(scope="session")
def github_openapi() -> Path:
    """GitHub's published description of its API."""
    try:
        return githubserver.openapi()
    except githubserver.MissingPartError as error:
        pytest.skip(f"npm's @octokit/openapi {githubserver.OPENAPI} is missing: {error}")
