"""What is documented of the target's arguments: declared by the library, in its docstrings, in its refusals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fuzz_core.campaign.session import Session
from fuzz_core.collect.constraints.docstrings import from_docstring
from fuzz_core.collect.constraints.messages import from_message
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.errors import CodecError


def document(session: Session, apis: Sequence[Api], declared: Iterable[Any]) -> None:
    """Replaces what is on record of the target; `declared` are constraints as a worker sends them."""
    told = [constraint for api in apis for constraint in from_docstring(api)]
    session.store.save_constraints(session.target.key, [*_readable(session, declared), *told])


def _readable(session: Session, declared: Iterable[Any]) -> Iterator[Constraint]:
    for data in declared:
        try:
            yield Constraint.from_json(data)
        except CodecError as error:
            session.watch.note(f"unreadable constraint from a worker dropped: {error}")


def learn_refusals(session: Session) -> None:
    """Adds what the library's own exceptions about recorded invocations say of all calls."""
    store, target = session.store, session.target.key
    params = {api.name: api.params for api in store.apis(target)}
    refusals = store.refusals(target)
    found = [c for api, message in refusals for c in from_message(api, params.get(api, ()), message)]
    store.save_constraints(target, [*store.constraints(target), *found])
