"""Unbound names: those that code reads before it binds them, in any layout of the statements."""

from __future__ import annotations

import pytest

from fuzz_core.collect.repair import unbound_names


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("a = f([1,\n      2]); b", ("f", "b")),
        ("a = 1; b = a; c(b)", ("c",)),
        ('text = """\n  x"""; y', ("y",)),
        ("@d\n@e\ndef f(x=g): return h", ("d", "e", "g", "h")),
        ("ü = 'ü'; print(ü); z", ("print", "z")),
    ],
)
def test_statements_may_share_lines(code: str, names: tuple[str, ...]) -> None:
    assert sorted(unbound_names(code)) == sorted(names)
