"""Signatures by definition: the arguments of an api, as data that a search draws calls from."""

from __future__ import annotations

from typing import NamedTuple

from fuzz_core.ir.values import Then, Value

# `shape` is a list of sizes, `number` any scalar number, `object` what another call makes, `any` an unknown type.
KINDS = ("tensor", "int", "float", "bool", "str", "dtype", "shape", "number", "function", "object", "any")
# The tensors of a group whose name begins so have one dtype in most calls.
LOOSE = "~"
# The source of the calls that a search has found. Traced seeds have further sources, see `collect.sources`.
SEARCH = "search"
# The source of the calls that other recorded calls make inside.
NEIGHBOUR = "neighbour"
# The kind of what the construction of a class makes.
OBJECT = "object"


class SignatureParameter(NamedTuple):
    """An argument of an api."""

    name: str
    kind: str = "any"  # one of KINDS
    required: bool = True
    positional: bool = False  # whether the argument has no keyword
    # The argument is a list of such values if this is not empty. Lists with the same text have the same length; `*`
    # stands for a length of its own.
    many: str = ""
    group: str = ""  # tensors of one group have one dtype, and the dtypes of the group name it
    dtypes: tuple[str, ...] = ()  # names of the allowed dtypes; empty for any
    choices: tuple[Value, ...] = ()  # the allowed values; empty for any
    least: int | None = None  # the least number, or the least length of a list
    text: str = ""  # the first words that documentation has about the argument


class Product(NamedTuple):
    """An object that a call makes for others."""

    kind: str  # one of the dtypes of a parameter that wants an object, `string`, or OBJECT for an instance of a class
    then: Then | None = None  # how the object is taken from the result; None if it is the result
    name: str = ""  # of the output, if its definition alone says what it is: arguments with this name want no other


class ApiSignature(NamedTuple):
    """The parameters of one overload of an api."""

    api: str
    parameters: tuple[SignatureParameter, ...] = ()
    method: str = ""  # the method to call on the instance that a class makes
    own: tuple[SignatureParameter, ...] = ()  # the parameters of that method
