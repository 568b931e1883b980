"""Tests of space files: their contents, that they have no further contents, and how damaged files are handled."""

from __future__ import annotations

import lzma
from datetime import UTC, datetime
from pathlib import Path

import pytest
from store_values import CRASH, DEAD, KEY, SEED, TARGET, add, bug, case

from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.errors import UserError
from fuzz_core.store import Store, open_store, spacefile
from fuzz_core.store.intake import take_in
from fuzz_core.store.spacefile import forget_foreign, pack, take, unpack

OWN = SEED._replace(digest="own", name="test_secret_product.py", source="tests")


@pytest.fixture
def traced(store: Store) -> Store:
    """Returns a store with calls of the library's seed and of the user's seed, and with a bug."""
    store.save_apis(KEY, [Api("torch.add", "function", ("a", "b"), "add(a, b)")])
    # A paragraph of TensorFlow's documentation is longer than what a constraint may hold.
    text = "`a` must not be negative. " + "Negative numbers are those below zero. " * 20
    store.save_constraints(KEY, [Constraint("torch.add", "a", "minimum", (0.0,), text, "docstring")])
    shipped = [(add(1), "ok"), (add(2), "ok"), (add(3), "exception"), (add(4), "ok"), (add(5), "ok"), (add(6), "ok")]
    store.save_trace(KEY, SEED._replace(reason="/home/ann"), shipped, {("torch.add", "file"): 1}, {})
    store.save_trace(KEY, OWN, [(add(6), "ok"), (add(77), "ok")], {("torch.add", "secret"): 1}, {})
    numbers = {row.invocation: row.id for row in store.invocations(KEY)}
    results = {1: "ok", 2: "ok", 3: "exception", 4: "signal", 6: "ok", 77: "ok"}
    store.set_validity(KEY, [(numbers[add(n)], kind, "" if kind == "ok" else "E: no") for n, kind in results.items()])
    run = store.start_run(KEY, 1, {})
    finding = store.add_finding(KEY, run, case(1, 88), CRASH, DEAD)
    assert finding is not None
    store.settle_finding(finding, "confirmed", bug=bug())
    return store


def packed(store: Store, folder: Path) -> tuple[Path, Path]:
    """Returns a space file of the library's seed alone, and the unpacked file."""
    file, plain = folder / "torch.space", folder / "plain.db"
    assert pack(store, KEY, {SEED.digest}, file) == 3
    unpack(file, plain)
    return file, plain


def test_another_store_takes_over_the_value_space(traced: Store, tmp_path: Path) -> None:
    _, plain = packed(traced, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plain.db", "state", "torch.space"]
    assert take_in(plain, tmp_path / "clean.db").dropped == {}
    with open_store(tmp_path / "other.db") as other:
        other.save_target(TARGET._replace(python="/here/python"))
        assert take(other, tmp_path / "clean.db") == 3
        assert take(other, tmp_path / "clean.db") == 0, "what is here is not taken twice"
        calls = [(row.invocation, row.expected, row.valid) for row in other.invocations(KEY)]
        assert calls == [(add(1), "ok", True), (add(2), "ok", True), (add(3), "exception", False)]
        assert other.refusals(KEY) == traced.refusals(KEY)
        assert other.traced(KEY) == {SEED.digest}
        assert other.constraints(KEY) == traced.constraints(KEY)
        assert {target.python for target in other.targets()} == {"/here/python"}, "the target stays as it is here"
        assert other.argument_space(KEY) == {"a": {"int": {"torch.add": [2, 1]}}}
        assert other.coverage(KEY)[0].undescribed == {"file": 1}


def test_nothing_private_is_in_it(traced: Store, tmp_path: Path) -> None:
    _, plain = packed(traced, tmp_path)
    content = plain.read_bytes()
    assert b"torch.add#0" in content
    for private in (b"secret", b"77", b"88", b"/env", b"/home", b"SIGSEGV", b"[6]", b"[4]"):
        assert private not in content


def test_a_call_that_a_seed_of_the_user_brings_too_stays_behind(traced: Store, tmp_path: Path) -> None:
    _, plain = packed(traced, tmp_path)
    with open_store(plain, read_only=True) as store:
        assert add(6) not in [row.invocation for row in store.invocations(KEY)]


def test_equal_value_spaces_give_equal_bytes(traced: Store, tmp_path: Path) -> None:
    first = packed(traced, tmp_path)[0].read_bytes()
    with open_store(tmp_path / "later.db", clock=lambda: datetime(2027, 1, 2, tzinfo=UTC)) as later:
        unpack(tmp_path / "torch.space", tmp_path / "again.db")
        later.save_target(TARGET._replace(python="/elsewhere", info={"notes": ["another machine"]}))
        take(later, tmp_path / "again.db")
        pack(later, KEY, {SEED.digest}, tmp_path / "later.space")
    assert (tmp_path / "later.space").read_bytes() == first


def test_without_a_checked_call_there_is_nothing_to_pack(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no checked call of"):
        pack(store, KEY, {SEED.digest}, tmp_path / "torch.space")
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda data: b"", "ends too early"),
        (lambda data: data[:-40], "ends too early"),
        (lambda data: b"PK\x03\x04" + data, "not a space file, or is damaged"),
        (lambda data: data[:200] + bytes(100) + data[300:], "not a space file, or is damaged"),
        (lambda data: lzma.compress(bytes(1 << 21)), "unpacks to more than 1 MiB"),
        (lambda data: data + bytes(1 << 21), "larger than 2 MiB"),
        (lambda data: lzma.compress(b"x", preset=9 | lzma.PRESET_EXTREME), None),
    ],
)
def test_a_damaged_file_is_one_clear_error(
    traced: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: object, problem: str | None
) -> None:
    monkeypatch.setattr(spacefile, "MAX_UNPACKED", 1 << 20)
    monkeypatch.setattr(spacefile, "MAX_PACKED", 2 << 20)
    file, _ = packed(traced, tmp_path)
    file.write_bytes(damage(file.read_bytes()))  # type: ignore[operator] # each is a function of the parametrization
    if problem is None:
        unpack(file, tmp_path / "plain.db")
        with pytest.raises(UserError, match="is not a state file of nightfuzz"):
            take_in(tmp_path / "plain.db", tmp_path / "clean.db")
        return
    with pytest.raises(UserError, match=problem):
        unpack(file, tmp_path / "plain.db")


def test_unpacking_takes_no_more_memory_than_is_allowed(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 512 << 20}]
    (tmp_path / "huge.space").write_bytes(lzma.compress(b"x", filters=filters))
    with pytest.raises(UserError, match="not a space file, or is damaged"):
        unpack(tmp_path / "huge.space", tmp_path / "plain.db")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.space cannot be read or written: No such file"):
        unpack(tmp_path / "none.space", tmp_path / "plain.db")


def test_a_file_brings_no_interpreter_of_a_stranger(traced: Store, tmp_path: Path) -> None:
    _, plain = packed(traced, tmp_path)
    with open_store(plain) as store:
        store.save_target(store.target(KEY)._replace(python="/tmp/evil", info={"since": "/tmp/evil"}))
    with open_store(tmp_path / "other.db") as other:
        take(other, plain)
        [target] = other.targets()
        assert (target.python, dict(target.info), target.made_at[:4]) == ("", {}, "1970")
        forget_foreign(other)
        assert not other.targets() and not list(other.invocations(KEY)) and not other.apis(KEY)
