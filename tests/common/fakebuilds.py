"""Builds of one small library, each in an environment of its own, and bugs of it in a store."""

from __future__ import annotations

import sysconfig
import venv
from pathlib import Path

import numpy as np
from fakelib_plans import call

from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.store.records import NewBug, TargetRecord
from fuzz_core.store.store import Store
from fuzz_core.triage.signature import signature

IMPORTS = "import numpy as np\nimport fakelib\n\n"
BROKEN = 'def scale(x, by):\n    raise SystemError("scale returned NULL without setting an exception")\n'
OTHER = 'def scale(x, by):\n    raise SystemError("bad argument to internal function")\n'
RIGHT = "def scale(x, by):\n    return x * by\n"
REFUSES = 'def scale(x, by):\n    raise ValueError("by must not be negative")\n'
NONE = "def shrink(x, by):\n    return x * by\n"
FLAKY = (
    "from pathlib import Path\n\n\ndef scale(x, by):\n    turn = Path(__file__).with_name('turn')\n"
    "    if turn.exists():\n        turn.unlink()\n        return x\n    turn.touch()\n"
    '    raise SystemError("scale returned NULL without setting an exception")\n'
)
SCALE = TestCase(call("scale", np.ones(3), -1.0), 1)
SCRIPT = f"{IMPORTS}fakelib.scale(np.ones(3), -1.0)\n"
JUDGED = Verdict("crash", "internal-error", "cpu: SystemError")
FAILED = Outcome("exception", "SystemError", "scale returned NULL without setting an exception")


class Builds:
    """Builds under a directory; `made` counts the days on which they became targets."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.made = 0

    def make(self, version: str, source: str) -> TargetRecord:
        """Makes a target whose fakelib has this source."""
        home = self.root / f"fakelib-{version}"
        venv.create(home / "env", symlinks=True)
        base = str(home / "env")
        packages = Path(sysconfig.get_path("purelib", vars={"base": base, "platbase": base}))
        (packages / "fakelib.pth").write_text(f"{Path(np.__file__).parent.parent}\n{home}\n")
        (home / "fakelib").mkdir()
        (home / "fakelib" / "__init__.py").write_text(source)
        python = str(home / "env" / "bin" / "python")
        self.made += 1
        day = f"2026-01-{self.made:02d}T00:00:00.000+00:00"
        return TargetRecord(f"fakelib-{version}", f"python:{python}", "fakelib", version, python, {}, day)


def found(
    store: Store,
    target: str,
    test: TestCase = SCALE,
    script: str = SCRIPT,
    outcome: Outcome = FAILED,
    verdict: Verdict = JUDGED,
) -> int:
    """Stores a confirmed bug on a target; returns its number."""
    finding = store.add_finding(target, store.start_run(target, 1, {}), test, verdict, outcome)
    assert finding is not None
    api = test.invocation.api
    text = signature(api, verdict, outcome).text
    bug = NewBug(text, api, verdict.oracle, verdict.kind, test, script, outcome, 3, 3, True)
    number = store.settle_finding(finding, "confirmed", hits=3, runs=3, bug=bug)
    assert number is not None
    return number
