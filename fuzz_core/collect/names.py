"""The public names of a target as documentation uses them, and the statements that import them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from fuzz_core.adapters.dialect import profile_of
from fuzz_core.adapters.library import KNOWN_LIBRARIES
from fuzz_core.ir.catalogue import Api

# Modules that examples use without importing them.
_MODULES = """
abc ast asyncio bisect collections contextlib copy csv dataclasses datetime enum functools gc glob gzip hashlib heapq
inspect io itertools json logging math multiprocessing numbers operator os pathlib pickle pprint queue random re
shutil socket statistics string struct subprocess sys tempfile textwrap threading time timeit types typing unittest
uuid warnings weakref zlib
"""
STANDARD_MODULES = frozenset(_MODULES.split())
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


# An example of an optimiser says `SGD(model.parameters(), lr=0.1)` and never what `model` is. Any small model makes the
# call valid. So names that examples use and do not bind get a value by convention of their use across a library, and
# not for single apis.
_ANY = {
    "True": "true",
    "False": "false",
    "None": "null",
    "0": "axis dim i j",
    "0.1": "learning_rate initial_learning_rate",
    "2": "batch_size num_epochs epochs num_steps num_layers num_heads k",
    "3": "n m",
    "4": "num_classes N",
    "8": "input_size hidden_size embed_dim",
}


def stand_ins(library: str) -> dict[str, str]:
    """Return the expression for each name that examples of a library use and do not bind.

    An expression may use further names of the table.
    """
    found = {name: value for value, names in _ANY.items() for name in names.split()}
    own = profile_of(library)
    return found | dict(own.stand_ins if own else {})


_ROOTS = {root: bound for library in KNOWN_LIBRARIES.values() for root, bound in library.roots.items()}


class PublicNames:
    """Conventions of the library, and the public names of a target."""

    def __init__(self, library: str, apis: Iterable[Api]) -> None:
        self.library = library
        self._known = known_imports(library)
        self._modules: defaultdict[str, set[str]] = defaultdict(set)
        self._params: dict[str, tuple[str, ...]] = {}
        for api in apis:
            if api.kind != "method":
                for name in (api.name, *api.aliases):
                    module, _, short = name.rpartition(".")
                    self._modules[module].add(short)
                    self._params[name] = api.params
        self._packages = {parent for module in self._modules for parent in (module, *_ancestors(module))}
        self._owners: defaultdict[str, list[str]] = defaultdict(list)
        for module in sorted(self._modules, key=lambda name: (name.count("."), len(name), name)):
            for short in self._modules[module]:
                self._owners[short].append(module)

    def has(self, name: str) -> bool:
        """Return whether this is the full name of a public api."""
        return _rooted(name) in self._params

    def has_module(self, name: str) -> bool:
        """Return whether a module of this name has public apis."""
        return _rooted(name) in self._modules

    def find(self, short: str) -> str:
        """Return the full name of the public api with this short name that is nearest to the root; empty if none."""
        return f"{self._owners[short][0]}.{short}" if short in self._owners else ""

    def params(self, name: str) -> tuple[str, ...]:
        """Return names of the positional parameters of an api, as far as known."""
        return self._params.get(name, ())

    def statement(self, name: str, api: Api | None = None, called: bool = False) -> str:
        """Return the statement that binds a free name of an example of `api`; empty if none is known.

        The api's own module goes before conventions (its example means its own `Dropout`), and all further modules come
        last.

        Args:
            called: whether the example calls the name, so that no module is meant.
        """
        homes = _homes(api)
        for module in homes:
            if name in self._modules.get(module, ()):
                return _bind(module, name)
        if name in self._known and not (called and name in STANDARD_MODULES):
            return self._known[name]
        for module in homes:
            for parent in _ancestors(module):
                if name in self._modules.get(parent, ()) or (not called and f"{parent}.{name}" in self._packages):
                    return _bind(parent, name)
        if name in self._owners:
            return _bind(self._owners[name][0], name)
        return "" if called else self._package(name)

    def _package(self, name: str) -> str:
        found = sorted((package for package in self._packages if package.endswith(f".{name}")), key=len)
        return _bind(found[0].rpartition(".")[0], name) if found else ""


def _rooted(name: str) -> str:
    """Return the name below the library's own root: Keras is public as `tf.keras` too."""
    return f"tf.{name}" if name.startswith("keras.") or name == "keras" else name


def _ancestors(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]


def _homes(api: Api | None) -> Sequence[str]:
    """Return modules that an api is public in; the class's module for a method."""
    if api is None:
        return ()
    cut = 2 if api.kind == "method" else 1
    return list(dict.fromkeys(name.rsplit(".", cut)[0] for name in (api.name, *api.aliases) if name.count(".") >= cut))


def _bind(module: str, name: str) -> str:
    """Return the statement for a public name.

    Members of lazy modules exist as attributes alone, and are assigned.
    """
    root = module.partition(".")[0]
    plain = f"import {root}"
    if (bound := _ROOTS.get(root, plain)) != plain:
        return f"{bound}\n{name} = {module}.{name}"
    return f"from {module} import {name}"
