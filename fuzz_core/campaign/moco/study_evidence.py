"""The evidence of a target's apis: its inventory, and what the state file has of recorded calls and refusals."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace

from fuzz_core.campaign.inventory import Inventory, take_inventory
from fuzz_core.campaign.session import Session
from fuzz_core.collect.constraints.docstrings import from_docstring
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.codec import decode_invocation
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.errors import CodecError, NightfuzzError
from fuzz_core.ir.values import Invocation, Tensor, Value
from fuzz_core.modelgen.moco.knowledge.extraction import ApiEvidence, Spell, homes, of_homes
from fuzz_core.triage.script import Writer

MAX_CALLS, MAX_DOC = 400, 100_000
# How a call of an instance begins in the stored text of an invocation.
_APPLIED = '["__call__",['


def gathered(session: Session) -> list[ApiEvidence]:
    """Return the evidence of every api that models are made of, by name.

    Raises:
        NightfuzzError: the target cannot list its apis.
    """
    listed = inventory(session)
    applied = session.store.apis_with(session.target.key, _APPLIED)
    chosen = list(of_homes(listed.apis, homes(listed.apis, applied)))
    said = (constraint for api in chosen for constraint in from_docstring(api))
    calls = _calls(session, {api.name for api in chosen})
    refusals: defaultdict[str, list[str]] = defaultdict(list)
    for name, message in session.store.refusals(session.target.key):
        refusals[name].append(message)
    constraints: defaultdict[str, list[Constraint]] = defaultdict(list)
    for constraint in (*listed.declared, *said):
        constraints[constraint.api].append(constraint)
    spell = _remembering(Writer(session.dialect).source)
    return [ApiEvidence(api, constraints[api.name], calls[api.name], spell, refusals[api.name]) for api in chosen]


def inventory(session: Session) -> Inventory:
    """Ask the target for its apis and their documentation, which the state file does not keep."""
    target = session.target
    with Zygote(target.python, target.library, "list", None, session.stopped) as zygote:
        found = take_inventory(session, zygote)
    return replace(found, apis=[api._replace(doc=api.doc[:MAX_DOC]) for api in found.apis])


def _remembering(spell: Spell) -> Spell:
    """Cache spellings: large tensors are slow to write, and equal ones come again and again."""
    known: dict[Tensor, str] = {}

    def spelled(value: Value) -> str:
        if not isinstance(value, Tensor):
            return spell(value)
        if value not in known:
            known[value] = spell(value)
        return known[value]

    return spelled


def _calls(session: Session, chosen: set[str]) -> defaultdict[str, list[Invocation]]:
    """Return recorded calls by api, of each the first MAX_CALLS, those of instances before constructions alone."""
    found: defaultdict[str, list[Invocation]] = defaultdict(list)
    for number, api, body in session.store.samples(session.target.key, chosen, _APPLIED, MAX_CALLS):
        try:
            found[api].append(decode_invocation(json.loads(body)))
        except CodecError as error:
            raise NightfuzzError(f"invocation {number} of the state cannot be read: {error}") from error
    return found
