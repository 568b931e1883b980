"""The share of a run for model programs: when it pays, and the knowledge kept from night to night."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from signatures import api_of

from fuzz_core.campaign.moco import knowledge as keeping
from fuzz_core.campaign.moco.knowledge import hindrance, kept_in, knowledge_of
from fuzz_core.campaign.moco.study import learn
from fuzz_core.campaign.moco.study_subject import Course, probed
from fuzz_core.campaign.session import Session
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Invocation, Tensor
from fuzz_core.ir.wire import ModeRun
from fuzz_core.modelgen.moco.facts import Facts, Knowledge
from fuzz_core.modelgen.moco.knowledge.extraction import ApiEvidence
from fuzz_core.modelgen.moco.knowledge.file import write
from fuzz_core.store.records import TargetRecord

MINE = [Path("models")]
APIS = [api_of(f"lib.nn.L{number}(size=1)", "class", "A layer.") for number in range(40)]


class TickingClock:
    """A clock that advances with every reading."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def works(call: Invocation) -> ModeRun:
    return ModeRun(Outcome("ok"), Tensor("float32", (4, 4)))


def kept(session: Session, build: str, *apis: Api, unfinished: Sequence[str] = ()) -> None:
    facts = {each.name: Facts(api=each.name, definition="Corrected by hand.") for each in apis}
    knowledge = Knowledge(library="fakelib", build=build, unfinished=tuple(unfinished), apis=facts)
    write(knowledge, kept_in(session).with_name(f"{build}.yaml"))


def test_a_library_without_programs_has_no_share(fakelib_session: Session) -> None:
    assert hindrance(fakelib_session, [], 1e6) == "there is none for fakelib"


@pytest.mark.parametrize(("seconds", "told"), [(29, "they would have 29 s and need 80"), (79.9, "first"), (80, "")])
def test_a_share_that_has_to_learn_first_needs_more(fakelib_session: Session, seconds: float, told: str) -> None:
    assert told in hindrance(fakelib_session, MINE, seconds)
    assert bool(told) == bool(hindrance(fakelib_session, MINE, seconds))


@pytest.mark.parametrize("build", ["fakelib-1", "fakelib-0"])
def test_what_is_on_file_needs_less(fakelib_session: Session, build: str) -> None:
    fakelib_session.store.save_target(fakelib_session.target._replace(key="fakelib-0", version="0"))
    kept(fakelib_session, build)
    assert hindrance(fakelib_session, MINE, 60) == ""
    assert hindrance(fakelib_session, MINE, 59) == "they would have 59 s and need 60"


def test_other_libraries_do_not_count(fakelib_session: Session) -> None:
    fakelib_session.store.save_target(TargetRecord("other-1", "other", "other", "1", "python"))
    kept(fakelib_session, "other-1")
    assert "learnt first" in hindrance(fakelib_session, MINE, 60)


def test_what_the_time_leaves_out_is_unfinished_and_the_rest_is_whole(fakelib_session: Session) -> None:
    session = Session(
        fakelib_session.store, fakelib_session.target, fakelib_session.state_dir, 1, clock=TickingClock(0.01)
    )
    evidence = [ApiEvidence(api) for api in APIS]
    course = Course(100.0, session.clock() + 4.0, patient=True)
    found = probed(session, evidence, works, course)
    whole = [facts.api for facts in found.facts if facts.api not in found.unfinished]
    assert 0 < len(whole) < len(APIS) and found.unfinished
    assert all(facts.returns == "tensor" for facts in found.facts if facts.api in whole)
    again = Course(100.0, session.clock() + 1000.0, True, {each.api: each for each in found.facts if each.api in whole})
    rest = probed(session, evidence, works, again)
    assert rest.unfinished == () and [each.api for each in rest.facts] == [api.name for api in APIS]
    assert all(facts.returns == "tensor" for facts in rest.facts)


def test_impatient_experiments_look_for_calls_of_all_apis_first(fakelib_session: Session) -> None:
    asked: list[str] = []

    def run(call: Invocation) -> ModeRun:
        asked.append(call.api)
        return works(call)

    probed(fakelib_session, [ApiEvidence(api) for api in APIS], run, Course(1e6, 1e9 + fakelib_session.clock()))
    assert len(set(asked[: 4 * len(APIS)])) > len(APIS) / 2


