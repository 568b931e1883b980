"""Apis of tests, by their definitions."""

from __future__ import annotations

from fuzz_core.adapters.inventory import parameters_in
from fuzz_core.ir.catalogue import Api


def api_of(definition: str, kind: str, doc: str = "") -> Api:
    """Return an api with the signature of a definition such as `lib.f(x, p=1)`."""
    name, _, inside = definition.partition("(")
    signature = tuple(parameters_in(inside[:-1]))
    params = tuple(each.name for each in signature if each.positional)
    return Api(name, kind, params, definition, doc, (), signature)
