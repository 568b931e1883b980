"""Forms of a call that a refusal asks for: Python's own messages about arguments, and demands of a type."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fuzz_core.ir.signatures import LOOSE, ApiSignature, SignatureParameter

_MISSING = re.compile(r"missing \d+ required (?:positional|keyword-only) arguments?: ([\w'\", ]+)")
_UNEXPECTED = re.compile(r"unexpected keyword argument ['\"](\w+)['\"]")
_TOO_MANY = re.compile(r"takes (?:no|exactly \w+|(?:from \d+ to )?\d+) (?:positional )?arguments?\b.*\bgiven")
_QUOTED = re.compile(r"['\"](\w+)['\"]")
# TensorFlow asks so for the attribute of an operation, which is no tensor.
_ATTRIBUTE = re.compile(r"\b[Ee]xpected (?:an? )?(?P<kind>\w+) for (?:argument )?['\"](?P<name>\w+)['\"]")
_DEMANDS = (
    re.compile(
        r"\b(?:argument )?['\"`]?(?P<name>\w+)['\"`]? (?:\(position \d+\) )?(?:must|should) (?:be|have) "
        r"(?:an? |of type )?(?P<kind>[\w.]*\w(?: of ints)?)"
    ),
    _ATTRIBUTE,
    re.compile(r"Cannot interpret .+ as a (?P<kind>data type)(?P<name>)", re.DOTALL),
)
_KINDS = {
    "DataType": "dtype",
    "Tensor": "tensor",
    "bool": "bool",
    "callable": "function",
    "data type": "dtype",
    "dtype": "dtype",
    "float": "float",
    "function": "function",
    "int": "int",
    "integer": "int",
    "list": "shape",
    "str": "str",
    "string": "str",
    "tuple": "shape",
    "tuple of ints": "shape",
}


def other_form(signature: ApiSignature, message: str) -> ApiSignature | None:
    """Return the signature as a refusal of it asks for; None if the refusal is about something else."""
    own = signature.own if signature.method else signature.parameters
    changed = tuple(_changed(own, message))
    if changed == own:
        return None
    return signature._replace(own=changed) if signature.method else signature._replace(parameters=changed)


def _changed(own: tuple[SignatureParameter, ...], message: str) -> Iterator[SignatureParameter]:
    unexpected = _UNEXPECTED.search(message)
    last = max((place for place, each in enumerate(own) if each.positional), default=-1)
    demand = next((found for pattern in _DEMANDS if (found := pattern.search(message))), None)
    kind = _KINDS.get(demand["kind"].rpartition(".")[2], "") if demand else ""
    # A definition has attributes apart from tensors, so that the tensor is a guess from a description.
    is_attribute = demand is not None and demand.re is _ATTRIBUTE and demand["kind"] != "list"
    guessed = ("any", "tensor") if is_attribute else ("any",)
    # A function of C without names of its arguments has others in its signature than in its refusals.
    known = {each.name for each in own}
    part = "" if demand is None or demand["name"] else "type"
    free = next((each.name for each in own if each.kind == "any" and part in each.name), "")
    demanded = demand["name"] if demand and demand["name"] in known else free
    for place, each in enumerate(own):
        if unexpected and each.name == unexpected[1] and not each.positional:
            continue
        if place == last and last > 0 and _TOO_MANY.search(message):
            continue
        if kind and each.name == demanded and each.kind in guessed:
            yield each._replace(kind=kind, many="")
        elif each.name == demanded and each.kind == "tensor" and demand and demand["kind"] == "list":
            yield each._replace(many="*")
        else:
            yield each
    missing = _MISSING.search(message)
    for name in _QUOTED.findall(missing[1]) if missing else ():
        if name not in known:
            yield SignatureParameter(name, group=LOOSE)
