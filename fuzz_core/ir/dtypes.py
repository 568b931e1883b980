"""The one table of element types; adapters map these names to their library's objects."""

import math
import struct
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple


class Tolerance(NamedTuple):
    """How far an element may be off: `absolute + relative * |expected|`."""

    relative: float = 0.0
    absolute: float = 0.0


class DType(NamedTuple):
    """An element type: its kind, its width in bits and the numpy type that holds its values exactly."""

    name: str
    kind: str
    bits: int
    storage: str
    # Whether few libraries compute with it.
    rare: bool = False
    # Limits of floating-point numbers, or of the parts of complex ones; `epsilon` is the distance from 1 to the next.
    largest: float = 0.0
    normal: float = 0.0
    epsilon: float = 0.0
    tolerance: Tolerance = Tolerance()

    @property
    def floating(self) -> bool:
        """Whether its numbers are rounded."""
        return self.kind in ("float", "complex")

    @property
    def width(self) -> int:
        """Bytes of a stored element; 1 for texts, which have no fixed width."""
        return struct.calcsize(_CODES.get(self.storage, "<s"))

    def unpack(self, data: bytes) -> Iterator[tuple[Any, ...]]:
        """Yield the stored numbers, a complex one as its two parts.

        Raises:
            struct.error: the bytes do not fit the dtype.
        """
        return struct.iter_unpack(_CODES[self.storage], data)

    def rounded(self, value: float) -> float:
        """Return the nearest floating-point number of the storage type; infinite where that has none so large."""
        try:
            (number,) = struct.unpack(_CODES[self.storage], struct.pack(_CODES[self.storage], value))
        except OverflowError:
            return math.copysign(math.inf, value)
        return float(number)

    @property
    def denormal(self) -> float:
        """The least positive number, in one digit that rounds to it."""
        return _DENORMALS[self.name]


_CODES = {
    "bool": "<?",
    "uint8": "<B",
    "uint16": "<H",
    "uint32": "<I",
    "uint64": "<Q",
    "int8": "<b",
    "int16": "<h",
    "int32": "<i",
    "int64": "<q",
    "float16": "<e",
    "float32": "<f",
    "float64": "<d",
    "complex64": "<ff",
    "complex128": "<dd",
}
# Tolerances are those of `torch.testing`.
_HALF = (65504.0, 2.0**-14, 2.0**-10, Tolerance(1e-3, 1e-5))
_SINGLE = (3.4028234663852886e38, 2.0**-126, 2.0**-23, Tolerance(1.3e-6, 1e-5))
_DOUBLE = (1.7976931348623157e308, 2.0**-1022, 2.0**-52, Tolerance(1e-7, 1e-7))
_ROWS: tuple[Any, ...] = (
    ("bool", "bool", 8, "bool"),
    ("uint8", "uint", 8, "uint8"),
    ("uint16", "uint", 16, "uint16", True),
    ("uint32", "uint", 32, "uint32", True),
    ("uint64", "uint", 64, "uint64", True),
    ("int8", "int", 8, "int8"),
    ("int16", "int", 16, "int16"),
    ("int32", "int", 32, "int32"),
    ("int64", "int", 64, "int64"),
    ("float8_e4m3fn", "float", 8, "float32", True, 448.0, 2.0**-6, 2.0**-3, Tolerance(0.13, 0.13)),
    ("float8_e5m2", "float", 8, "float32", True, 57344.0, 2.0**-14, 2.0**-2, Tolerance(0.26, 0.26)),
    ("float16", "float", 16, "float16", False, *_HALF),
    ("bfloat16", "float", 16, "float32", False, 3.3895313892515355e38, 2.0**-126, 2.0**-7, Tolerance(1.6e-2, 1e-5)),
    ("float32", "float", 32, "float32", False, *_SINGLE),
    ("float64", "float", 64, "float64", False, *_DOUBLE),
    ("complex32", "complex", 32, "complex64", True, *_HALF),
    ("complex64", "complex", 64, "complex64", False, *_SINGLE),
    ("complex128", "complex", 128, "complex128", False, *_DOUBLE),
    ("string", "string", 0, "object"),
)

DTYPES: dict[str, DType] = {row[0]: DType(*row) for row in _ROWS}
# The least numbers are computed before a library may take denormals for zeros in the whole process.
_DENORMALS = {name: float(f"{each.normal * each.epsilon:.0e}") for name, each in DTYPES.items()}


def double_of(name: str) -> str:
    """Return the dtype of doubles for one of floating-point numbers; any other name as it is."""
    kind = DTYPES[name].kind if name in DTYPES else ""
    return {"float": "float64", "complex": "complex128"}.get(kind, name)


def coarseness(names: Iterable[str]) -> float:
    """Return how many times as coarse as single precision the coarsest of these dtypes rounds; at least 1."""
    return max([1.0, *(DTYPES[name].epsilon / DTYPES["float32"].epsilon for name in names if name in DTYPES)])


def integer_bounds(name: str) -> tuple[int, int]:
    """Return smallest and largest value of an integer or bool dtype.

    Raises:
        KeyError: other kinds.
    """
    dtype = DTYPES[name]
    if dtype.kind == "bool":
        return 0, 1
    if dtype.kind == "uint":
        return 0, 2**dtype.bits - 1
    if dtype.kind == "int":
        return -(2 ** (dtype.bits - 1)), 2 ** (dtype.bits - 1) - 1
    raise KeyError(name)
