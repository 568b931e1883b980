"""Signatures with their documentation: kinds, allowed dtypes and texts of arguments, and words to read as hints."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.docstrings import ArgumentEntry, entries
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.signatures import ApiSignature, SignatureParameter
from fuzz_core.ir.values import prim
from fuzz_core.synthesis.refusals import dtype_of

# Later words of a description are mostly about what the function does.
MAX_TEXT = 240
_START = r"^(?:\(?optional\)?[,.:]? |an? |the |python |non-empty |scalar |single |positive )*"
_LIST = r"\b(?:lists?|tuples?|sequences?|iterables?)(?:/\w+)?(?: or \w+)?[ \[](?:of )?(?:at least )?(?:\w+ )?"
# A class of the library that no other kind stands for.
_CLASS = r"(?:tf|torch|keras)\.(?:\w+\.)*(?!\w*(?:Tensor|Variable|DType|Shape|Size)\b)(?-i:[A-Z])\w+"
# The first pattern that a description matches decides the kind of a value, and whether the argument is a list.
_DESCRIBED: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (re.compile(pattern, re.I), kind, many)
    for pattern, kind, many in (
        (rf"{_START}(?:\w+ )?(?:callable|function)\b", "function", ""),
        (rf"{_LIST}(?:ints?|integers?)\b", "int", "*"),
        (rf"{_LIST}floats?\b", "float", "*"),
        (rf"{_LIST}bool(?:ean)?s?\b", "bool", "*"),
        (rf"{_LIST}(?:strings?|strs?)\b", "str", "*"),
        (rf"{_LIST}(?:tf\.|torch\.)?(?:dtypes?|types)\b", "dtype", "*"),
        (rf"{_LIST}(?:tf\.|torch\.)?(?:tensors?|vars?|arrays?)\b", "tensor", "*"),
        (rf"{_LIST}{_CLASS}\b", "any", "*"),
        (rf"{_START}{_CLASS}\b", "any", ""),
        (r"\btensors?\b|\bndarrays?\b|\barrays?\b|\barray[-_ ]like\b", "tensor", ""),
        (rf"{_START}(?:\w+\.)?(?:dtype|datatype|data type)\b", "dtype", ""),
        (rf"{_START}(?:\w+ )?name (?:for|of|to)\b", "str", ""),
        (rf"{_START}(?:string|str)\b|\b(?:either|one of)(?: the strings?)?:? [\"']", "str", ""),
        (rf"{_START}bool(?:ean)?\b|{_START}(?:whether|if true|when true|true (?:if|iff|when))\b", "bool", ""),
        (rf"{_START}(?:int(?:eger|32|64)?|number of)\b", "int", ""),
        (rf"{_START}(?:float|number|scalar)\b", "float", ""),
    )
)
_SENTENCE = re.compile(r"\.\s")
# Another tensor than the argument: `the data type of the returned tensor`.
_OTHER = re.compile(
    r"\b(?:of|for) (?:the|this|an?|each|every|all) (?:[\w-]+ ){0,2}`?(?:tensors?|arrays?|ndarrays?)\b", re.I
)
# Only another call makes a tensor of these dtypes.
_MADE = re.compile(r"\b(resource|variant)`? tensors?\b")
_OF_TYPE = (re.compile(r"\btensors? of d?type (\w+)", re.I), re.compile(r"\b(\w+) tensors?\b", re.I))


def described(signature: ApiSignature, doc: str, constraints: Sequence[Constraint]) -> ApiSignature:
    """Return a signature whose parameters have what documentation says of them.

    A kind that the definition states is kept.

    Args:
        doc: docstring of the api.
        constraints: what the documentation allows, for this api.
    """
    entry = {each.name: each for each in entries(doc)}
    allowed = {(each.argument, each.kind): each.bounds for each in constraints}
    made = []
    for parameter in signature.parameters:
        if parameter.name in entry:
            parameter = _typed(parameter, entry[parameter.name])
        dtypes = tuple(str(each) for each in allowed.get((parameter.name, "dtypes"), ()) if each in DTYPES)
        choices = tuple(prim(each) for each in allowed.get((parameter.name, "choices"), ()))
        if dtypes and not parameter.dtypes and parameter.kind in ("tensor", "dtype"):
            parameter = parameter._replace(dtypes=dtypes)
        if choices and not parameter.choices and parameter.kind in ("any", "str"):
            parameter = parameter._replace(choices=choices)
        made.append(parameter)
    return signature._replace(parameters=tuple(made))


def _typed(parameter: SignatureParameter, entry: ArgumentEntry) -> SignatureParameter:
    text = f"{entry.type}. {entry.text}" if entry.type else entry.text
    parameter = parameter._replace(text=text[:MAX_TEXT])
    if parameter.kind != "any" or parameter.choices:
        return parameter
    # The words in parentheses behind a name are a type; else the first sentence has it.
    said = _OTHER.sub("", next(filter(None, (entry.type, _SENTENCE.split(entry.text)[0])), ""))
    if found := _MADE.search(said):
        return parameter._replace(kind="object", dtypes=(found[1],))
    kind, many = next(((kind, many) for pattern, kind, many in _DESCRIBED if pattern.search(said)), ("any", ""))
    parameter = parameter._replace(kind=kind, many=many)
    named = (found[1] for pattern in _OF_TYPE if kind == "tensor" and (found := pattern.search(said)))
    dtype = next(filter(None, map(dtype_of, named)), "")
    return parameter._replace(dtypes=(dtype,), group="") if dtype else parameter