def test_what_is_on_file_is_not_learnt_again(fakelib_session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(fakelib_session, "fakelib-1", APIS[0])
    monkeypatch.setattr(keeping, "learn", lambda *_, **__: pytest.fail("it is on file"))
    assert list(knowledge_of(fakelib_session, 10.0).apis) == [APIS[0].name]
    kept(fakelib_session, "fakelib-1", APIS[0], unfinished=["x"])
    assert knowledge_of(fakelib_session).unfinished == ("x",)


WINDOW = "fakelib.nn.Window"


def test_what_was_not_finished_is_gone_on_with(traced_session: Session) -> None:
    left = knowledge_of(traced_session, 0.0)
    assert WINDOW in left.unfinished and WINDOW in left.apis
    done = knowledge_of(traced_session, 60.0)
    assert done.unfinished == () and done.apis[WINDOW].returns == "tensor"
    assert knowledge_of(traced_session, 60.0) == done


def test_what_is_known_goes_with_the_state_without_the_file(
    traced_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = knowledge_of(traced_session, 0.0)
    kept_in(traced_session).unlink()
    assert hindrance(traced_session, MINE, 60) == ""
    assert knowledge_of(traced_session) == left
    done = knowledge_of(traced_session, 60.0)
    kept_in(traced_session).unlink()
    monkeypatch.setattr(keeping, "learn", lambda *_, **__: pytest.fail("it is in the state"))
    assert done.unfinished == () and knowledge_of(traced_session, 60.0) == done


def test_what_a_person_has_corrected_goes_with_the_state(traced_session: Session) -> None:
    [window] = [api for api in traced_session.store.apis(traced_session.target.key) if api.name == WINDOW]
    kept(traced_session, traced_session.target.key, window)
    told = knowledge_of(traced_session)
    kept_in(traced_session).unlink()
    assert knowledge_of(traced_session) == told and told.apis[WINDOW].definition == "Corrected by hand."


def test_what_cannot_be_told_to_other_machines_is_learnt_there(traced_session: Session) -> None:
    done = knowledge_of(traced_session, 60.0)
    strange = done.apis[WINDOW].model_copy(update={"example": {"size": "open('x')"}})
    corrected = done.model_copy(update={"apis": {**done.apis, WINDOW: strange, "os.system": Facts(api="os.system")}})
    traced_session.store.save_knowledge(traced_session.target.key, corrected)
    kept_in(traced_session).unlink()
    found = knowledge_of(traced_session)
    assert found.apis.keys() == done.apis.keys() and found.unfinished == (WINDOW,)
    assert (found.apis[WINDOW].example, found.apis[WINDOW].inputs) == ({}, ())
    assert knowledge_of(traced_session, 60.0).apis[WINDOW] == done.apis[WINDOW]


def test_a_new_build_learns_what_is_not_as_before(traced_session: Session) -> None:
    store, target = traced_session.store, traced_session.target
    [window] = [api for api in store.apis(target.key) if api.name == WINDOW]
    old = target._replace(key="fakelib-0", version="0")
    store.save_target(old)
    store.save_apis(old.key, store.apis(target.key))
    kept(traced_session, old.key, window)
    # The store holds a docstring as its digest. A digest of the stored text is another one, so the api counts as
    # changed.
    changed = knowledge_of(traced_session, 60.0)
    assert changed.apis[WINDOW].definition != "Corrected by hand."


def test_a_build_that_is_as_the_one_before_takes_over_what_that_showed(
    traced_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, target = traced_session.store, traced_session.target
    store.save_target(target._replace(key="fakelib-0", version="0"))
    store._db.execute(
        "INSERT INTO apis SELECT 'fakelib-0', name, kind, definition, params, aliases, doc FROM apis WHERE target = ?",
        (target.key,),
    )
    store._db.conn.commit()
    [window] = [api for api in store.apis(target.key) if api.name == WINDOW]
    kept(traced_session, "fakelib-0", window)
    assert knowledge_of(traced_session, 60.0).apis[WINDOW].definition == "Corrected by hand."
    store._db.execute("UPDATE apis SET definition = 'other' WHERE target = 'fakelib-0' AND name = ?", (WINDOW,))
    store._db.conn.commit()
    kept_in(traced_session).unlink()
    store.save_knowledge(target.key, Knowledge(library="fakelib", build=target.key))
    assert knowledge_of(traced_session, 60.0).apis[WINDOW].definition != "Corrected by hand."


def test_knowledge_of_an_earlier_build_that_cannot_be_read_is_noted(traced_session: Session) -> None:
    store, target = traced_session.store, traced_session.target
    store.save_target(target._replace(key="fakelib-0", version="0"))
    kept(traced_session, "fakelib-0")
    kept_in(traced_session).with_name("fakelib-0.yaml").write_text("a: [")
    assert WINDOW in knowledge_of(traced_session, 60.0).apis


def test_knowledge_of_another_version_is_learnt_again(traced_session: Session) -> None:
    kept(traced_session, traced_session.target.key)
    path = kept_in(traced_session)
    path.write_text(path.read_text().replace("version: 2", "version: 1"))
    assert WINDOW in knowledge_of(traced_session, 0.0).apis
    assert path.read_text().startswith("version: 2")


class Failing:
    """An extractor that gives up at its second api."""

    def __init__(self) -> None:
        self.asked = 0

    def facts(self, api: Api) -> Facts | None:
        """Return None for the first api and raises an error for the second."""
        self.asked += 1
        if self.asked > 1:
            raise UserError("nobody is there any more", "go and look")
        return None


def test_an_extractor_that_fails_is_asked_no_more_and_costs_nothing(traced_session: Session) -> None:
    failing = Failing()
    told = learn(traced_session, extractors=[failing, failing], seconds=0.0)
    assert told == learn(traced_session, seconds=0.0)
    assert failing.asked <= 3


def test_what_is_known_is_kept_before_others_are_asked(traced_session: Session) -> None:
    seen: list[Knowledge] = []
    assert learn(traced_session, seconds=0.0, keep=seen.append).apis and not seen
    whole = learn(traced_session, extractors=[Failing()], seconds=0.0, keep=seen.append)
    assert seen == [whole]
