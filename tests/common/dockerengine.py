"""A Docker engine for tests: a running one or one started for them; and the sandbox's image in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker  # type: ignore[import-untyped]
import docker.errors  # type: ignore[import-untyped]
import pytest
from filelock import FileLock

from fuzz_core.execution.docker import Engine, NoEngine, reach
from fuzz_core.execution.image import ADDRESSES, build_image, find_image, own_name
from fuzz_core.ir.errors import UserError

BASE = "nightfuzz-test-base:bookworm"
PACKAGES = "python3,python3-venv,ca-certificates"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
START_SECONDS = 60.0


@contextmanager
def running() -> Iterator[Engine]:
    """Yields an engine; skips the test if none runs and none can be started."""
    try:
        yield reach()
        return
    except NoEngine as error:
        # `DOCKER_HOST` names another user's engine, and a second engine beside it would take its bridge away.
        if shutil.which("dockerd") is None or os.geteuid() != 0 or "DOCKER_HOST" in os.environ:
            pytest.skip(f"no Docker engine: {error.problem}; as root, `apt-get install docker.io` lets tests start one")
    with _started() as engine:
        yield engine


@contextmanager
def _started() -> Iterator[Engine]:
    """Starts a daemon of our own, which keeps all data in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="nightfuzz-dockerd-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        places = [f"--data-root={folder}/data", f"--exec-root={folder}/run", f"--pidfile={folder}/pid"]
        # The daemon leaves the machine's network alone: containers have none, and images are built with the machine's.
        places += ["--bridge=none", "--iptables=false", "--ip6tables=false"]
        with (folder / "log").open("wb") as log:
            daemon = subprocess.Popen(
                ["dockerd", f"--host=unix://{folder}/docker.sock", *places], stdout=log, stderr=log
            )
        os.environ["DOCKER_HOST"] = f"unix://{folder}/docker.sock"
        try:
            yield _answering(daemon, folder / "log")
        finally:
            del os.environ["DOCKER_HOST"]
            daemon.terminate()
            daemon.wait(START_SECONDS)
            # The daemon leaves this mounted, and the folder could not be removed.
            subprocess.run(["umount", f"{folder}/run/netns/default"], check=False, stderr=subprocess.DEVNULL)


def _answering(daemon: subprocess.Popen[bytes], log: Path) -> Engine:
    deadline = time.monotonic() + START_SECONDS
    while daemon.poll() is None and time.monotonic() < deadline:
        try:
            return reach()
        except UserError:
            time.sleep(0.2)
    pytest.skip(f"dockerd does not start here: {log.read_text(errors='replace')[-300:]}")


def image_in(engine: Engine) -> str:
    """Returns the sandbox's image of this very code, built as nightfuzz does, or on a base of Debian packages."""
    with FileLock(Path(tempfile.gettempdir()) / "nightfuzz-test-image.lock"):
        return _image_in(engine)


def _image_in(engine: Engine) -> str:
    try:
        return find_image(engine.client, None, None, lambda text: None)
    except UserError as error:
        _make_base(engine, error)
    try:
        build_image(engine.client, own_name(), build_arguments(), network_mode="host")
    except docker.errors.BuildError as error:
        said = [str(part.get("stream", "")) for part in error.build_log]
        pytest.skip(f"the sandbox's image cannot be built without a package index: {''.join(said)[-500:]}")
    return own_name()


def build_arguments() -> dict[str, str]:
    """Returns the build arguments of the image: a base of Debian packages, and this machine's package index."""
    addresses = {name: os.environ[name] for name in ADDRESSES if name in os.environ}
    return {"BASE": BASE, "PIP_CERT": str(CERTIFICATES), **addresses}


def _make_base(engine: Engine, why: UserError) -> None:
    """Makes an image of Debian with Python once and keeps it; it trusts the same certificates as this machine."""
    if engine.client.images.list(name=BASE):
        return
    if shutil.which("debootstrap") is None or os.geteuid() != 0:
        pytest.skip(f"{why.problem}; as root, `apt-get install debootstrap` makes a base without a registry")
    with tempfile.TemporaryDirectory(prefix="nightfuzz-base-") as name:
        root = Path(name) / "root"
        command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(root)]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            pytest.skip(f"debootstrap cannot reach a mirror of Debian: {made.stdout[-300:]}")
        shutil.copyfile(CERTIFICATES, root / CERTIFICATES.relative_to("/"))
        archive = Path(name) / "root.tar"
        with tarfile.open(archive, "w") as packed:
            packed.add(root, arcname=".")
        repository, tag = BASE.split(":")
        engine.client.api.import_image_from_file(str(archive), repository=repository, tag=tag)
