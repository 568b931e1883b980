"""Tests of the registry: matches and end of an entry, refused entries, and edits that keep a reviewer's comments."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.ir.errors import UserError
from fuzz_core.triage.known import (
    KnownEntry,
    Registry,
    RegistryQuery,
    add_entry,
    entry_of,
    load_registry,
    read_entries,
    remove_entry,
    shipped_entries,
)

TODAY = date(2026, 6, 1)
SEEN = RegistryQuery(
    "torch.f: SIGABRT: Check failed: rank == <number>", "torch.f", "crash", "crash", frozenset({"cpu"}), "torch",
    "2.13.0+cpu",
)  # fmt: skip
ISSUE = "https://example.org/issues/7"
FILE = f"""\
# Reviewed by the team in May.

[[known]]
name = "rank"  # the oldest
pattern = "Check failed: rank"
issue = "{ISSUE}"

# A declared one.
[[known]]
name = "g"
api = ["torch.g", "torch.h.*"]
reason = "declared"
expires = 2026-12-31
"""


def entry(**told: Any) -> KnownEntry:
    return entry_of({"name": "x", "issue": ISSUE, **told}, "here")


@pytest.mark.parametrize(
    "told",
    [
        {"signature": SEEN.signature},
        {"pattern": r"Check failed: rank == <\w+>$"},
        {"pattern": "^torch\\.f:", "oracle": "crash", "kind": "crash", "library": "torch", "mode": "cpu"},
        {"api": "torch.f"},
        {"api": ["tf.*", "torch.*"]},
        {"api": "torch.f", "versions": ">=2.9,<2.14"},
        {"api": "torch.f", "versions": "==2.13.0"},
        {"api": "torch.f", "mode": "c*"},
    ],
)
def test_an_entry_matches_where_all_of_it_holds(told: dict[str, Any]) -> None:
    assert entry(**told).matches(SEEN)


@pytest.mark.parametrize(
    "told",
    [
        {"signature": SEEN.signature[:-1]},
        {"pattern": "check failed"},
        {"api": "torch.F"},
        {"api": "torch"},
        {"api": "torch.f", "oracle": "differential"},
        {"api": "torch.f", "kind": "hang"},
        {"api": "torch.f", "library": "tensorflow"},
        {"api": "torch.f", "mode": "strided"},
        {"api": "torch.f", "versions": "<2.13"},
        {"api": "torch.f", "pattern": "nothing of the kind"},
    ],
)
def test_an_entry_matches_nothing_where_one_part_does_not_hold(told: dict[str, Any]) -> None:
    assert not entry(**told).matches(SEEN)


def test_what_another_mode_shows_too_is_none_of_the_declared_modes() -> None:
    declared = entry(api="torch.f", mode="strided")
    assert declared.matches(SEEN._replace(modes=frozenset({"strided"})))
    assert not declared.matches(SEEN._replace(modes=frozenset({"strided", "cpu"})))
    assert not declared.matches(SEEN._replace(modes=frozenset()))


def test_a_nightly_is_in_the_range_of_its_release_and_no_version_is_in_none() -> None:
    assert entry(api="torch.f", versions=">=2.13.dev0").matches(SEEN._replace(version="2.13.0.dev20260424+cpu"))
    assert not entry(api="torch.f", versions=">0").matches(SEEN._replace(version="trunk"))


@given(st.dates(), st.dates())
def test_an_entry_speaks_again_from_its_day_on(expires: date, today: date) -> None:
    registry = Registry([entry(api="torch.f", expires=expires)], today=today)
    assert (registry.match(SEEN) is None) == (today >= expires)


def test_the_first_entry_that_matches_counts_and_an_own_one_takes_a_shipped_ones_place() -> None:
    shipped, own = entry(name="a", api="torch.f"), entry(name="b", api="torch.*")
    assert Registry([own], [shipped]).match(SEEN) == own
    assert Registry([], [shipped]).match(SEEN) == shipped
    silenced = entry(name="a", api="torch.f", expires=date(2020, 1, 1))
    assert Registry([silenced], [shipped], TODAY).match(SEEN) is None


def test_the_file_is_read_beside_the_shipped_entries(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    assert list(load_registry(file, TODAY).own) == []
    file.write_text(FILE)
    registry = load_registry(file, TODAY)
    assert list(registry.own) == ["rank", "g"]
    found = registry.match(SEEN)
    assert found is not None and found.name == "rank"
    assert list(registry.shipped) == [each.name for each in shipped_entries()]


@pytest.mark.parametrize("shipped", shipped_entries(), ids=lambda each: each.name)
def test_shipped_entries_quote_a_page_and_expire(shipped: KnownEntry) -> None:
    assert shipped.reason and shipped.documentation and shipped.expires and shipped.library
    assert shipped.api and all("*" not in glob for glob in shipped.api)
    assert shipped.oracle and (shipped.mode or shipped.kind), "no declared limitation excuses whatever an api does"


def test_as_strided_depends_on_storage_and_on_nothing_else() -> None:
    registry = load_registry(Path("none.toml"), TODAY)
    signature = "torch.as_strided: wrong-result: strided: x"
    modes = frozenset({"strided"})
    seen = RegistryQuery(signature, "torch.as_strided", "differential", "wrong-result", modes, "torch", "2.13.0")
    assert registry.match(seen) is not None
    assert registry.match(seen._replace(modes=frozenset({"vmap"}))) is None
    assert registry.match(seen._replace(oracle="crash", kind="crash")) is None


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("[[known]\n", ("f.toml is not valid TOML", "line 1")),
        ("\xff", ("f.toml is not valid TOML",)),
        ("[[knwon]]\nname = 'x'\n", ("f.toml: unknown key 'knwon'", "[[known]]")),
        ("known = 3\n", ("`known` is not a list",)),
        ("known = [3]\n", ("`known` is not a list",)),
        ("[[known]]\nname = 'x'\naip = 'torch.f'\n", ("entry 1 ('x'): unknown key 'aip'", "did you mean 'api'?")),
        ("[[known]]\napi = 'torch.f'\n", ("entry 1: name: Field required",)),
        ("[[known]]\nname = 7\n", ("entry 1: name: ",)),
        ("[[known]]\nname = 'x'\napi = 3\n", ("entry 1 ('x'): api: ",)),
        ("[[known]]\nname = 'x'\npattern = '('\n", ("pattern: '(' is not a regular expression",)),
        ("[[known]]\nname = 'x'\nversions = '2.x'\n", ("versions: '2.x' is not a range",)),
        ("[[known]]\nname = 'x'\napi = 'f'\nissue = 'soon'\n", ("issue: ",)),
        ("[[known]]\nname = 'x'\napi = 'f'\nexpires = 'soon'\n", ("expires: ",)),
        ("[[known]]\nname = 'x'\nissue = 'https://e.org/1'\n", ("the entry matches no bug",)),
        ("[[known]]\nname = 'x'\napi = ''\nissue = 'https://e.org/1'\n", ("api",)),
        ("[[known]]\nname = 'x'\napi = 'f'\nreason = 'because'\n", ("never expire", "expires")),
        ("[[known]]\nname = 'x'\napi = 'f'\nexpires = 2027-01-01\n", ("never expire",)),
        (FILE + FILE.partition("\n\n")[2], ("two entries are named 'rank'",)),
    ],
)
def test_what_does_not_fit_is_said_with_its_place(content: str, parts: tuple[str, ...]) -> None:
    with pytest.raises(UserError) as error:
        read_entries(content.encode("latin-1"), "f.toml")
    assert error.value.remedy
    for part in parts:
        assert part in str(error.value)


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a directory"):
        load_registry(tmp_path, TODAY)


def test_an_added_entry_reads_back_and_everything_else_stays(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_text(FILE)
    added = entry(name="new", signature='torch.f: it\'s "so"\\', api=("a", "b"), expires=date(2027, 1, 1))
    add_entry(file, added)
    assert file.read_text().startswith(FILE)
    assert load_registry(file, TODAY).own["new"] == added
    remove_entry(file, "new")
    assert file.read_text().strip() == FILE.strip()


def test_removing_keeps_the_comments_of_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_text(FILE)
    remove_entry(file, "rank")
    assert list(load_registry(file, TODAY).own) == ["g"]
    assert "# Reviewed by the team in May." in file.read_text()
    remove_entry(file, "g")
    assert list(load_registry(file, TODAY).own) == []


def test_the_first_entry_makes_the_file(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    add_entry(file, entry(api="torch.f"))
    assert load_registry(file, TODAY).own["x"] == entry(api="torch.f")


def test_edits_that_are_refused_change_nothing(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_text(FILE)
    with pytest.raises(UserError, match="has an entry 'rank' already"):
        add_entry(file, entry(name="rank", api="torch.f"))
    with pytest.raises(UserError, match="no entry 'torch-as-strided'"):
        remove_entry(file, "torch-as-strided")
    assert file.read_text() == FILE
    file.write_text("a = = 1")
    with pytest.raises(UserError, match="is not valid TOML"):
        add_entry(file, entry(api="torch.f"))
    assert file.read_text() == "a = = 1"
    with pytest.raises(UserError, match="cannot write"):
        add_entry(tmp_path / "no" / "such" / "known.toml", entry(api="torch.f"))


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.text(st.characters(exclude_categories=["Cs"])))
def test_whatever_a_signature_holds_survives_the_file(tmp_path_factory: Any, signature: str, reason: str) -> None:
    file = tmp_path_factory.mktemp("known") / "known.toml"
    made = entry(signature=signature, reason=reason)
    add_entry(file, made)
    assert load_registry(file, TODAY).own["x"] == made
