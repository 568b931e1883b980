"""Tests of deprecated apis and arguments that the docstrings of both libraries announce."""

from __future__ import annotations

import pytest

from fuzz_core.ir.catalogue import Api, deprecated

DEFINITION = "torch.f(x, tol=None, size_average=None, back_prop=True, dim=None)"


@pytest.mark.parametrize(
    ("doc", "found"),
    [
        ("Sums.", ()),
        ("Sums.\n\n.. deprecated:: 2.0\n    Use g.\n", ("*",)),
        ("This function is deprecated in favor of :func:`g`.", ("*",)),
        ("Sums.\n\n.. warning::\n    This method is now deprecated in favor of g_.\n", ("*",)),
        (".. warning::\n\n    :func:`torch.f` is deprecated in favor of :func:`torch.linalg.f`", ("*",)),
        ("torch.f is deprecated and may be removed in a future PyTorch release.", ("*",)),
        ("DEPRECATED.", ("*",)),
        ("Sums. (deprecated)\n\nDeprecated: THIS FUNCTION IS DEPRECATED. It will be removed.", ("*",)),
        ("Sums.\n\nArgs:\n    size_average (bool, optional): Deprecated (see :attr:`reduction`).", ("size_average",)),
        ("Sums.\n\nArgs:\n    back_prop: (optional) Deprecated. False disables it.\n", ("back_prop",)),
        ("Sums.\n\nHowever, use of the positional argument :attr:`tol` is deprecated.", ("tol",)),
        ("Sums.\n\ndim is deprecated, use axis instead", ("dim",)),
        ("Deprecated: SOME ARGUMENTS ARE DEPRECATED: `(dim, tol)`. They will be removed.", ("dim", "tol")),
        ("Deprecated: SOME ARGUMENT VALUES ARE DEPRECATED: `(back_prop=False)`. They will.", ("back_prop",)),
        ("If broadcast, this behavior is deprecated and will be changed.", ()),
        (":class:`TypedStorage` is deprecated. It will be removed in the future.", ()),
        ("Sums.\n\n    >>> f(1)  # will raise a deprecation warning\n", ()),
        ("Like the deprecated `g`.", ()),
    ],
)
def test_of_an_api_and_of_its_arguments(doc: str, found: tuple[str, ...]) -> None:
    assert deprecated(Api("torch.f", "function", ("x", "tol"), DEFINITION, doc)) == found
