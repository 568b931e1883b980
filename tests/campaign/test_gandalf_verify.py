"""Verification of operators: each fault on extreme data is reported with its operator and the kind of data."""

from __future__ import annotations

from pathlib import Path

import pytest
from sidecases import side_by_side

from fuzz_core.campaign.gandalf.sides import sides_of
from fuzz_core.campaign.gandalf.verify import comparable, verify
from fuzz_core.modelgen.gandalf.table import Library, Operator, Spelling, load

pytestmark = pytest.mark.real
TABLE = load()
# Planted faults: the library, the wrong spelling, and the kinds of data that show the fault.
SOWN: dict[str, tuple[Library, str, set[str]]] = {
    "relu": ("tensorflow", "tf.where(tf.abs(x) < 1e-5, x + 1, tf.nn.relu(x))", {"faint", "tiny", "zero"}),
    "tanh": ("torch", "torch.tanh(x) * (1.5 if x.numel() == 1 else 1)", {"small"}),
    "int_abs": ("torch", "torch.where(x < 0, x, torch.abs(x - 5))", {"negative"}),
    "softsign": ("tensorflow", "(tf.nn.softsign if tf.reduce_max(tf.abs(x)) < 100 else None)(x)", {"large", "alike"}),
    "gelu": ("torch", "F.gelu(x)", set()),
    # If a formula of the table overflows, neither library is wrong.
    "log_cosh": ("torch", "torch.log(torch.cosh(a - b)).mean(-1)", set()),
}
# Libraries agree on batches, but not on each row alone.
ROWS: dict[str, tuple[Library, str, set[str]]] = {
    "conv2d_no_bias": ("torch", "F.conv2d(x, w) + (x.shape[0] == 1)", {"small"})
}


def sown() -> dict[str, Operator]:
    spelled = {
        name: {**TABLE[name].spelled, library: Spelling(call=call)}
        for name, (library, call, _) in (SOWN | ROWS).items()
    }
    return {name: TABLE[name].model_copy(update={"spelled": each}) for name, each in spelled.items()}


def test_each_kind_of_data_shows_what_is_wrong_with_it_alone(
    tmp_path: Path, torch_python: Path, tensorflow_python: Path
) -> None:
    pythons: dict[Library, Path] = {"torch": torch_python, "tensorflow": tensorflow_python}
    with side_by_side(tmp_path / "state", pythons) as sessions, sides_of(sessions, sown(), 0) as sides:
        assert {each.name for each in comparable(sides, ["relu", "tanh"])} == {"relu", "tanh"}
        every = comparable(sides)
        found = {each.name: list(verify(sides, each, 2, 0)) for each in every}
    assert set(found) == {*SOWN, *ROWS}
    said = {text for name in ROWS for each in found[name] for text in each.complaints.values()}
    assert any(text.startswith("row by row: ") and "the row is one of a batch" in text for text in said)
    for name, (library, _, kinds) in SOWN.items():
        wrong = [each for each in found[name] if each.complaints]
        assert {each.kind for each in wrong} == kinds and {each.operator for each in wrong} <= {name}
        # If two libraries differ, no majority shows which of them is wrong.
        assert all(set(each.complaints) <= {"torch", "tensorflow"} for each in wrong)
        if name == "softsign":
            assert all("exception" in each.complaints[library] for each in wrong)
