"""Storage of the knowledge of a target, its sources, and whether a share of a run is long enough to learn it.

Knowledge is in a file that a person may correct, and in the state, which goes to other machines. The file counts.
Model programs grow in a share of a run, after the apis are learnt. If it would be too short, single apis have its time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fuzz_core.campaign.changes import changes_between
from fuzz_core.campaign.moco.study import learn, usual_seconds
from fuzz_core.campaign.session import Session
from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.moco.facts import Facts, Knowledge
from fuzz_core.modelgen.moco.knowledge.extraction import Extractor
from fuzz_core.modelgen.moco.knowledge.file import OtherVersionError, path_of, portable, read, write
from fuzz_core.modelgen.moco.knowledge.similarity import Encoder
from fuzz_core.programs.texts import grown_programs

FOLDER = "knowledge"


def kept_in(session: Session, build: str = "") -> Path:
    """Return the file of a build in the state directory; by default, of the session's target."""
    return path_of(session.state_dir / FOLDER, build or session.target.key)


def knowledge_of(session: Session, seconds: float | None = None) -> Knowledge:
    """Return the knowledge on file, or else learn it now.

    An interrupted course continues at the next call. On a new build, only apis that differ from the earlier build are
    learnt.

    Args:
        seconds: time for learning, from now on. None: the usual time, and only if there is no file.
    """
    kept = _kept(session, session.target.key)
    if kept is not None and (seconds is None or not kept.unfinished):
        # The file may be of a person, or older than the state's record of it.
        _record(session, kept)
        return kept
    deadline = None if seconds is None else session.clock() + seconds
    if kept is not None:
        left = set(kept.unfinished)
        taken = {name: each for name, each in kept.apis.items() if name not in left}
    else:
        taken = _unchanged(session)
    return made(session, deadline=deadline, taken=taken)


def made(
    session: Session,
    seconds: float | None = None,
    encoder: Encoder | None = None,
    extractors: Sequence[Extractor] = (),
    *,
    deadline: float | None = None,
    taken: Mapping[str, Facts] = {},
) -> Knowledge:
    """Learn, and save the knowledge.

    The arguments are those of `learn`.
    """

    def keep(knowledge: Knowledge) -> None:
        write(knowledge, kept_in(session))
        _record(session, knowledge)

    found = learn(session, encoder, extractors, seconds=seconds, deadline=deadline, taken=taken, keep=keep)
    keep(found)
    return found


def _is_kept(session: Session, build: str) -> bool:
    return kept_in(session, build).exists() or build in session.store.builds_known()


def _kept(session: Session, build: str) -> Knowledge | None:
    path = kept_in(session, build)
    if path.exists():
        try:
            return read(path)
        except OtherVersionError as error:
            session.watch.note(f"{error.problem}; nightfuzz learns the facts again")
    known = session.store.knowledge(build)
    return None if known is None else _travelling(session, known)


def _record(session: Session, knowledge: Knowledge) -> None:
    session.store.save_knowledge(session.target.key, _travelling(session, knowledge))


def _travelling(session: Session, knowledge: Knowledge) -> Knowledge:
    """Return knowledge that may go from machine to machine.

    Apis that lose their example are to be learnt again.
    """
    roots = {statement.split()[-1].partition(".")[0] for statement in session.dialect.imports} - {"np"}
    apis = {name: each for name, facts in knowledge.apis.items() if (each := portable(facts, roots)) is not None}
    lost = {name for name, each in apis.items() if each.inputs != knowledge.apis[name].inputs}
    unfinished = sorted({*knowledge.unfinished, *lost} & apis.keys())
    return knowledge.model_copy(update={"apis": apis, "unfinished": tuple(unfinished)})


def _earlier(session: Session) -> str | None:
    """Return the newest other build of the library that there is knowledge of."""
    own = session.target
    builds = [each.key for each in session.store.targets() if each.library == own.library and each.key != own.key]
    return next((build for build in reversed(builds) if _is_kept(session, build)), None)


def _unchanged(session: Session) -> dict[str, Facts]:
    """Return facts from experiments on an earlier build, for apis that are unchanged in this build."""
    build = _earlier(session)
    if build is None:
        return {}
    try:
        kept = _kept(session, build)
    except UserError as error:
        session.watch.note(f"{error.problem}; nightfuzz takes no fact from that file ({error.remedy})")
        return {}
    assert kept is not None
    store, target = session.store, session.target.key
    changed_apis = changes_between(store, build, target).changed_apis | set(kept.unfinished)
    same = {api.name for api in store.apis(target)} - changed_apis
    return {name: each for name, each in kept.apis.items() if name in same}


# The largest share of the time for growing models that learning about apis may take.
KNOWING_SHARE = 0.5
# A shorter time is too short to take programs apart and to begin processes.
LEAST_SECONDS = 60.0
# The share of the usual time for experiments that has to fit as well; the following nights learn the remaining apis.
LEAST_KNOWING = 1 / 6


def hindrance(session: Session, models: Sequence[Path], seconds: float) -> str:
    """Return why no model programs grow in a share of so many seconds; empty if they do.

    Args:
        models: directories of the user's programs.
    """
    library = session.target.library
    if not models and next(grown_programs(library), None) is None:
        return f"there is none for {library}"
    # Knowledge of an earlier build of the library counts.
    known = _is_kept(session, session.target.key) or _earlier(session) is not None
    least = LEAST_SECONDS if known else LEAST_SECONDS + usual_seconds(session) * LEAST_KNOWING
    if seconds >= least:
        return ""
    learning = "" if known else ", as its apis are to be learnt first (`nightfuzz moco knowledge` does it once)"
    return f"they would have {seconds:.0f} s and need {least:.0f}{learning}"
