"""The GitHub server of the bot's tests: one per test process, a repository of its own per test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import githubserver
import pytest


@pytest.fixture(scope="session")
def github_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[githubserver.Server]:
    """A GitHub server (npm's emulate); skipped where it is not there and npm's registry can't be reached."""
    try:
        githubserver.installed("emulate", githubserver.EMULATE)
    except githubserver.MissingPartError as error:
        pytest.skip(f"npm's emulate {githubserver.EMULATE} is missing: {error}")
    with githubserver.github_server(tmp_path_factory.mktemp("github")) as server:
        yield server


@pytest.fixture
def github_repo(github_server: githubserver.Server) -> githubserver.Repository:
    """A fresh repository with one commit and nothing else."""
    return github_server.repository()


@pytest.fixture(scope="session")
def github_openapi() -> Path:
    """GitHub's published description of its API."""
    try:
        return githubserver.openapi()
    except githubserver.MissingPartError as error:
        pytest.skip(f"npm's @octokit/openapi {githubserver.OPENAPI} is missing: {error}")
