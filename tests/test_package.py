"""The wheel: what it installs, in an environment without the checkout, and the packages that each part needs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import dockerengine
import pytest
import tokencommand
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from fuzz_core.adapters.dialect import DIALECTS
from fuzz_core.execution.docker import Engine
from fuzz_core.execution.image import own_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = ROOT / "requirements"


def _locked(name: str) -> dict[str, list[str]]:
    """Returns versions by package, from one lock."""
    versions: dict[str, list[str]] = {}
    for package, version in re.findall(r"^([\w.-]+)==(\S+)", (LOCKS / f"{name}.txt").read_text(), re.MULTILINE):
        versions.setdefault(canonicalize_name(package), []).append(version)
    return versions


def _demands(name: str) -> list[Requirement]:
    project, extras = PROJECT["project"], PROJECT["project"]["optional-dependencies"]
    if name == "report":
        return [Requirement(each) for each in PROJECT["dependency-groups"]["report"]]
    chosen = {"app": [], "dev": ["dev"], "bench": ["dev", "bench"]}[name]
    texts = [*project["dependencies"], *(each for extra in chosen for each in extras[extra])]
    return [each for each in map(Requirement, texts) if each.name != "nightfuzz"]


@pytest.mark.parametrize("name", ["app", "dev", "bench", "report"])
def test_a_lock_holds_what_the_project_asks_for_with_hashes(name: str) -> None:
    locked = _locked(name)
    for demand in _demands(name):
        versions = locked[canonicalize_name(demand.name)]
        assert versions and all(demand.specifier.contains(version) for version in versions), demand
    entries = re.split(r"\n(?=\S)", (LOCKS / f"{name}.txt").read_text())
    assert all("--hash=sha256:" in entry for entry in entries if "==" in entry.split("\n")[0])


@pytest.mark.parametrize("name", ["app", "dev", "report"])
def test_locks_agree_on_versions(name: str) -> None:
    everything = _locked("bench")
    assert {each: versions for each, versions in _locked(name).items() if everything.get(each) != versions} == {}


def test_modules_of_a_job_with_a_token_import_what_its_group_names(tmp_path: Path) -> None:
    """`tests/bot/test_workflow_night.py` runs its jobs in this way."""
    command = tokencommand.written(tmp_path / "nightfuzz")
    modules = ["nightfuzz.bot.jobs.steps", "nightfuzz.bot.state.shards", "nightfuzz.bot.commands"]
    modules += ["fuzz_core.campaign.patterns", "fuzz_core.targets.spec"]
    modules += [each.partition(":")[0] for each in DIALECTS.values()]
    done = subprocess.run([command, "import", *modules], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    refused = subprocess.run([command, "import", "numpy"], capture_output=True, text=True)
    assert "numpy is not installed in a job that holds a token" in refused.stderr


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with dockerengine.running() as found:
        yield found


def test_the_wheel_holds_every_file_of_its_packages(wheel: Path) -> None:
    """The package `nightfuzz` holds the folders bot and reports, as files and not as links."""
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    listed = subprocess.check_output(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "fuzz_core", "bot", "reports", "nightfuzz"],
        cwd=ROOT,
        text=True,
    ).splitlines()
    files = [name for name in listed if (ROOT / name).is_file()]
    expected = {name if name.startswith(("fuzz_core/", "nightfuzz/")) else f"nightfuzz/{name}" for name in files}
    # Scripts of the Action, which runs from a checkout.
    assert {name for name in expected ^ packed if not name.endswith(".sh")} == set()
    assert {name.split("/")[0] for name in packed} == {"fuzz_core", "nightfuzz"}


@pytest.mark.slow
def test_uvx_runs_the_wheel_from_a_bare_environment(wheel: Path, tmp_path: Path) -> None:
    """Runs uv in an empty environment: a cache of its own, no checkout. Packages come from the index."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(("SSL_", "UV_INDEX", "UV_DEFAULT"))}
    bare = {**kept, "PATH": os.defpath, "HOME": str(tmp_path / "home"), "UV_SYSTEM_CERTS": "1"}
    command = [sys.executable, "-m", "uv", "tool", "run", "--python", sys.executable, "--from", str(wheel), "nightfuzz"]
    done = subprocess.run([*command, "doctor"], cwd=tmp_path, env=bare, capture_output=True, text=True)
    if "Failed to fetch" in done.stderr:
        pytest.skip(f"no package index is reached: {done.stderr[-200:]}")
    assert done.returncode == 0, done.stderr
    assert "Python" in done.stdout


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `nightfuzz` command of an environment that holds the wheel and this environment's packages."""
    home = tmp_path_factory.mktemp("installed")
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--no-config", "--python", sys.executable, str(home)], check=True)
    python = home / "bin" / "python"
    install = [*uv, "pip", "install", "--quiet", "--no-config", "--offline", "--no-deps", "--python", str(python)]
    subprocess.run([*install, str(wheel)], check=True)
    [site] = home.glob("lib/python*/site-packages")
    # The path of the packages is added directly: a `.pth` file in that folder, which names the checkout, is then not
    # read.
    (site / "packages.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n")
    return home / "bin" / "nightfuzz"


def _ask(command: Path, *arguments: str, cwd: Path) -> str:
    done = subprocess.run([command, *arguments], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_works_without_the_checkout(installed: Path, tmp_path: Path) -> None:
    code = "import fuzz_core, nightfuzz.bot, nightfuzz.reports as r; print(fuzz_core.__file__, r.__file__)"
    python = installed.parent / "python"
    places = subprocess.check_output([python, "-P", "-c", code], cwd=tmp_path, text=True).split()
    assert all(place.startswith(str(installed.parents[1])) for place in places)
    assert "Python" in _ask(installed, "doctor", cwd=tmp_path)
    assert len(_ask(installed, "gandalf", "order", cwd=tmp_path).splitlines()) > 10
    # The name of the image is made of its files, so equal names mean equal contexts.
    name = "from fuzz_core.execution.image import context, identity; print(identity(), *sorted(context()))"
    identity, *files = subprocess.check_output([python, "-P", "-c", name], cwd=tmp_path, text=True).split()
    here, *ours = subprocess.check_output([sys.executable, "-P", "-c", name], cwd=tmp_path, text=True).split()
    assert (identity, files) == (here, ours)
    assert {"Dockerfile", "requirements/app.txt", "reports/results.py"} <= set(files)


def test_the_sandbox_image_is_built_from_the_wheel(installed: Path, engine: Engine, tmp_path: Path) -> None:
    dockerengine.image_in(engine)  # makes a base where no registry is reached
    code = (
        "import json, sys, docker, fuzz_core.execution.image as image\n"
        "client = docker.from_env(timeout=600)\n"
        "image.build_image(client, sys.argv[2], json.loads(sys.argv[1]), network_mode='host')\n"
    )
    tag = "nightfuzz-sandbox:from-wheel"
    command = [installed.parent / "python", "-P", "-c", code, json.dumps(dockerengine.build_arguments()), tag]
    subprocess.run(command, cwd=tmp_path, check=True)
    ask = "from fuzz_core.execution.image import identity; print(identity())"
    inside = engine.client.containers.run(
        tag, ["-P", "-c", ask], entrypoint=["python"], network_mode="none", remove=True
    )
    assert inside.decode().strip() == own_name().partition(":")[2]
    engine.client.images.remove(tag)
