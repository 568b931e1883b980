"""The plan of issue actions, for events in any order: no duplicates, a daily limit, and no action against people."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from issueworld import ME, START, Memory, cluster, fingerprint

from nightfuzz.bot.github.marker import Marker, marked
from nightfuzz.bot.issues.clusters import ClusterReport, Umbrella
from nightfuzz.bot.issues.filings import Filings
from nightfuzz.bot.issues.labels import IGNORE, OURS, REGRESSION, WRONG
from nightfuzz.bot.issues.plan import IssuePlan, Rules, plan
from nightfuzz.bot.issues.writer import carry_out, load_issues

RULES = Rules(login=ME)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


class PlanWorld:
    """A repository, its filings, and the rules of planning."""

    def __init__(self, rules: Rules = RULES) -> None:
        self.hub, self.filings, self.rules = Memory(), Filings(), rules

    def plan(self, *wanted: ClusterReport, umbrellas: tuple[Umbrella, ...] = ()) -> IssuePlan:
        existing, gone = load_issues(self.hub, self.filings)
        return plan(wanted, existing, self.filings, self.rules, self.hub.now, umbrellas, gone)

    def night(self, *wanted: ClusterReport, umbrellas: tuple[Umbrella, ...] = ()) -> IssuePlan:
        """Runs one night, and checks that a second plan would be empty."""
        made = self.plan(*wanted, umbrellas=umbrellas)
        done = carry_out(self.hub, made, self.filings, lambda: self.hub.now)
        assert not done.left
        self.filings = done.filings
        if not done.problems and all(filed.created_at == self.hub.now for filed in done.filed):
            assert self.plan(*wanted, umbrellas=umbrellas).actions == ()
        return made

    def later(self, time: timedelta) -> None:
        self.hub.now += time


def kinds(made: IssuePlan) -> list[str]:
    return [action.verb for action in made.actions]


def seen_later(
    wanted: ClusterReport, world: PlanWorld, build: str = "2.14.0.dev20261109", **more: object
) -> ClusterReport:
    return wanted._replace(seen=build, seen_at=world.hub.now, findings=wanted.findings + 1, **more)


def test_the_worst_are_filed_first_and_the_rest_waits() -> None:
    world = PlanWorld()
    clusters = [cluster(f"f{number}", rank=(number,)) for number in range(8, 0, -1)]
    made = world.night(*clusters)
    assert [action.title for action in made.actions] == [f"torch.f{number}(): abort" for number in range(1, 6)]
    assert [each.api for each in made.waiting] == ["torch.f6", "torch.f7", "torch.f8"]
    world.later(DAY + HOUR)
    assert kinds(world.night(*clusters)) == ["create"] * 3


def test_a_deleted_issue_counts_for_its_day_and_is_not_filed_again() -> None:
    world = PlanWorld(RULES._replace(daily=1))
    world.night(cluster("a"))
    world.hub.by_number.clear()
    made = world.night(cluster("a"), cluster("b"))
    assert (kinds(made), made.silent, len(made.waiting)) == ([], 1, 1)
    assert world.filings.issues[1].teaching == "gone"
    world.later(2 * DAY)
    assert [action.title for action in world.night(cluster("a"), cluster("b")).actions] == ["torch.b(): abort"]


def test_a_moved_issue_is_left_alone_and_taken_up_when_it_returns() -> None:
    world = PlanWorld()
    world.night(cluster("a"))
    away = world.hub.by_number.pop(1)
    world.hub.moved = {1}
    assert world.night(seen_later(cluster("a"), world)).actions == ()
    world.hub.by_number[1], world.hub.moved = away, set()
    assert kinds(world.night(seen_later(cluster("a"), world))) == ["recur"]


def test_a_later_build_updates_the_one_comment() -> None:
    world = PlanWorld()
    world.night(cluster("a"))
    for day in range(2, 5):
        world.later(DAY)
        made = world.night(seen_later(cluster("a"), world, f"2.14.0.dev2026110{day}"))
        assert kinds(made) == ["recur"]
    assert len(world.hub.said[1]) == 1


def test_another_member_of_the_cluster_belongs_to_its_issue_from_then_on() -> None:
    world = PlanWorld()
    world.night(cluster("a"))
    world.night(cluster("b", "a", apis=("torch.a",)))
    assert kinds(world.night(cluster("b"))) == ["recur"]
    assert set(world.filings.issues[1].signatures) == {fingerprint("a"), fingerprint("b")}


def test_private_known_and_batched_clusters_are_not_filed() -> None:
    made = PlanWorld().night(cluster("a", private=True), cluster("b", known=True), cluster("c", batched=True))
    assert (made.actions, made.private, made.silent) == ((), 1, 1)


def test_a_cause_that_is_private_on_one_build_is_private() -> None:
    made = PlanWorld().night(cluster("a"), cluster("a", "b", private=True), cluster("c", known=True), cluster("c"))
    assert ([action.title for action in made.actions], made.private) == (["torch.c(): abort"], 1)


def test_what_turns_out_private_is_not_spoken_of_any_more() -> None:
    world = PlanWorld()
    world.night(cluster("a"))
    assert world.night(seen_later(cluster("a"), world, private=True)).actions == ()
    assert world.night(cluster("a", status="fixed", changed_in="2.15", private=True)).actions == ()


def test_fixed_closes_and_back_reopens_as_a_regression() -> None:
    world = PlanWorld()
    world.night(cluster("a"))
    world.later(DAY)
    fixed = cluster("a", status="fixed", changed_in="2.14.0.dev20261102")
    assert kinds(world.night(fixed)) == ["close"]
    assert world.hub.by_number[1].state_reason == "completed"
    world.later(HOUR)
    assert world.night(fixed).actions == ()
    back = seen_later(cluster("a"), world, "2.14.0.dev20261103", status="back", changed_in="2.14.0.dev20261103")
    assert kinds(world.night(back)) == ["reopen", "recur"]
    assert world.hub.by_number[1].state == "open" and REGRESSION in world.hub.by_number[1].labels
    world.later(DAY)
    assert kinds(world.night(fixed._replace(changed_in="2.14.0.dev20261104"))) == ["close"]


def test_who_reopens_a_fixed_issue_is_not_argued_with() -> None:
    world = PlanWorld()
    world.night(cluster("a"))
    fixed = cluster("a", status="fixed", changed_in="2.15")
    world.night(fixed)
    world.hub.change(1, state="open", state_reason="reopened", closed_at=None)
    assert world.night(fixed).actions == ()
    assert kinds(world.night(fixed._replace(changed_in="2.16"))) == ["close"]


def test_what_a_person_closes_stays_closed_for_two_days_unless_a_newer_build_shows_it() -> None:
    world = PlanWorld()
    world.night(cluster("a"))
    world.later(HOUR)
    world.hub.close(1, "completed")
    assert world.night(cluster("a")).actions == ()
    world.later(HOUR)
    same = seen_later(cluster("a"), world, cluster("a").seen)
    made = world.night(same)
    assert kinds(made) == []
    assert kinds(world.plan(seen_later(cluster("a"), world))) == ["reopen", "recur"]
    world.later(2 * DAY)
    assert kinds(world.night(same)) == ["reopen", "recur"]


def test_teaching_is_learnt_and_unlearnt() -> None:
    world = PlanWorld()
    world.night(cluster("a"))
    world.hub.change(1, labels=(OURS, WRONG))
    made = world.night(seen_later(cluster("a"), world))
    assert (made.actions, made.silent, world.filings.issues[1].teaching) == ((), 1, "wrong")
    world.hub.change(1, labels=(OURS,))
    assert kinds(world.night(seen_later(cluster("a"), world))) == ["recur"]
    assert world.filings.issues[1].teaching == ""


def test_a_duplicate_closed_in_favour_of_another_of_ours_silences_nothing() -> None:
    world = PlanWorld()
    world.night(cluster("a"), cluster("b"))
    world.hub.close(2, "duplicate")
    one = cluster("a", "b", seen="2.15", seen_at=START + HOUR)
    assert [(each.verb, each.number) for each in world.night(one).actions] == [("recur", 1)]
    world.hub.close(1, "not_planned")
    assert world.night(one._replace(seen="2.16")).silent == 1


def test_one_cluster_on_two_issues_speaks_in_the_oldest_and_closes_both() -> None:
    world = PlanWorld()
    world.night(cluster("a"), cluster("b"))
    both = cluster("a", "b", seen="2.15")
    assert [each.number for each in world.night(both).actions] == [1]
    closed = world.night(both._replace(status="fixed", changed_in="2.16")).actions
    assert [(each.verb, each.number) for each in closed] == [("close", 1), ("close", 2)]


def test_two_clusters_on_one_issue_are_fixed_together() -> None:
    world = PlanWorld()
    world.night(cluster("a", "b"))
    fixed = cluster("a", status="fixed", changed_in="2.16")
    assert [each.verb for each in world.night(fixed, cluster("b", seen="2.16")).actions] == ["recur"]
    assert [each.verb for each in world.night(fixed, fixed._replace(signatures=cluster("b").signatures)).actions] == [
        "close"
    ]


def test_a_regression_that_is_found_out_later_gets_its_label_once() -> None:
    world = PlanWorld()
    world.night(cluster("a"))
    assert [each.verb for each in world.night(cluster("a", regression=True)).actions] == ["relabel"]
    world.hub.change(1, labels=(OURS,))
    assert world.night(cluster("a", regression=True)).actions == ()


def test_an_edited_body_and_a_removed_label_do_not_lose_an_issue() -> None:
    world = PlanWorld()
    world.night(cluster("a"))
    world.hub.change(1, body="my own words", title="mine", labels=())
    assert kinds(world.night(seen_later(cluster("a"), world))) == ["recur"]
    assert world.hub.by_number[1].body == "my own words" and world.hub.by_number[1].title == "mine"


def test_lost_filings_are_found_again_by_markers() -> None:
    world = PlanWorld()
    world.night(cluster("a"))
    world.filings = Filings()
    assert kinds(world.night(cluster("a"))) == ["recur"]
    world.filings = Filings()
    world.hub.change(1, labels=(OURS, IGNORE))
    made = world.night(cluster("a"))
    assert (made.actions, world.filings.issues[1].signatures) == ((), cluster("a").signatures)


def test_a_marker_in_a_strangers_issue_is_nothing() -> None:
    world = PlanWorld()
    world.hub.add("x", marked("", Marker("bug", fingerprint("a"))), (OURS,), author="stranger")
    assert kinds(world.night(cluster("a"))) == ["create"]
    assert not world.hub.said.get(1)


def test_records_of_another_repository_are_not_taken_for_ours() -> None:
    world = PlanWorld()
    world.night(cluster("a"))
    world.hub = Memory(url="https://github.test/another/r")
    world.hub.add("somebody's", "text", (OURS,), author="stranger")
    made = world.plan(seen_later(cluster("a"), world))
    assert kinds(made) == ["create"]


def test_what_another_run_is_about_to_file_is_left_to_it_for_an_hour() -> None:
    world = PlanWorld(RULES._replace(run="2"))
    world.filings = world.filings.with_claims([fingerprint("a")], "1", world.hub.now)
    assert world.night(cluster("a")).actions == ()
    world.later(HOUR)
    assert kinds(world.night(cluster("a"))) == ["create"]
    assert world.filings.claims == {}


def test_what_was_brought_up_to_date_longest_ago_comes_first() -> None:
    world = PlanWorld()
    world.night(cluster("a"), cluster("b"))
    world.later(HOUR)
    world.night(seen_later(cluster("a"), world))
    both = [seen_later(cluster(name), world, "2.15") for name in "ab"]
    assert [each.number for each in world.plan(*both).actions] == [2, 1]


def test_an_action_that_is_refused_stops_no_other_and_is_tried_again() -> None:
    world = PlanWorld()
    world.night(cluster("a"), cluster("b"))
    world.hub.refuses = {"comment #1"}
    both = [seen_later(cluster(name), world) for name in "ab"]
    done = carry_out(world.hub, world.plan(*both), world.filings, lambda: world.hub.now)
    assert (done.counts, done.problems) == ({"recur": 1}, ("recur #1: comment #1: no",))
    world.filings = done.filings
    assert [each.number for each in world.plan(*both).actions] == [1]


NAMES = "abcdef"
clusters = st.lists(
    st.builds(
        lambda names, day, status, more: cluster(
            *names,
            seen=f"2.14.0.dev202611{day:02}",
            changed_in="" if status == "open" else f"2.14.0.dev202611{day + 1:02}",
            status=status,
            rank=(day % 3,),
            **more,
        ),
        st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True),
        st.integers(1, 9),
        st.sampled_from(["open", "fixed", "back"]),
        st.fixed_dictionaries(
            {}, optional={name: st.just(True) for name in ("private", "known", "batched", "regression")}
        ),
    ),
    max_size=6,
)
deeds = st.sampled_from(["completed", "not_planned", "duplicate", "open", WRONG, IGNORE, "unlabel", "unmark", "delete"])
Night = tuple[list[ClusterReport], int, list[tuple[int, str]], bool]
nights: st.SearchStrategy[list[Night]] = st.lists(
    st.tuples(clusters, st.integers(0, 60), st.lists(st.tuples(st.integers(1, 8), deeds), max_size=3), st.booleans()),
    min_size=1,
    max_size=6,
)


def do(world: PlanWorld, number: int, deed: str) -> None:
    view = world.hub.by_number.get(number)
    if view is None:
        return
    if deed in ("completed", "not_planned", "duplicate"):
        world.hub.close(number, deed)
    elif deed == "open":
        world.hub.change(number, state="open", state_reason="reopened", closed_at=None)
    elif deed == "unlabel":
        world.hub.change(number, labels=())
    elif deed == "unmark":
        world.hub.change(number, body="gone")
    elif deed == "delete":
        del world.hub.by_number[number]
    else:
        world.hub.change(number, labels=(*view.labels, deed))


@given(nights, st.integers(0, 3))
def test_whatever_happens_no_night_does_too_much(nights: list[Night], daily: int) -> None:
    """`World.night` checks that each plan is empty once it is done."""
    world = PlanWorld(RULES._replace(daily=daily))
    strange = world.hub.add("a stranger's", marked("", Marker("bug", fingerprint("a"))), author="stranger")
    for wanted, hours, people, forgets in nights:
        world.later(timedelta(hours=hours))
        for number, deed in people:
            do(world, number, deed)
        taught = {issue.number: issue for issue in world.hub.issues() if {WRONG, IGNORE} & {*issue.labels}}
        said = {number: dict(world.hub.said.get(number, {})) for number in taught}
        world.night(*(each._replace(seen_at=world.hub.now) for each in wanted))
        recent = [at for at in world.hub.filed if world.hub.now - at < DAY]
        assert len(recent) <= daily
        assert all(world.hub.by_number[number] == issue for number, issue in taught.items())
        assert all(world.hub.said.get(number, {}) == said[number] for number in taught)
        if forgets and not any(deed in ("unmark", "delete") for night in nights for _, deed in night[2]):
            world.filings = Filings()
    assert world.hub.by_number.get(1) in (strange, None) or not world.hub.said.get(1)
