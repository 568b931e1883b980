"""Disclosure rules of maintainers: each has its source and date, applies to its apis, and is called old when old."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from fuzz_core.adapters.disclosure import FRESH, disclosure_of, disclosures, outdated
from fuzz_core.adapters.library import Disclosure, RulePage

EVERY = sorted({rules.repository: rules for rules in disclosures().values()}.items())
# The record of a repository whose pages give no rule.
SILENT = Disclosure("", False, "", {})


@pytest.mark.parametrize(("repository", "rules"), EVERY)
def test_every_rule_has_a_page_and_a_day(repository: str, rules: Disclosure) -> None:
    said = {
        name
        for name, value in rules._asdict().items()
        if name not in ("repository", "sources") and value != getattr(SILENT, name)
    }
    assert said - rules.sources.keys() == set()
    assert rules.sources.keys() <= set(Disclosure._fields)
    for source in rules.sources.values():
        assert source.page.startswith("https://github.com/")
        assert source.read >= date(2026, 1, 1)


@pytest.mark.parametrize(
    ("api", "repository"),
    [
        ("torch.nn.Conv2d", "pytorch/pytorch"),
        ("tf.add", "tensorflow/tensorflow"),
        ("tf.raw_ops.Add", "tensorflow/tensorflow"),
        ("tf.keras.losses.Huber", "keras-team/keras"),
        ("keras.ops.add", "keras-team/keras"),
        ("jittor.nn.Conv", "Jittor/jittor"),
    ],
)
def test_the_longest_beginning_of_a_name_counts(api: str, repository: str) -> None:
    rules = disclosure_of(api)
    assert rules is not None and rules.repository == repository


@pytest.mark.parametrize("api", ["torchvision.ops.nms", "tfx.add", "mxnet.add", ""])
def test_other_names_have_no_rules(api: str) -> None:
    assert disclosure_of(api) is None


def test_rules_that_nobody_has_read_for_180_days_are_old() -> None:
    read = date(2026, 1, 1)
    sources = {"why": RulePage("https://x.test/new", read + FRESH), "accepts": RulePage("https://x.test/old", read)}
    rules = Disclosure("o/r", True, "", sources)
    assert outdated(rules, read + FRESH) == ""
    told = outdated(rules, read + FRESH + timedelta(days=1))
    assert "181 days ago" in told and "https://x.test/old" in told and "o/r" in told
