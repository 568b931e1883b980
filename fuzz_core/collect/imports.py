"""Names that examples use without importing them, and the statements that bring them in."""

from __future__ import annotations

from fuzz_core.adapters.dialect import profile_of

_MODULES = """
abc ast asyncio bisect collections contextlib copy csv dataclasses datetime enum functools gc glob gzip hashlib heapq
inspect io itertools json logging math multiprocessing numbers operator os pathlib pickle pprint queue random re
shutil socket statistics string struct subprocess sys tempfile textwrap threading time timeit types typing unittest
uuid warnings weakref zlib
"""
STANDARD_MODULES = frozenset(_MODULES.split())
"""Modules that examples use without importing them."""

_STANDARD_MEMBERS = {
    "collections": "Counter OrderedDict defaultdict deque namedtuple",
    "contextlib": "ExitStack contextmanager nullcontext suppress",
    "copy": "deepcopy",
    "dataclasses": "dataclass field",
    "enum": "Enum IntEnum",
    "functools": "cached_property lru_cache partial reduce wraps",
    "itertools": "accumulate chain combinations count cycle islice permutations product repeat starmap zip_longest",
    "math": "ceil exp floor inf nan pi sqrt",
    "pathlib": "Path",
    "pprint": "pprint",
    "random": "randint shuffle",
    "threading": "Lock Thread",
    "time": "sleep",
    "typing": (
        "Any Callable Dict Generator Generic Iterable Iterator List Literal Mapping NamedTuple Optional Protocol "
        "Sequence Set Tuple Type TypeVar Union"
    ),
    "unittest": "TestCase mock",
}

_COMMON = {
    "np": "import numpy as np",
    "numpy": "import numpy",
    "plt": "import matplotlib.pyplot as plt",
    "pd": "import pandas as pd",
    "pandas": "import pandas",
    "scipy": "import scipy",
    "Image": "from PIL import Image",
}


def known_imports(library: str) -> dict[str, str]:
    """Return the import statement for each name that has one by convention; the library's own conventions win."""
    known = {name: f"import {name}" for name in sorted(STANDARD_MODULES)}
    for module, members in _STANDARD_MEMBERS.items():
        known |= {name: f"from {module} import {name}" for name in members.split()}
    own = profile_of(library)
    return known | _COMMON | dict(own.imports if own else {})
