"""The text of a report on compared models."""

from __future__ import annotations

from collections import Counter

from fuzz_core.campaign.gandalf.figures import GandalfReport


def test_a_report_shows_graphs_operators_relations_and_known_faults_apart() -> None:
    one = GandalfReport(
        graphs=Counter(cv=3, nlp=1),
        operators={"relu", "tanh"},
        relations=Counter({"relation 13": 4, "relation 2": 5, "compiled": 1}),
        hits=Counter({"relation 13": 1}),
        known=Counter({"jittor jittor.nn.gelu: rounds its constant": 2}),
        new=Counter({"torch torch.tanh": 1}),
    )
    report = GandalfReport(graphs=Counter(asr=2))
    report.add(one)
    assert report.lines == [
        "graphs: 6 (asr 2, cv 3, nlp 1), of 2 operators",
        "relations of table 4, how often each was asked (and did not hold): 2: 5 (0), 13: 4 (1)",
        "other checks, the same: compiled: 1 (0)",
        "findings of 1 known faults, for which each build is asked again, and of 1 other apis",
        "known fault: jittor jittor.nn.gelu: rounds its constant (2)",
        "not known: torch torch.tanh (1)",
    ]
    assert report.summary()["apis"] == 2


def test_a_report_on_nothing_says_so() -> None:
    assert GandalfReport().lines == [
        "graphs: 0 (none), of 0 operators",
        "relations of table 4, how often each was asked (and did not hold): none",
        "other checks, the same: none",
        "findings of 0 known faults, for which each build is asked again, and of 0 other apis",
    ]
