"""What `nightfuzz moco` does."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from fuzz_core.campaign.moco.judging import done
from fuzz_core.campaign.moco.knowledge import kept_in, made
from fuzz_core.campaign.moco.seeds import Refused, Seed, seeds
from fuzz_core.cli.config import Settings
from fuzz_core.cli.display import table
from fuzz_core.cli.state import state_file
from fuzz_core.cli.work import session_of
from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.moco.drawing import svg
from fuzz_core.modelgen.moco.facts import Knowledge
from fuzz_core.modelgen.moco.kinds import kind_of
from fuzz_core.modelgen.moco.knowledge.authors import AuthorsFiles
from fuzz_core.modelgen.moco.knowledge.llm import ChatExtractor
from fuzz_core.modelgen.moco.nodes import Node
from fuzz_core.store.opening import open_store


class Others(NamedTuple):
    """Who is asked for what is not known yet, where the settings name them."""

    files: AuthorsFiles | None
    chat: ChatExtractor | None

    def told(self) -> dict[str, int]:
        """What came of it, where there is anything to tell."""
        told = {}
        if self.files is not None:
            told["files imported"] = len(self.files.used)
            told["files of no api that is known here"] = len(self.files.known) - len(self.files.used)
        if self.chat is not None:
            told["apis that the model of language was asked about"] = self.chat.asked
            told["answers of its that were not in the form asked for"] = self.chat.unread
        return told


def knowledge_command(
    settings: Settings, console: Console, seconds: float | None, wheel: Path | None, as_json: bool
) -> int:
    """Learns what there is to know of the target's apis, and says how much of it is known."""
    with session_of(settings, console, as_json) as session:
        # Before the experiments, which take minutes.
        others = asked_others(settings, session.target.library, os.environ)
        found = made(session, seconds, wheel, [each for each in others if each is not None])
        told = {"file": str(kept_in(session)), **_figures(found), **others.told()}
    if as_json:
        console.print_json(json.dumps(told))
    else:
        lines = [f"{name}: {value}" for name, value in told.items()]
        console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
    return 0


def asked_others(settings: Settings, library: str, environment: Mapping[str, str]) -> Others:
    """The files to import and the model of language to ask. Raises UserError where one of them is of no use."""
    files = None if settings.knowledge_import is None else AuthorsFiles(settings.knowledge_import)
    if settings.llm_endpoint is None or settings.llm_model is None:
        if (settings.llm_endpoint, settings.llm_model, settings.llm_key_variable) != (None, None, None):
            raise UserError("a model of language needs an address and a name", "give both llm_endpoint and llm_model")
        return Others(files, None)
    key = _key(settings.llm_key_variable, environment)
    chat = ChatExtractor(settings.llm_endpoint, settings.llm_model, library, key)
    chat.check()
    return Others(files, chat)


def _key(variable: str | None, environment: Mapping[str, str]) -> str:
    """The key itself, empty where none is needed. What may be a key in the wrong place is not repeated."""
    if variable is None:
        return ""
    key = environment.get(variable, "").strip()
    if not key:
        raise UserError(
            "the environment variable that llm_key_variable names is not set",
            "put the key into it, and only the variable's name into llm_key_variable",
        )
    return key


def _figures(knowledge: Knowledge) -> dict[str, Any]:
    facts = knowledge.apis.values()
    return {
        "apis": len(knowledge.apis),
        "with an example that works": sum(bool(each.returns) for each in facts),
        "with a documented bound": sum(any(p.bounds or p.choices for p in each.parameters) for each in facts),
        "with a relation between parameters": sum(bool(each.relations) for each in facts),
        "definitions compared by": knowledge.embedding or "nothing",
        "left for the next time": len(knowledge.unfinished),
    }


def seeds_command(settings: Settings, console: Console, as_json: bool) -> int:
    """Lists the seed programs, how many blocks each has, and why others are refused."""
    with session_of(settings, console, as_json) as session:
        every = list(seeds(session, settings.models))
    rows = [_seed(each) for each in every]
    if as_json:
        console.print_json(
            json.dumps([dict(zip(("program", "style", "blocks", "refused"), row, strict=True)) for row in rows])
        )
    else:
        table(console, ["program", "style", "blocks", "refused because"], [list(row) for row in rows])
    return 0


def _seed(each: Seed | Refused) -> tuple[str, str, int, str]:
    if isinstance(each, Refused):
        return each.name, "", 0, each.reason
    program = each.program
    return program.name, program.style, len(program.blocks) - len(program.template.head), ""


def trees_command(settings: Settings, console: Console, number: int | None, picture: Path | None, as_json: bool) -> int:
    """Lists the trees on record, tells of one, or draws it."""
    with open_store(state_file(settings), read_only=True) as store:
        trees = store.trees() if number is None else [store.tree(number)]
        nodes = store.tree_nodes(number) if number is not None else []
    if picture is not None:
        if number is None:
            raise UserError("which tree is to be drawn?", "name its number: `nightfuzz moco tree` lists them")
        _write(picture, svg(nodes, f"{trees[0].program} on {trees[0].target}"))
        return 0
    told = [
        {**row._asdict(), "states": Counter(node.state for node in nodes), "kinds": _kinds(nodes)}
        if nodes
        else row._asdict()
        for row in trees
    ]
    if as_json:
        console.print_json(json.dumps(told))
    elif nodes:
        _tell(console, nodes)
    else:
        rows: list[list[object]] = [[row.id, row.target, row.program, row.nodes, row.pending] for row in trees]
        table(console, ["tree", "target", "program", "nodes", "waiting"], rows)
    return 0


def _kinds(nodes: Sequence[Node]) -> Counter[str]:
    """How many findings are of each of the paper's four kinds."""
    return Counter(kind for kind in map(kind_of, nodes) if kind)


def _tell(console: Console, nodes: Sequence[Node]) -> None:
    counts = Counter((node.operator, node.state or "waiting") for node in nodes)
    table(console, ["operator", "state", "nodes"], [[*each, count] for each, count in sorted(counts.items())])
    found = [[node.number, node.line, done(node), kind_of(node), node.why] for node in nodes if kind_of(node)]
    if found:
        table(console, ["node", "line", "what was done", "kind", "what was found"], found)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}", "name another file") from error
