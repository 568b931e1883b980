"""`nightfuzz moco`: what is known of the apis of models, which programs grow, and the trees on record."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzz_core.campaign.moco.engine import take_apart
from fuzz_core.campaign.moco.knowledge import kept_in, made
from fuzz_core.campaign.moco.plot import RefusedProgram
from fuzz_core.cli.output import CommandOutput, Report, TextTable
from fuzz_core.cli.session import session_of
from fuzz_core.cli.settings import Settings, check
from fuzz_core.cli.state import read_state
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.files import write_whole
from fuzz_core.modelgen.moco.facts import Knowledge
from fuzz_core.modelgen.moco.knowledge.authors import AuthorsFiles
from fuzz_core.modelgen.moco.nodes import kind_of, mutation_in_words
from fuzz_core.modelgen.moco.picture import mermaid
from fuzz_core.modelgen.moco.program import Program

if TYPE_CHECKING:
    from fuzz_core.modelgen.moco.knowledge.llm import ChatExtractor, Embeddings

_LABELS = {
    "file": "file",
    "apis": "apis",
    "examples": "apis with a working example",
    "bounds": "apis with a documented bound",
    "relations": "apis with a relation between parameters",
    "compared_by": "definitions compared by",
    "unfinished": "apis left for the next time",
    "imported": "files imported",
    "imported_unknown": "files of unknown apis",
    "asked": "apis that the language model was asked about",
    "unread": "answers of the language model in a wrong form",
}


def knowledge(settings: Settings, output: CommandOutput, time: str | None) -> Report:
    """Learn what there is to know of the target's apis, and say how much of it is known."""
    seconds = None if time is None else check({}, {"time": time}).time
    with session_of(settings, output) as session:
        # Before the experiments, which take minutes.
        files = None if settings.knowledge_import is None else AuthorsFiles(settings.knowledge_import)
        chat, embeddings = _models(settings, session.target.library)
        found = made(session, seconds, embeddings, [each for each in (files, chat) if each is not None])
        figures = {"file": str(kept_in(session)), **_figures(found)}
    if files is not None:
        figures["imported"] = len(files.used)
        figures["imported_unknown"] = len(files.known) - len(files.used)
    if chat is not None:
        figures["asked"] = chat.asked
        figures["unread"] = chat.unread
    return Report(figures, [f"{_LABELS[key]}: {value}" for key, value in figures.items()])


def _models(settings: Settings, library: str) -> tuple[ChatExtractor | None, Embeddings | None]:
    """Return the models that the settings name, each of which has answered once.

    Raises:
        UserError: a model cannot be used.
    """
    endpoint, names = settings.llm_endpoint, (settings.llm_model, settings.llm_embedding_model)
    if endpoint is None or names == (None, None):
        if (endpoint, settings.llm_key_variable, *names) != (None,) * 4:
            remedy = "set llm_endpoint, and llm_model or llm_embedding_model as well; or leave out all llm_ settings"
            missing = "llm_endpoint" if endpoint is None else "llm_model or llm_embedding_model"
            raise UserError(f"the settings of the language model are incomplete: {missing} is not set", remedy)
        return None, None
    try:
        from fuzz_core.modelgen.moco.knowledge.llm import ChatExtractor, Embeddings, ModelServer
    except ImportError as error:
        raise UserError(
            f"a language model needs the package {error.name}, which is not installed",
            "install it: pip install 'nightfuzz[knowledge]'",
        ) from error
    variable = settings.llm_key_variable
    key = os.environ.get(variable, "").strip() if variable else ""
    if variable and not key:
        # A word that may be a key in the wrong place is not repeated.
        raise UserError(
            "llm_key_variable names an environment variable that is not set or is empty",
            "export the variable with the key as its value, and write only the variable's name into llm_key_variable",
        )
    server = ModelServer(endpoint, key)
    chat = None if names[0] is None else ChatExtractor(server, names[0], library)
    embeddings = None if names[1] is None else Embeddings(server, names[1])
    if chat is not None:
        chat.check()
    if embeddings is not None:
        embeddings(["a layer"])
    return chat, embeddings


def _figures(knowledge: Knowledge) -> dict[str, Any]:
    facts = knowledge.apis.values()
    return {
        "apis": len(knowledge.apis),
        "examples": sum(bool(each.returns) for each in facts),
        "bounds": sum(any(p.bounds or p.choices for p in each.parameters) for each in facts),
        "relations": sum(bool(each.relations) for each in facts),
        "compared_by": knowledge.embedding or "their words",
        "unfinished": len(knowledge.unfinished),
    }


def seeds(settings: Settings, output: CommandOutput) -> Report:
    """Run the seed programs and list them: how many blocks each has, and why others are refused."""
    with session_of(settings, output) as session:
        rows = [_seed(each) for each in take_apart(session, settings.models)]
    data = [dict(zip(("program", "style", "blocks", "refused"), row, strict=True)) for row in rows]
    return Report(data, [TextTable(["program", "style", "blocks", "refused because"], rows)])


def _seed(each: Program | RefusedProgram) -> tuple[str, str, int, str]:
    if isinstance(each, RefusedProgram):
        return each.name, "", 0, each.reason
    return each.name, each.style, len(each.blocks) - len(each.template.head), ""


def tree(settings: Settings, output: CommandOutput, number: int | None, draw: Path | None) -> Report:
    """List the trees on record, describe one, or draw it."""
    with read_state(settings) as store:
        trees = store.trees() if number is None else [store.tree(number)]
        nodes = store.tree_nodes(number) if number is not None else []
    if draw is not None:
        if number is None:
            raise UserError("--draw needs the number of a tree", "add a number that `nightfuzz moco tree` lists")
        try:
            write_whole(draw, mermaid(nodes, f"{trees[0].program} on {trees[0].target}"))
        except OSError as error:
            raise UserError(f"cannot write {draw}: {error.strerror}", "name another file with --draw") from error
        return Report([row._asdict() for row in trees])
    if not nodes:
        rows = [[row.id, row.target, row.program, row.nodes, row.pending] for row in trees]
        table = TextTable(["tree", "target", "program", "nodes", "waiting"], rows)
        return Report([row._asdict() for row in trees], [table])
    counts = Counter((node.operator, node.state or "waiting") for node in nodes)
    tables = [TextTable(["operator", "state", "nodes"], [[*each, count] for each, count in sorted(counts.items())])]
    found = [
        [node.number, node.line, mutation_in_words(node), kind_of(node), node.why] for node in nodes if kind_of(node)
    ]
    if found:
        tables.append(TextTable(["node", "line", "what was done", "kind", "what was found"], found))
    # How many nodes are of each state, and how many findings of each of the paper's four kinds.
    states, kinds = Counter(node.state for node in nodes), Counter(kind for kind in map(kind_of, nodes) if kind)
    return Report([{**row._asdict(), "states": states, "kinds": kinds} for row in trees], tables)
