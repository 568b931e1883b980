"""The inventory of a target: what its library has, as a worker lists it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fuzz_core.campaign.session import Session
from fuzz_core.execution.zygote import Job, Zygote, run_jobs
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.errors import CodecError, NightfuzzError
from fuzz_core.ir.wire import ListedApi, ListedConstraint, ListedPackage, entry_in

INVENTORY_SECONDS = 120.0


@dataclass
class Inventory:
    """The apis of a target and the declared constraints of their arguments.

    A zygote that traces also lists the library's folders and the seeds of its test databases.
    """

    apis: list[Api] = field(default_factory=list)
    declared: list[Constraint] = field(default_factory=list)
    packages: dict[str, Path] = field(default_factory=dict)
    programs: list[tuple[str, str]] = field(default_factory=list)


def take_inventory(session: Session, zygote: Zygote) -> Inventory:
    """Ask a target for its inventory; an entry that cannot be read is left out with a note.

    Raises:
        NightfuzzError: the target cannot list its apis.
    """
    result = next(run_jobs(zygote, [Job("inventory", {}, INVENTORY_SECONDS)]), None)
    if result is None or not result.complete:
        reason = result.outcome.text if result is not None else ""
        raise NightfuzzError(f"the target cannot list its apis: {reason}\n{zygote.log()}")
    found = Inventory()
    for message in result.messages[:-1]:
        try:
            _add(found, message)
        except CodecError as error:
            session.watch.note(f"unreadable entry of the inventory left out: {error}")
    return found


def _add(found: Inventory, message: Mapping[str, object]) -> None:
    match entry_in(message):
        case ListedApi(api):
            found.apis.append(api)
        case ListedConstraint(constraint):
            found.declared.append(constraint)
        case ListedPackage((name, folder)):
            found.packages[name] = Path(folder)
        case program:
            found.programs.append(program.program)
