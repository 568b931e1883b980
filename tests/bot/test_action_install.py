"""Installing from a lock with kept downloads: the second job asks no index, and a foreign package is refused."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fakeindex import real_index
from fakewheels import FakeWheel, write_wheel
from runner import Runner
from workflow_checks import ROOT, loaded

pytestmark = pytest.mark.slow
NOWHERE = "http://127.0.0.1:9/simple"


class LockedIndex:
    """A lock of one package, and the index that holds the package."""

    def __init__(self, home: Path) -> None:
        self.home, self.wheels = home, home / "kept" / "wheels"
        self.wheels.parent.mkdir()
        (home / "requirements").mkdir()
        shutil.copy(ROOT / "requirements/install.sh", home / "requirements")
        self.wheel = write_wheel(home / "index", FakeWheel("tiny", "1.0", "VALUE = 'ours'"))
        digest = hashlib.sha256(self.wheel.read_bytes()).hexdigest()
        (home / "requirements/app.txt").write_text(f"tiny==1.0 --hash=sha256:{digest}\n")
        self.environments = 0

    def install(self, index: str) -> str:
        """Install into a new environment; return the value of the installed package, or the error text."""
        self.environments += 1
        environment = self.home / f"environment-{self.environments}"
        script = ["bash", str(self.home / "requirements/install.sh"), sys.executable, str(environment), "app"]
        told = {**os.environ, "PIP_INDEX_URL": index, "PIP_RETRIES": "0", "PIP_FIND_LINKS": ""}
        done = subprocess.run([*script, str(self.wheels)], env=told, capture_output=True, text=True)
        if done.returncode:
            return done.stderr
        ask = [environment / "bin/python", "-c", "import tiny; print(tiny.VALUE)"]
        return subprocess.check_output(ask, text=True).strip()


@pytest.fixture
def place(tmp_path: Path) -> LockedIndex:
    return LockedIndex(tmp_path)


def test_a_second_job_asks_no_index(place: LockedIndex) -> None:
    assert "No matching distribution" in place.install(NOWHERE)
    with real_index(place.home / "index") as index:
        assert place.install(index) == "ours"
    assert place.install(NOWHERE) == "ours"


def test_whatever_was_put_among_the_downloads_is_not_installed(place: LockedIndex) -> None:
    with real_index(place.home / "index") as index:
        assert place.install(index) == "ours"
        evil = write_wheel(place.home / "evil", FakeWheel("tiny", "1.0", "VALUE = 'theirs'"))
        shutil.copy(evil, place.wheels)
        assert place.install(index) == "ours"
        shutil.copy(evil, place.wheels)
    assert "tiny" in place.install(NOWHERE)
    (place.wheels / place.wheel.name).write_bytes(b"cut")
    with real_index(place.home / "index") as index:
        assert place.install(index) == "ours"
    assert place.install(NOWHERE) == "ours"


class DescribeTheFolder:
    def named(self, home: Path, **environment: str) -> dict[str, str]:
        steps = {"look": {"python": sys.executable}, "install": {}, "work": {}, "export": {}}
        done = Runner(home, environment).run(ROOT, {}, steps)
        assert done.step("wheels").outcome == "success", done.log
        return done.step("wheels").outputs

    def test_it_is_the_runners_and_named_by_the_lock(self, tmp_path: Path) -> None:
        tools = tmp_path / "tools"
        first, again = (self.named(tmp_path / name, RUNNER_TOOL_CACHE=str(tools)) for name in ("a", "b"))
        assert first == again
        assert first["folder"] == f"{tools}/nightfuzz/{first['key']}"
        assert first["key"].startswith("nightfuzz-wheels-app-")

    def test_without_a_folder_of_tools_it_lasts_as_long_as_the_job(self, tmp_path: Path) -> None:
        found = self.named(tmp_path / "a", RUNNER_TOOL_CACHE="/dev/null/tools")
        assert found["folder"].startswith(str(tmp_path / "a" / "temp"))

    def test_those_of_older_locks_go_after_a_month(self, tmp_path: Path) -> None:
        place = tmp_path / "tools" / "nightfuzz"
        for name, days in (("nightfuzz-wheels-app-1", 40), ("nightfuzz-wheels-app-2", 3), ("something", 40)):
            (place / name).mkdir(parents=True)
            then = time.time() - days * 86_400
            os.utime(place / name, (then, then))
        self.named(tmp_path / "a", RUNNER_TOOL_CACHE=str(tmp_path / "tools"))
        assert sorted(path.name for path in place.iterdir()) == ["nightfuzz-wheels-app-2", "something"]


def test_the_cache_of_githubs_machines_is_written_before_any_code_under_test_runs() -> None:
    steps = loaded(ROOT / "action.yml")["runs"]["steps"]
    names = [step["name"] for step in steps]
    assert names.index("Get the packages") < names.index("Install nightfuzz") < names.index("Keep the packages")
    assert names.index("Keep the packages") + 1 == names.index("Run nightfuzz")
    for step in (each for each in steps if "cache" in each.get("uses", "")):
        assert step["with"] == {
            "path": "${{ steps.wheels.outputs.folder }}", "key": "${{ steps.wheels.outputs.key }}"
        }  # fmt: skip
        assert "runner.environment == 'github-hosted'" in step["if"]
        assert step["continue-on-error"] is True
