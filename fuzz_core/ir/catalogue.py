"""The public apis of a target, as the adapter lists them and the store keeps them."""

from __future__ import annotations

from typing import NamedTuple


class Api(NamedTuple):
    """A public callable.

    kind: function, class or method (`torch.Tensor.add`: the instance is the first argument). params: names of the
    positional parameters in order, as far as known. definition: name with signature, what FreeFuzz compares by
    Levenshtein distance. doc: its docstring. aliases: other public names of the same object.
    """

    name: str
    kind: str
    params: tuple[str, ...] = ()
    definition: str = ""
    doc: str = ""
    aliases: tuple[str, ...] = ()
