"""The umbrella issue: items are added, and all edits of people stay."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from issueworld import FOOT, ME, Memory, cluster, fingerprint, umbrella

from nightfuzz.bot.issues.clusters import Umbrella
from nightfuzz.bot.issues.filings import Filings
from nightfuzz.bot.issues.labels import IGNORE, OURS, UMBRELLA, entries_of
from nightfuzz.bot.issues.plan import IssuePlan, Rules, plan
from nightfuzz.bot.issues.umbrella import END, chosen, extended, items
from nightfuzz.bot.issues.writer import carry_out, load_issues
from nightfuzz.reports.text import BODY


class UmbrellaWorld:
    def __init__(self) -> None:
        self.hub, self.filings = Memory(), Filings()

    def night(self, *wanted: Umbrella, daily: int = 5) -> IssuePlan:
        existing, gone = load_issues(self.hub, self.filings)
        rules = Rules(daily=daily, login=ME)
        made = plan([], existing, self.filings, rules, self.hub.now, wanted, gone)
        self.filings = carry_out(self.hub, made, self.filings, lambda: self.hub.now).filings
        return made

    def body(self, number: int = 1) -> str:
        return self.hub.by_number[number].body


def test_one_issue_for_each_library_lists_all() -> None:
    world = UmbrellaWorld()
    other = umbrella("y")._replace(library="jittor")
    world.night(umbrella("a", "b"), other)
    assert [issue.labels for issue in world.hub.issues()] == [(OURS, UMBRELLA)] * 2
    assert list(items(world.body())) == [fingerprint("a"), fingerprint("b")]
    assert world.night(umbrella("b", "a"), other).actions == ()


def test_boxes_that_people_check_and_text_that_they_write_stay() -> None:
    world = UmbrellaWorld()
    world.night(umbrella("a", "b"))
    edited = world.body().replace("- [ ] `torch.a`", "- [x] `torch.a`").replace(FOOT, "\r\nSeen by me.\r\n")
    world.hub.change(1, body=edited)
    world.night(umbrella("a", "b", "c", text="other words"))
    assert world.body().startswith(edited.partition(END)[0].replace("\r\n", "\n"))
    assert world.body().count("- [ ]") == 2 and world.body().endswith("\nSeen by me.\n")
    assert list(items(world.body())) == [fingerprint(name) for name in "abc"]
    assert world.hub.by_number[1].title == "3 calls crash"


def test_what_people_delete_or_rename_is_not_put_back() -> None:
    world = UmbrellaWorld()
    world.night(umbrella("a", "b"))
    world.hub.change(1, body=chosen(world.body(), [fingerprint("b")]), title="mine")
    world.night(umbrella("a", "b", "c"))
    assert list(items(world.body())) == [fingerprint("b"), fingerprint("c")]
    assert world.hub.by_number[1].title == "mine"


def test_without_its_anchor_a_body_is_left_alone() -> None:
    world = UmbrellaWorld()
    world.night(umbrella("a"))
    world.hub.change(1, body="my own list")
    made = world.night(umbrella("a", "b"))
    assert (made.actions, world.body()) == ((), "my own list")
    assert made.notes == ("the umbrella issue #1 has no room for 1 bug",)


def test_a_closed_umbrella_is_followed_by_one_for_what_is_new() -> None:
    world = UmbrellaWorld()
    world.night(umbrella("a"))
    world.hub.close(1, "completed")
    assert world.night(umbrella("a", "b")).actions == ()
    world.hub.now += timedelta(hours=49)
    world.night(umbrella("a", "b"))
    assert list(items(world.body(2))) == [fingerprint("b")]


def test_an_umbrella_that_people_want_to_hear_no_more_of_teaches_each_of_its_items() -> None:
    world = UmbrellaWorld()
    world.night(umbrella("a", "b"))
    world.hub.change(1, labels=(OURS, IGNORE))
    assert world.night(umbrella("a", "b", "c")).actions == ()
    assert {entry.signature for entry in entries_of(world.filings)} == {"torch.a: abort", "torch.b: abort"}


def test_lost_filings_are_found_again_in_the_body() -> None:
    world = UmbrellaWorld()
    world.night(umbrella("a"))
    world.filings = Filings()
    world.night(umbrella("a", "b"))
    assert list(items(world.body())) == [fingerprint("a"), fingerprint("b")]
    assert len(world.hub.issues()) == 1


def test_what_has_an_issue_of_its_own_is_no_item() -> None:
    world = UmbrellaWorld()
    made = plan([cluster("a")], [], Filings(), Rules(), world.hub.now)
    world.filings = carry_out(world.hub, made, Filings(), lambda: world.hub.now).filings
    assert world.night(umbrella("a")).actions == ()


def test_a_full_issue_takes_what_fits() -> None:
    body = umbrella("a").body
    more = {fingerprint(name): f"- [ ] {name * 20_000}" for name in "bcde"}
    longer, added = extended(body, more)
    assert len(longer) < BODY and len(added) == 3


def test_the_day_has_no_room_for_an_umbrella() -> None:
    world = UmbrellaWorld()
    assert world.night(umbrella("a"), daily=0).actions == ()


names = st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1)


@given(st.text(), names, names)
def test_items_are_told_apart_whatever_their_text(text: str, first: list[str], second: list[str]) -> None:
    """Texts come rendered: one line each, as `reports.markdown.escaped` leaves them."""
    one, other = (umbrella(*each, text=" ".join(text.split())) for each in (first, second))
    body, lines = one.body, items(other.body)
    assert list(items(body)) == list(one.signatures) and list(lines) == list(other.signatures)
    fresh = {key: line for key, line in lines.items() if key not in one.signatures}
    longer, added = extended(body, fresh)
    assert list(items(longer)) == [*one.signatures, *added] and added == tuple(fresh)
