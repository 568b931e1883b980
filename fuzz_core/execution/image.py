"""The sandbox's image: it must hold the very code that starts it, so its name says which that is.

`python -m fuzz_core.execution.image STATE MARK PYTHON...` says what a container finds, before it works.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import docker  # type: ignore[import-untyped]
import docker.errors  # type: ignore[import-untyped]

import fuzz_core
from fuzz_core.ir.errors import UserError

ROOT = Path(fuzz_core.__file__).parents[1]
# The Dockerfile and the lock, as links in a checkout and as files in a wheel and in the image.
RECIPE = "fuzz_core/execution/context"
# Files that the image is built from, and where the Dockerfile looks for them.
CONTEXT = {
    RECIPE: ".",
    "fuzz_core": "fuzz_core",
    "nightfuzz/__init__.py": "nightfuzz/__init__.py",
    "nightfuzz/reports": "reports",
}
REPOSITORY = "nightfuzz-sandbox"
STAGE = "sandbox"
ADDRESSES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST")
SHOWN_LINES = 5
START_SECONDS = 60.0
# The modules that a worker imports first and that need libraries of the system.
NEEDED = "import ctypes, json, socket, zlib"


@functools.cache
def identity() -> str:
    """Return the identity of this code, such as `0.1.0-3f2a41d09c77`.

    The identity is the version and a hash of the source files that an image holds.
    """
    digest = hashlib.sha256()
    for name, path in sorted(context().items()):
        content = path.read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return f"{fuzz_core.__version__}-{digest.hexdigest()[:12]}"


def context() -> dict[str, Path]:
    """Return the files that the image is built from, by their names in the build context.

    A checkout and a wheel give equal files.
    """
    found: dict[Path, Path] = {}
    for source, destination in CONTEXT.items():
        start = ROOT / source
        for path in [start] if start.is_file() else start.rglob("*"):
            # Caches differ from machine to machine.
            if path.is_file() and path.parent.name != "__pycache__":
                found.setdefault(path, Path(destination) / path.relative_to(start))
    return {name.as_posix(): path for path, name in found.items()}


def _packed() -> BytesIO:
    """Return the build context as an archive."""
    archive = BytesIO()
    with tarfile.open(fileobj=archive, mode="w", dereference=True) as tar:
        for name, path in context().items():
            tar.add(path, name)
    archive.seek(0)
    return archive


def own_name(base: str | None = None) -> str:
    """Return the name of the image of this code, on a base of the user's or on the Dockerfile's own."""
    on = "" if base is None else f"-on-{hashlib.sha256(base.encode()).hexdigest()[:12]}"
    return f"{REPOSITORY}:{identity()}{on}"


def find_image(client: Any, name: str | None, base: str | None, say: Callable[[str], object]) -> str:
    """Return the image that was named, or the one of this code, which is built where it is missing.

    An image that was named is never pulled: who names it has it there.

    Args:
        base: what it is built on, else what the Dockerfile says.

    Raises:
        UserError: there is no image, and none can be built.
    """
    wanted = name or own_name(base)
    try:
        client.images.get(wanted)
        return wanted
    except docker.errors.ImageNotFound:
        if name is not None:
            raise UserError(
                f"the Docker engine has no image {name}", f"run `docker pull {name}`, or leave out sandbox_image"
            ) from None
    say(f"building the image {wanted}: some minutes the first time")
    given = {**addresses(os.environ), **({} if base is None else {"BASE": base})}
    try:
        build_image(client, wanted, given)
    except (docker.errors.BuildError, docker.errors.APIError) as error:
        raise UserError(
            f"the image {wanted} cannot be built: {_why(error)}",
            "to see the whole error, run in a checkout: "
            f"`docker build --target {STAGE} --tag {wanted} .` (docs/explanation/sandbox.md)",
        ) from error
    return wanted


def build_image(client: Any, tag: str, arguments: Mapping[str, str], **options: object) -> None:
    """Build the image of this code.

    Raises:
        docker.errors.BuildError: a step of the build fails.
        docker.errors.APIError: the engine refuses.
    """
    client.images.build(
        fileobj=_packed(), custom_context=True, target=STAGE, tag=tag, buildargs=dict(arguments), rm=True, **options
    )


def addresses(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the addresses of pip's indexes.

    The engine keeps build arguments, so an address with a password is left out.
    """
    return {name: environ[name] for name in ADDRESSES if "@" not in environ.get(name, "@")}


def _why(error: Exception) -> str:
    lines = [
        str(part["stream"]) for part in getattr(error, "build_log", ()) if isinstance(part, dict) and "stream" in part
    ]
    said = "".join(lines).strip().splitlines()[-SHOWN_LINES:]
    return "\n".join([*said, str(error)])


def inspection(state: Path, mark: str, pythons: Sequence[str]) -> dict[str, object]:
    """Return which code and Python are here, and why interpreters do not start.

    The result also says whether the state is that of the caller.
    """
    return {
        "identity": identity(),
        "version": "{}.{}".format(*sys.version_info),
        "prefix": sys.base_prefix,
        "state": os.access(state / mark, os.F_OK) and os.access(state, os.W_OK),
        "interpreters": {python: problem for python in pythons if (problem := _problem(python))},
    }


def _problem(python: str) -> str:
    """Return the last line of the interpreter's error; empty if it works."""
    try:
        # The working folder may hold a stranger's sources, and an old Python knows no `-P`.
        ran = subprocess.run(
            [python, "-c", NEEDED], stdin=subprocess.DEVNULL, capture_output=True, timeout=START_SECONDS, cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = ran.stderr.decode(errors="replace").strip().splitlines()
    return (said[-1] if said else f"exit code {ran.returncode}") if ran.returncode else ""


if __name__ == "__main__":
    print(json.dumps(inspection(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])))
