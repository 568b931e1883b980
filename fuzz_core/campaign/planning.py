"""From the store to a plan file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fuzz_core.campaign.session import Session
from fuzz_core.execution.scratch import explained
from fuzz_core.mutation.registry import STRIDED_ONLY
from fuzz_core.oracles.contract import ORACLES
from fuzz_core.store.records import Body
from fuzz_core.worker.plan import Header, write_plan


def make_plan(
    session: Session,
    path: Path,
    rows: Iterable[Body],
    *,
    seed: int,
    oracles: Sequence[str] = ("crash",),
    disabled: Sequence[str] = (),
    mutating: bool = True,
) -> None:
    """Writes the plan for these invocations; `mutating` false leaves the argument value space out."""
    apis = session.store.apis(session.target.key)
    params = {api.name: list(api.params) for api in apis}
    space = _space(session) if mutating else {"values": {}, "apis": [], "tensors": {}}
    similarity = session.store.similarity(session.target.key) if mutating else ()
    off = sorted({*disabled, *(() if session.dialect.strided else STRIDED_ONLY)})
    constraints = session.store.constraints(session.target.key) if "bounds" in oracles else ()
    documented = [constraint.to_json() for constraint in constraints]
    header = Header(session.target.library, seed, list(oracles), off, params, space, documented)
    with explained(path.parent):
        write_plan(path, header, ((row.id, row.api, row.body) for row in rows), similarity)


def make_replay_plan(session: Session, path: Path) -> None:
    """Writes a plan without invocations, for workers that are given test cases and judge them by all oracles."""
    make_plan(session, path, (), seed=0, oracles=tuple(ORACLES), mutating=False)


def _space(session: Session) -> dict[str, Any]:
    store, target = session.store, session.target.key
    return {
        "values": store.argument_space(target),
        "apis": store.similar_apis(target),
        "tensors": store.tensor_space(target),
    }
