"""The one table of element types; adapters map these names to their library's objects."""

from typing import NamedTuple


class DType(NamedTuple):
    """An element type: its kind, its width in bits and the numpy type that holds its values exactly."""

    name: str
    kind: str
    bits: int
    storage: str


_ROWS = (
    ("bool", "bool", 8, "bool"),
    ("uint8", "uint", 8, "uint8"),
    ("uint16", "uint", 16, "uint16"),
    ("uint32", "uint", 32, "uint32"),
    ("uint64", "uint", 64, "uint64"),
    ("int8", "int", 8, "int8"),
    ("int16", "int", 16, "int16"),
    ("int32", "int", 32, "int32"),
    ("int64", "int", 64, "int64"),
    ("float8_e4m3fn", "float", 8, "float32"),
    ("float8_e5m2", "float", 8, "float32"),
    ("float16", "float", 16, "float16"),
    ("bfloat16", "float", 16, "float32"),
    ("float32", "float", 32, "float32"),
    ("float64", "float", 64, "float64"),
    ("complex32", "complex", 32, "complex64"),
    ("complex64", "complex", 64, "complex64"),
    ("complex128", "complex", 128, "complex128"),
    ("string", "string", 0, "object"),
)

DTYPES: dict[str, DType] = {row[0]: DType(*row) for row in _ROWS}


def integer_bounds(name: str) -> tuple[int, int]:
    """Smallest and largest value of an integer or bool dtype. Raises KeyError for other kinds."""
    dtype = DTYPES[name]
    if dtype.kind == "bool":
        return 0, 1
    if dtype.kind == "uint":
        return 0, 2**dtype.bits - 1
    if dtype.kind == "int":
        return -(2 ** (dtype.bits - 1)), 2 ** (dtype.bits - 1) - 1
    raise KeyError(name)
