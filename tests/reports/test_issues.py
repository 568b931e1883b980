"""Tests of texts for issue trackers: their wording, their parts, and a structure that no text of a worker changes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from report_cases import (
    JITTOR,
    OTHER,
    PRIVATE,
    TENSORFLOW,
    TORCH,
    UNKNOWN,
    accepted_cases,
    bug,
    check_case,
    comparison_case,
    hostile_case,
    jittor_case,
    regression_case,
    tensorflow_case,
    torch_case,
)
from test_markdown import HOSTILE, outside_fences

import fuzz_core
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.outcome import Outcome
from fuzz_core.store.records import TargetRecord
from fuzz_core.targets.facts import Environment
from nightfuzz.reports.case import BugCase
from nightfuzz.reports.issues import (
    Issue,
    bug_report,
    error_input,
    labels_of,
    missing_parts,
    regression_report,
    umbrella_report,
)
from nightfuzz.reports.text import BODY, TITLE

SNAPSHOTS = Path(__file__).parent / "snapshots"
LONG = "import torch\n\ntorch.f(" + "1, " * 200 + "1)\n"

RENDERED: dict[str, Callable[[], Issue]] = {
    "torch": lambda: bug_report(torch_case()),
    "torch_comparison": lambda: bug_report(comparison_case()),
    "torch_private": lambda: bug_report(torch_case(severity=PRIVATE), private=True),
    "torch_output": lambda: bug_report(torch_case(output="Traceback (most recent call last):\n  …\nRuntimeError: n")),
    "tensorflow": lambda: bug_report(tensorflow_case()),
    "jittor": lambda: bug_report(jittor_case()),
    "other_library": lambda: bug_report(torch_case(target=OTHER, environment=Environment(problem="it timed out"))),
    "regression": lambda: regression_report(regression_case()),
    "umbrella": lambda: umbrella_report([torch_case(), torch_case(bug=bug(9, api="torch.a", script=LONG), also=())]),
    "umbrella_checks": lambda: umbrella_report([torch_case(), check_case(), *accepted_cases()]),
    "umbrella_tensorflow": lambda: umbrella_report([tensorflow_case()]),
}


def snapshot(name: str) -> str:
    return str(RENDERED[name]()).replace(f"nightfuzz {fuzz_core.__version__}", "nightfuzz VERSION")


@pytest.mark.parametrize("name", RENDERED)
def test_the_text_is_as_reviewed(name: str) -> None:
    """To renew the snapshots, run `python tests/reports/test_issues.py` and read the difference."""
    assert snapshot(name) == (SNAPSHOTS / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in RENDERED if "umbrella" not in name])
def test_every_report_carries_what_a_maintainer_asks_for(name: str) -> None:
    library = {"tensorflow": "tensorflow", "jittor": "jittor", "other_library": "lib"}.get(name, "torch")
    assert missing_parts(str(RENDERED[name]()), library) == []


@pytest.mark.parametrize("name", RENDERED)
def test_no_report_uses_a_word_that_only_we_know(name: str) -> None:
    ours = r"modes?|oracles?|verdicts?|findings?|clusters?|invocations?|seeds?|mutat\w+|traced?|signatures?|RuledOut"
    text = "\n".join(outside_fences(str(RENDERED[name]())))
    assert re.findall(rf"\b(?:{ours})\b", text, re.IGNORECASE) == []


@pytest.mark.parametrize(
    ("pattern", "part"),
    [
        (r"\A.*\n", "the call in the title"),
        (r"```python\n.*?```", "a standalone script"),
        (r"(?m)^`{3,}text$", "the output"),
        (r"[Ee]xpected", "what was expected"),
        (r"version", "the versions"),
        (r"\| how the call is made \|", "how the call is made"),
        (r"- Reproduces: .*\n", "how often it reproduces"),
        (r"- Input: .*\n", "whether the input is valid"),
        (r"- First bad version: .*\n", "how far back it goes"),
        (r"- Found by fuzzing.*\n", "that it was found by fuzzing"),
        (r"Not checked:\n", "what was not checked"),
        (r"### 🐛 Describe the bug\n", "the field '🐛 Describe the bug'"),
        (r"### Versions\n", "the field 'Versions'"),
    ],
)
def test_a_part_that_is_taken_out_is_missed(pattern: str, part: str) -> None:
    text = re.sub(pattern, "", str(bug_report(torch_case())), flags=re.DOTALL if "python" in pattern else 0)
    assert part in missing_parts(text, "torch")


@pytest.mark.parametrize("form", [TORCH, TENSORFLOW, JITTOR, OTHER], ids=lambda target: target.library)
def test_every_form_says_which_result_is_wrong_where_evidence_tells(form: TargetRecord) -> None:
    case = comparison_case()._replace(target=form)
    told = case.bug.outcome._replace(text=f"{case.bug.outcome.text}\nwrong: strided, by NumPy")
    sentence = "The result with non-contiguous tensors is wrong. The result with contiguous tensors is right: "
    assert sentence not in str(bug_report(case))
    assert sentence in str(bug_report(case._replace(bug=case.bug._replace(outcome=told))))


@pytest.mark.parametrize("field", ["Issue type", "Custom code", "Current behavior?", "Relevant log output"])
def test_a_missing_field_of_tensorflows_form_is_missed(field: str) -> None:
    text = str(bug_report(tensorflow_case())).replace(f"### {field}\n", "")
    assert missing_parts(text, "tensorflow") == [f"the field {field!r}"]


@pytest.mark.parametrize("field", ["完整日志 / Full log", "GPU 环境 / GPU"])
def test_a_missing_field_of_jittors_form_is_missed(field: str) -> None:
    text = str(bug_report(jittor_case())).replace(f"### {field}\n", "")
    assert missing_parts(text, "jittor") == [f"the field {field!r}"]


def test_a_message_alone_is_no_full_log() -> None:
    assert missing_parts(str(bug_report(jittor_case(output=""))), "jittor") == ["the full log (--run gives it)"]


def test_a_wrong_result_says_by_which_rules_it_was_compared() -> None:
    text = str(bug_report(comparison_case()))
    assert "default tolerances" in text
    without = re.sub(r"Compared by.*\n", "", text)
    assert missing_parts(without, "torch") == ["by which rules results were compared"]


def test_a_text_that_is_too_long_is_missed() -> None:
    assert missing_parts(str(bug_report(torch_case())) + "x" * BODY, "torch") == ["at most 65,536 characters"]


def test_labels_follow_from_what_is_known() -> None:
    assert labels_of(comparison_case()) == ["topic: fuzzer", "module: correctness (silent)", "triage review"]
    died = torch_case(bug=bug(kind="crash", outcome=Outcome("signal", "SIGSEGV")), severity=UNKNOWN)
    assert {"module: crash", "module: error checking"} <= set(labels_of(died))
    assert "module: regression" in labels_of(regression_case())
    assert labels_of(tensorflow_case()) == []


@pytest.mark.parametrize(
    ("script", "api", "expected"),
    [
        (
            "import torch\n\nx = torch.zeros(2)\ntorch.f(x, [1, 2], mode='a')\n",
            "torch.f",
            "ErrorInput(SampleInput(torch.zeros(2), args=([1, 2],), kwargs={'mode': 'a'}), error_regex=\"…\")",
        ),
        (
            "import torch\n\ntorch.f(torch.ones(1))\n",
            "torch.f",
            'ErrorInput(SampleInput(torch.ones(1)), error_regex="…")',
        ),
        # The calls: a method, a layer, a call without a tensor, and a call whose arguments are too long for a line.
        ("import torch\n\ntorch.zeros(2).f(1)\n", "torch.Tensor.f", ""),
        ("import torch\n\ntorch.nn.L(1)(torch.zeros(2))\n", "torch.nn.L", ""),
        ("import torch\n\ntorch.f()\n", "torch.f", ""),
        (LONG, "torch.f", ""),
        ("import (", "torch.f", ""),
    ],
)
def test_a_call_becomes_an_error_input_of_an_opinfo(script: str, api: str, expected: str) -> None:
    assert error_input(torch_case(bug=bug(script=script, api=api))) == expected


def test_bad_input_of_torch_names_the_umbrella_only_for_deaths_on_bad_memory() -> None:
    died = bug(kind="crash", outcome=Outcome("signal", "SIGSEGV"))
    assert "`pytorch/pytorch#195547`" in bug_report(torch_case(bug=died)).body
    body = bug_report(torch_case()).body
    assert "195547" not in body and "add an error input to the operator's OpInfo" in body
    assert "OpInfo" not in bug_report(comparison_case()).body


def test_a_report_says_which_versions_show_the_bug() -> None:
    body = bug_report(torch_case(shown_on=("2.12.0", "2.14.0.dev20261101"), clean_on=("2.9.0",))).body
    assert "- First bad version: unknown; also shown by 2.12.0, 2.14.0.dev20261101." in body
    assert "- Not shown by: 2.9.0." in body
    assert "no other version was run" in bug_report(torch_case()).body
    nightly = bug_report(tensorflow_case()._replace(shown_on=("2.22.0.dev20261101",))).body
    assert "Nightly?\n\nYes" in nightly


def test_jittors_form_offers_a_system_and_boxes_that_only_a_person_ticks() -> None:
    case = jittor_case()
    ubuntu = replace(case.environment, facts={**case.environment.facts, "os": "Ubuntu 22.04.5 LTS (x86_64)"})
    assert "Operating System\n\nUbuntu 22.04\n" in bug_report(case._replace(environment=ubuntu)).body
    assert bug_report(case).title.startswith("[Bug] ")
    assert bug_report(case).body.count("- [ ] ") == 2


def test_private_bugs_are_refused_by_everything_public() -> None:
    case = torch_case(severity=PRIVATE)
    with pytest.raises(UserError, match="bug 3 is private: the heap is corrupted"):
        bug_report(case)
    with pytest.raises(UserError, match="is private"):
        regression_report(regression_case()._replace(severity=PRIVATE))
    with pytest.raises(UserError, match="is private"):
        umbrella_report([torch_case(), case])
    assert "> **Private: the heap is corrupted.**" in bug_report(case, private=True).body


def test_a_regression_needs_a_baseline_and_an_umbrella_a_bug() -> None:
    with pytest.raises(UserError, match="no build is named"):
        regression_report(torch_case())
    with pytest.raises(UserError, match="no bug"):
        umbrella_report([])


def test_what_is_not_checked_follows_from_what_is_known() -> None:
    plain = torch_case().unchecked()
    assert any("non-contiguous tensors" in gap for gap in plain)
    assert any("nightly" in gap for gap in plain)
    assert any("first version" in gap for gap in plain)
    nightly = torch_case(target=TORCH._replace(version="2.14.0.dev20261101+cpu"), modes={}, first_bad="2.9")
    assert not [gap for gap in nightly.unchecked() if re.search("other ways|nightly|first version", gap)]
    assert not [gap for gap in comparison_case().unchecked() if "input is valid" in gap]


def test_a_bug_of_a_program_says_where_it_was_made() -> None:
    where = "net.py, line 3, block 1: RG changed rate of lib.Drop from 0.1 to 1"
    for case in (torch_case(bug=bug(origin=where)), tensorflow_case(), jittor_case()):
        told = f"- Found in a model program: {where.replace('RG', 'fuzzing')}.\n" in bug_report(case).body
        assert told == bool(case.bug.origin)


def headings(issue: Issue) -> list[str]:
    """Returns the lines outside of code that give the text its structure."""
    lines = outside_fences(issue.body)
    return [re.sub(r"\d+ characters", "", line) for line in lines if re.match(r"#|<|\s*\|[-| ]+\|$|    ", line)]


PLAIN = headings(regression_report(hostile_case("plain")))


@pytest.mark.parametrize("target", [TORCH, TENSORFLOW, OTHER], ids=lambda each: each.library)
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_leaves_the_structure_intact(text: str, target: TargetRecord) -> None:
    expected = headings(regression_report(hostile_case("plain", target)))
    assert headings(regression_report(hostile_case(text, target))) == expected


@pytest.mark.parametrize("text", HOSTILE)
def test_outside_of_code_nothing_is_a_mention_a_link_or_html(text: str) -> None:
    forbidden = hostile_case(text)._replace(bug=hostile_case(text).bug._replace(kind="bounds"))
    for issue in (regression_report(hostile_case(text)), umbrella_report([hostile_case(text), forbidden])):
        prose = "\n".join(without_spans(line) for line in outside_fences(dedented(issue.body)))
        prose = re.sub(r"(?m)^#+ |^> |^- \[ \] |\*\*|`topic: fuzzer`", "", prose)
        for sign in "@<[`!":
            assert not re.findall(rf"(?<!\\)(?:\\\\)*{re.escape(sign)}", prose), (sign, prose)


def dedented(text: str) -> str:
    """Returns text whose code blocks inside list items are dedented, because `outside_fences` does not know them."""
    return re.sub(r"(?m)^ {6}", "", text)


def without_spans(line: str) -> str:
    """Returns a line without its code spans, as CommonMark finds them."""
    return re.sub(r"(?<![\\`])(`+)(?!`).*?(?<!`)\1(?!`)", "", line)


@given(st.text(alphabet="`~|<@#\n\\ ax", max_size=40))
@examples(60)
def test_any_text_in_any_place_is_only_text(text: str) -> None:
    assert headings(regression_report(hostile_case(text))) == PLAIN


@pytest.mark.slow
@pytest.mark.parametrize("sign", ["x", "`", "|", "@", "\n", "é", "\N{PILE OF POO}"])
@pytest.mark.parametrize("render", [bug_report, lambda case: umbrella_report([case] * 100)], ids=["bug", "umbrella"])
def test_a_body_fits_and_says_what_was_cut(sign: str, render: Callable[[BugCase], Issue]) -> None:
    issue = render(hostile_case(sign * 200_000))
    assert 0 < len(issue.body) <= BODY
    assert len(issue.title) <= TITLE
    assert sign == "\n" or re.search(r"characters left out|more calls did not fit", issue.body)


def test_missing_checks_are_items_of_the_list_where_that_is_asked_for() -> None:
    cases = [torch_case(), check_case(), *accepted_cases()]
    body = umbrella_report(cases, as_items=True).body
    assert body.count("\n- [ ] ") == 4 and "| api |" not in body
    assert "returns, though the documentation forbids tau=-1" in body


def test_a_bar_in_a_script_ends_no_cell() -> None:
    script = "import torch\n\ntorch.f(torch.zeros(2) | 1, tau=-1)\n"
    [row] = [line for line in umbrella_report([check_case(script)]).body.splitlines() if line.startswith("| `torch.f`")]
    assert row.replace("\\|", "").count("|") == 6


def test_an_umbrella_says_how_many_did_not_fit() -> None:
    cases = [torch_case(bug=bug(number, script=LONG)) for number in range(400)]
    issue = umbrella_report(cases)
    shown = len(re.findall(r"(?m)^- \[ \] ", issue.body))
    assert 0 < shown < 400
    assert f"{400 - shown} more calls did not fit" in issue.body


def test_a_title_names_the_call_and_what_it_does() -> None:
    assert bug_report(torch_case()).title == (
        "torch.zeros(2).index_put((), torch.zeros(2)): RuntimeError: n >= 3 INTERNAL ASSERT FAILED"
    )
    died = torch_case(bug=bug(kind="crash", outcome=Outcome("signal", "SIGFPE", "")))
    assert bug_report(died).title.endswith(": floating point exception (SIGFPE)")
    assert bug_report(comparison_case()).title == (
        "torch.sin(torch.zeros(2, 2)): result with non-contiguous tensors differs from that with "
        "contiguous tensors: 1 of 4 elements"
    )
    assert bug_report(torch_case(bug=bug(script=LONG, api="torch.f"))).title.startswith("torch.f(…): ")
    nested = (
        "import torch\n\nx = torch.tensor([" + "1.0, " * 30 + "1.0])\nm = torch.nn.L(0)\nm(x, torch.zeros(2), out=x)\n"
    )
    shortened = bug_report(torch_case(bug=bug(script=nested))).title
    assert shortened.startswith("torch.nn.L(0)(…, torch.zeros(2), out=…): ")


def test_a_long_call_is_cut_before_its_contradiction_is() -> None:
    """Before this rule, a title ended with "14227 of 16000 elemen…" behind a call of 100 signs."""
    script = "import torch\n\ntorch.f(" + ", ".join(["torch.zeros(2)"] * 7) + ")\n"
    said = "Check failed: the size of the first argument has to be that of the second one"
    died = bug(script=script, api="torch.f", kind="crash", outcome=Outcome("signal", "SIGABRT", said))
    assert bug_report(torch_case(bug=died)).title == f"torch.f(…): abort (SIGABRT): {said}"


if __name__ == "__main__":
    for each in RENDERED:
        (SNAPSHOTS / f"{each}.txt").write_text(snapshot(each), encoding="utf-8")
