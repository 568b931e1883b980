"""The public apis of a target, as the adapter lists them and the store keeps them."""

from __future__ import annotations

from typing import Any, NamedTuple

from fuzz_core.ir.errors import CodecError


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

    def to_json(self) -> list[Any]:
        """The record as plain JSON data."""
        return [self.name, self.kind, list(self.params), self.definition, self.doc, list(self.aliases)]

    @classmethod
    def from_json(cls, data: Any) -> Api:
        """Reads `to_json`'s form back. Raises CodecError: the data comes from untrusted code."""
        match data:
            case [str(name), str(kind), list(params), str(definition), str(doc), list(aliases)]:
                return cls(name, kind, tuple(map(str, params)), definition, doc, tuple(map(str, aliases)))
        raise CodecError(f"not an api: {str(data)[:200]}")
