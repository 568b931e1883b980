"""The life of two bugs in a repository, night by night, on a GitHub server."""

from __future__ import annotations

from datetime import timedelta

import faultproxy
from clocks import FakeTime
from githubserver import BOT, Repository, token_of
from hubs import hub_of, night
from issueworld import cluster, umbrella

from nightfuzz.bot.issues.clusters import ClusterReport
from nightfuzz.bot.issues.filings import Filings
from nightfuzz.bot.issues.labels import LABELS, entries_of
from nightfuzz.bot.issues.writer import WriteReport


class Bot:
    """The report job, night after night. Filings alone are kept between two nights."""

    def __init__(self, repo: Repository) -> None:
        self.repo, self.time, self.filings = repo, FakeTime(), Filings()

    def night(self, *wanted: ClusterReport) -> WriteReport:
        done = night(hub_of(self.repo, self.time), self.filings, self.time, *wanted)
        assert done.problems == ()
        self.filings = done.filings
        self.time.now += timedelta(days=1)
        return done

    def shown_by(self, what: ClusterReport, build: str, **more: object) -> ClusterReport:
        """Returns the bug as seen tonight on a build."""
        return what._replace(seen=build, seen_at=self.time.now, findings=what.findings + 1, **more)


def test_the_life_of_two_bugs(github_repo: Repository) -> None:
    bot, repo = Bot(github_repo), github_repo
    fold, norm = cluster("fold"), cluster("norm")

    # Night 1: each bug gets an issue.
    assert bot.night(fold, norm).counts == {"create": 2}
    issues = repo.all("/issues?state=all")
    assert {issue["title"] for issue in issues} == {"torch.fold(): abort", "torch.norm(): abort"}
    assert {label["name"] for issue in issues for label in issue["labels"]} == {"nightfuzz"}
    first, second = (next(i["number"] for i in issues if name in i["title"]) for name in ("fold", "norm"))

    # Night 2: a newer build shows both bugs. No issue is added; each issue gets one comment on the new build.
    build = "2.14.0.dev20261102"
    assert bot.night(bot.shown_by(fold, build), bot.shown_by(norm, build)).counts == {"recur": 2}
    assert len(repo.all("/issues?state=all")) == 2
    assert [build in comment["body"] for comment in repo.all(f"/issues/{first}/comments")] == [True]

    # The same night again plans and writes no change.
    bot.time.now -= timedelta(days=1)
    assert bot.night(bot.shown_by(fold, build), bot.shown_by(norm, build)).counts == {}

    # A person says that the second issue is no bug.
    repo.send("POST", f"/issues/{second}/labels", {"labels": ["nightfuzz:wrong"]}, token_of("maintainer"))
    build = "2.14.0.dev20261103"
    assert bot.night(bot.shown_by(fold, build), bot.shown_by(norm, build)).counts == {"recur": 1}
    assert [entry.signature for entry in entries_of(bot.filings)] == ["torch.norm: RuntimeError: no"]
    assert len(repo.all(f"/issues/{second}/comments")) == 1

    # The first bug is fixed: its issue is closed, with the build that fixed it.
    fixed = fold._replace(status="fixed", changed_in="2.14.0.dev20261104")
    assert bot.night(fixed, norm).counts == {"close": 1}
    closed = repo.get(f"/issues/{first}")
    assert (closed["state"], closed["state_reason"]) == ("closed", "completed")
    assert "2.14.0.dev20261104" in repo.all(f"/issues/{first}/comments")[-1]["body"]
    assert bot.night(fixed, norm).counts == {}

    # The first bug is back: its issue is open again, as a regression.
    build = "2.14.0.dev20261106"
    back = bot.shown_by(fold, build, status="back", changed_in=build)
    assert bot.night(back, norm).counts == {"reopen": 1, "recur": 1}
    again = repo.get(f"/issues/{first}")
    assert again["state"] == "open" and "nightfuzz:regression" in {label["name"] for label in again["labels"]}

    # In the end there are two issues, and three comments under the first.
    assert len(repo.all("/issues?state=all")) == 2
    comments = repo.all(f"/issues/{first}/comments")
    assert [comment["user"]["login"] for comment in comments] == [BOT] * 3


def test_the_life_of_an_umbrella(github_repo: Repository) -> None:
    repo, time = github_repo, FakeTime()
    filings = night(hub_of(repo, time), Filings(), time, umbrellas=(umbrella("a", "b"),)).filings
    (issue,) = repo.all("/issues")
    assert {label["name"] for label in issue["labels"]} == {"nightfuzz", "nightfuzz:umbrella"}

    # A person checks one box; another person considers the second line no bug and deletes it.
    body = issue["body"].replace("- [ ] `torch.a`", "- [x] `torch.a`")
    body = "\n".join(line for line in body.split("\n") if "torch.b" not in line)
    repo.send("PATCH", f"/issues/{issue['number']}", {"body": body}, token_of("maintainer"))

    # The next night brings a third item: it is added, and the remaining lines stay as they are.
    done = night(hub_of(repo, time), filings, time, umbrellas=(umbrella("a", "b", "c"),))
    assert done.counts == {"extend": 1}
    now = repo.get(f"/issues/{issue['number']}")["body"]
    assert "- [x] `torch.a`" in now and "- [ ] `torch.c`" in now and "torch.b" not in now


def test_labels_are_made_with_colour_and_description(github_repo: Repository) -> None:
    time = FakeTime()
    night(hub_of(github_repo, time), Filings(), time, cluster("a"))
    made = {label["name"]: (label["color"], label["description"]) for label in github_repo.all("/labels")}
    assert LABELS.items() <= made.items()
    assert all(len(description) <= 100 for _, description in LABELS.values())


def test_faults_and_a_second_runner_leave_one_issue_for_each_bug(github_repo: Repository) -> None:
    bugs, time, filings = [cluster(name) for name in "abcde"], FakeTime(), Filings()
    with faultproxy.fault_proxy(github_repo.server.url, faultproxy.Plan(3, {}), time.clock) as proxy:
        for faults in (10, 10, 0):
            # Each night starts with empty filings, so it does not know what the last one did.
            hub = hub_of(github_repo, time, address=proxy.url)
            proxy.plan = faultproxy.Plan(faults, dict.fromkeys(faultproxy.ANY, faults), density=0.3)
            done = night(hub, Filings(), time, *bugs)
            assert (done.problems, done.left) == ((), ())
        fixed = [bug._replace(status="fixed", changed_in="2.15") for bug in bugs]
        proxy.plan = faultproxy.Plan(5, dict.fromkeys(faultproxy.ANY, 10), density=0.3)
        filings = night(hub, done.filings, time, *fixed).filings
        proxy.plan = faultproxy.Plan(1, {})
    issues = github_repo.all("/issues?state=all")
    assert len(issues) == len(bugs) and {issue["state"] for issue in issues} == {"closed"}
    for issue in issues:
        said = [comment["body"] for comment in github_repo.all(f"/issues/{issue['number']}/comments")]
        assert len(said) == len(set(said)) and sum("Fixed in" in text for text in said) == 1
    assert all(filed.closed_for == "2.15" for filed in filings.issues.values())
