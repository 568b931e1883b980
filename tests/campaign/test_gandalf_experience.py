from __future__ import annotations

from fuzz_core.campaign.gandalf.experience import keep, path_of, recall
from fuzz_core.campaign.session import Session
from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.gandalf.dqn import Dqn
from fuzz_core.modelgen.gandalf.guidance import Alike, NoveltyBandit

NAMES = ("conv", "relu", "softmax")


def test_another_night_goes_on_with_what_was_learnt(fakelib_session: Session) -> None:
    one, other = Dqn(Rng(1), NAMES), Dqn(Rng(2), NAMES)
    assert not recall(fakelib_session, "dqn", one)
    one.learn_reward([("", "conv")] * 20, 1.0)
    keep(fakelib_session, "dqn", one)
    assert recall(fakelib_session, "dqn", other) and other.value("", "conv") == one.value("", "conv")
    assert not recall(fakelib_session, "ddqn", other)
    assert not recall(fakelib_session, "dqn", Dqn(Rng(1), ("other",)))


def test_what_cannot_be_read_is_left_out(fakelib_session: Session) -> None:
    path = path_of(fakelib_session, "dqn")
    path.parent.mkdir(parents=True)
    for data in (b"", b"no archive", b"PK\x03\x04 broken"):
        path.write_bytes(data)
        assert not recall(fakelib_session, "dqn", Dqn(Rng(1), NAMES))
    keep(fakelib_session, "dqn", Dqn(Rng(1), NAMES))
    assert recall(fakelib_session, "dqn", Dqn(Rng(1), NAMES))


def test_what_learns_nothing_is_not_kept(fakelib_session: Session) -> None:
    keep(fakelib_session, "random", Alike(Rng(1)))
    assert not path_of(fakelib_session, "random").exists()


def test_another_night_goes_on_with_the_novelty_of_pairs(fakelib_session: Session) -> None:
    one, other = NoveltyBandit(Rng(1)), NoveltyBandit(Rng(1))
    assert not recall(fakelib_session, "novelty", one)
    for _ in range(30):
        one.learn_reward([("", "conv"), ("conv", "relu")], 1.0)
        one.learn_reward([("", "softmax")], 0.0)
    keep(fakelib_session, "novelty", one)
    assert recall(fakelib_session, "novelty", other)
    assert (one.times, one.tried, one.total) == (other.times, other.tried, other.total)
    assert (dict(one.worth), dict(one.each)) == (dict(other.worth), dict(other.each))
    choices = [[each.choose("", NAMES) for _ in range(20)] for each in (one, other)]
    assert choices[0] == choices[1] and "softmax" not in choices[0]
