"""`nightfuzz moco`: what is known of the apis of models, which programs grow, and the trees on record."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

from fuzz_core.campaign.moco.judge import done
from fuzz_core.campaign.moco.knowledge import kept_in, made
from fuzz_core.campaign.moco.seeds import RefusedProgram, SeedProgram
from fuzz_core.campaign.moco.seeds import seeds as seed_programs
from fuzz_core.cli.output import CommandOutput, Report, TextTable
from fuzz_core.cli.session import session_of
from fuzz_core.cli.settings import Settings, check
from fuzz_core.cli.state import read_state
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.files import write_whole
from fuzz_core.modelgen.moco.facts import Knowledge
from fuzz_core.modelgen.moco.kinds import kind_of
from fuzz_core.modelgen.moco.knowledge.authors import AuthorsFiles
from fuzz_core.modelgen.moco.knowledge.llm import ChatExtractor
from fuzz_core.modelgen.moco.picture import mermaid


def knowledge(settings: Settings, output: CommandOutput, time: str | None, wheel: Path | None) -> Report:
    """Learns what there is to know of the target's apis, and says how much of it is known."""
    seconds = None if time is None else check({}, {"time": time}).time
    with session_of(settings, output) as session:
        # Before the experiments, which take minutes.
        files = None if settings.knowledge_import is None else AuthorsFiles(settings.knowledge_import)
        chat = _chat(settings, session.target.library)
        found = made(session, seconds, wheel, [each for each in (files, chat) if each is not None])
        figures = {"file": str(kept_in(session)), **_figures(found)}
    if files is not None:
        figures["files imported"] = len(files.used)
        figures["files of no api that is known here"] = len(files.known) - len(files.used)
    if chat is not None:
        figures["apis that the model of language was asked about"] = chat.asked
        figures["answers of its that were not in the form asked for"] = chat.unread
    return Report(figures, [f"{name}: {value}" for name, value in figures.items()])


def _chat(settings: Settings, library: str) -> ChatExtractor | None:
    """The language model to ask, None where the settings name none. Raises UserError where it is of no use."""
    if settings.llm_endpoint is None or settings.llm_model is None:
        if (settings.llm_endpoint, settings.llm_model, settings.llm_key_variable) != (None, None, None):
            raise UserError("a model of language needs an address and a name", "give both llm_endpoint and llm_model")
        return None
    variable = settings.llm_key_variable
    key = os.environ.get(variable, "").strip() if variable else ""
    if variable and not key:
        # A word that may be a key in the wrong place is not repeated.
        raise UserError(
            "the environment variable that llm_key_variable names is not set",
            "put the key into it, and only the variable's name into llm_key_variable",
        )
    chat = ChatExtractor(settings.llm_endpoint, settings.llm_model, library, key)
    chat.check()
    return chat


def _figures(knowledge: Knowledge) -> dict[str, Any]:
    facts = knowledge.apis.values()
    return {
        "apis": len(knowledge.apis),
        "with an example that works": sum(bool(each.returns) for each in facts),
        "with a documented bound": sum(any(p.bounds or p.choices for p in each.parameters) for each in facts),
        "with a relation between parameters": sum(bool(each.relations) for each in facts),
        "definitions compared by": knowledge.embedding or "their words",
        "left for the next time": len(knowledge.unfinished),
    }


def seeds(settings: Settings, output: CommandOutput) -> Report:
    """Lists the seed programs, how many blocks each has, and why others are refused."""
    with session_of(settings, output) as session:
        rows = [_seed(each) for each in seed_programs(session, settings.models)]
    data = [dict(zip(("program", "style", "blocks", "refused"), row, strict=True)) for row in rows]
    return Report(data, [TextTable(["program", "style", "blocks", "refused because"], rows)])


def _seed(each: SeedProgram | RefusedProgram) -> tuple[str, str, int, str]:
    if isinstance(each, RefusedProgram):
        return each.name, "", 0, each.reason
    program = each.program
    return program.name, program.style, len(program.blocks) - len(program.template.head), ""


def tree(settings: Settings, output: CommandOutput, number: int | None, draw: Path | None) -> Report:
    """Lists the trees on record, describes one, or draws it."""
    with read_state(settings) as store:
        trees = store.trees() if number is None else [store.tree(number)]
        nodes = store.tree_nodes(number) if number is not None else []
    if draw is not None:
        if number is None:
            raise UserError("which tree is to be drawn?", "name its number: `nightfuzz moco tree` lists them")
        try:
            write_whole(draw, mermaid(nodes, f"{trees[0].program} on {trees[0].target}"))
        except OSError as error:
            raise UserError(f"{draw} cannot be written: {error.strerror}", "name another file") from error
        return Report([row._asdict() for row in trees])
    if not nodes:
        rows = [[row.id, row.target, row.program, row.nodes, row.pending] for row in trees]
        table = TextTable(["tree", "target", "program", "nodes", "waiting"], rows)
        return Report([row._asdict() for row in trees], [table])
    counts = Counter((node.operator, node.state or "waiting") for node in nodes)
    tables = [TextTable(["operator", "state", "nodes"], [[*each, count] for each, count in sorted(counts.items())])]
    found = [[node.number, node.line, done(node), kind_of(node), node.why] for node in nodes if kind_of(node)]
    if found:
        tables.append(TextTable(["node", "line", "what was done", "kind", "what was found"], found))
    # How many nodes are of each state, and how many findings of each of the paper's four kinds.
    states, kinds = Counter(node.state for node in nodes), Counter(kind for kind in map(kind_of, nodes) if kind)
    return Report([{**row._asdict(), "states": states, "kinds": kinds} for row in trees], tables)
