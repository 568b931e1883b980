"""The command `nightfuzz` as jobs with a token have it: packages that are not in their lock cannot be imported."""

from __future__ import annotations

import re
import stat
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.utils import canonicalize_name

LOCK = Path(__file__).parents[2] / "requirements" / "report.txt"
TOKEN_JOBS = ("plan", "report", "listen")
# `COMMAND import NAME…` imports modules; every other command goes to nightfuzz.
PROGRAM = """#!{python} -P
import importlib, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent}:
            raise ImportError(f"{{name}} is not installed in a job that holds a token")

words = sys.argv[1:]
if words[0] == "import" or words[:1] == ["action"] and words[1] in {jobs}:
    sys.meta_path.insert(0, Absent())
if words[0] == "import":
    for name in words[1:]:
        importlib.import_module(name)
else:
    from nightfuzz.bot.main import main
    main()
"""


def written(path: Path) -> Path:
    """Writes the command to a file."""
    locked = set(map(canonicalize_name, re.findall(r"^([\w.-]+)==", LOCK.read_text(), re.MULTILINE)))
    absent = {
        module
        for module, distributions in packages_distributions().items()
        if not {canonicalize_name(each) for each in distributions} & {*locked, "nightfuzz"}
    }
    path.write_text(PROGRAM.format(python=sys.executable, absent=sorted(absent), jobs=TOKEN_JOBS))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path
