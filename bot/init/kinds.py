"""The workflows that `nightfuzz init` can write."""

from __future__ import annotations

from typing import Literal, get_args

Workflow = Literal["nightly", "pull-request", "bump", "manual", "report", "commands"]
WORKFLOWS: tuple[Workflow, ...] = get_args(Workflow)
