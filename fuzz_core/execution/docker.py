"""A container for untrusted code: no network, no files of the machine except the shown ones, results as files."""

from __future__ import annotations

import codecs
import contextlib
import math
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import docker  # type: ignore[import-untyped]
import docker.errors  # type: ignore[import-untyped]
import requests.exceptions
from docker.types import DeviceRequest, LogConfig, Mount, Ulimit  # type: ignore[import-untyped]

from fuzz_core.ir.errors import UserError

LABEL = "nightfuzz.owner"
LOCAL = "unix://"
SHARED_MEMORY_BYTES = 1 << 30
TEMPORARY_SHARE = 0.25
HIDDEN_BYTES = 4096
GPU = ["gpu", "compute", "utility"]
# Time for a request to the engine. A build prints no line for minutes.
ENGINE_SECONDS = 600
RELAY_SECONDS = 30.0
SIGNALS = (signal.SIGINT, signal.SIGTERM)
_PATIENCE = 2
LINE = 64 << 10
ALL = 256 << 20


class NoEngine(UserError):  # noqa: N818 - named for what is wrong
    """No Docker engine answers here."""


@dataclass(frozen=True)
class Sandbox:
    """The settings of a container.

    Paths are absolute, and the same inside as outside.
    """

    image: str
    kept: Path  # the writable folder that outlives the container
    user: str  # `UID:GID`
    memory: int  # bytes, the temporary directory included, no swap
    processes: int  # threads count as such
    shown: tuple[Path, ...] = ()  # can be read
    # Files and folders of the machine that replace others in the container.
    placed: Mapping[Path, Path] = field(default_factory=dict)
    hidden: tuple[Path, ...] = ()  # empty, though they lie in a shown folder
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: Path = Path("/tmp")
    cpus: float | None = None  # None for all
    gpus: tuple[str, ...] | None = None  # numbers or names; empty for all, None for none


@contextmanager
def explained() -> Iterator[None]:
    """Turn what the engine refuses into UserError."""
    try:
        yield
    except docker.errors.APIError as error:
        raise UserError(
            f"the Docker engine refuses a request: {error.explanation or error}",
            "correct what the engine names (see docs/explanation/sandbox.md), or use --sandbox none",
        ) from error
    except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
        raise NoEngine(
            f"the Docker engine does not answer: {error}", "start the Docker engine, or use --sandbox none"
        ) from error


def reach() -> Engine:
    """Return the engine that DOCKER_HOST names, else that of this machine.

    Raises:
        NoEngine: no engine answers.
        UserError: the engine is on another machine, which cannot see files of this one.
    """
    where = os.environ.get("DOCKER_HOST") or LOCAL
    if not where.startswith(LOCAL):
        raise UserError(
            f"the Docker engine {where} may be on another machine, which does not see the files of this machine",
            "use the engine of this machine: unset DOCKER_HOST, or set DOCKER_HOST to a path such as unix:///…",
        )
    with explained():
        client = docker.from_env(timeout=ENGINE_SECONDS)
        return Engine(client, client.info())


@dataclass(frozen=True)
class Engine:
    """An engine that answers."""

    client: Any
    info: Mapping[str, Any]  # its description of itself

    @property
    def memory(self) -> int:
        """The memory of the machine, in bytes."""
        return int(self.info.get("MemTotal", 0))

    @property
    def rootless(self) -> bool:
        """Whether root inside is the caller outside."""
        return any("rootless" in str(option) for option in self.info.get("SecurityOptions") or ())

    @property
    def seccomp(self) -> str:
        """The profile that filters system calls: `default`, say; empty where there is no filter."""
        for option in self.info.get("SecurityOptions") or ():
            fields = dict(part.partition("=")[::2] for part in str(option).split(","))
            if fields.get("name") == "seccomp":
                profile = fields.get("profile", "default")
                return "" if profile == "unconfined" else profile
        return ""

    def sweep(self) -> int:
        """Remove what killed controllers have left, and return how many there were."""
        with explained():
            found = self.client.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True)
            left = [each for each in found if _is_over(str(each.labels.get(LABEL, "")))]
            for each in left:
                with contextlib.suppress(docker.errors.NotFound):
                    each.remove(force=True)
        return len(left)

    def run(self, sandbox: Sandbox, command: Sequence[str], write: Write) -> int:
        """Run a command in a container of its own and return its exit code; signals to this process go there.

        Args:
            write: gets each line it prints, and whether that was an error.

        Raises:
            UserError: the engine refuses, or the container ran out of memory.
        """
        with explained():
            container = self.client.api.create_container(**_creation(self.client.api, sandbox, command))["Id"]
            try:
                code = _run(self.client.api, container, write)
                state = self.client.api.inspect_container(container)["State"]
            finally:
                with contextlib.suppress(docker.errors.NotFound):
                    self.client.api.remove_container(container, force=True)
        if code == 128 + signal.SIGKILL and state.get("OOMKilled"):
            raise UserError(
                f"the container needed more than its {sandbox.memory / 2**30:.1f} GiB of memory",
                "give fewer --workers, or set sandbox_memory to a larger value",
            )
        return code


def _run(api: Any, container: str, write: Write) -> int:
    """Start a container and passes on what it prints; its exit code once it has ended."""
    # Signal handlers may put into this kind of queue.
    events = queue.SimpleQueue[tuple[str, int]]()

    def wait() -> None:
        try:
            events.put(("over", int(api.wait(container, timeout=None)["StatusCode"])))
        except (docker.errors.DockerException, requests.exceptions.RequestException):
            # The engine is gone, and the next question to it says so.
            events.put(("over", 128 + signal.SIGKILL))

    with _heard(events):
        stream = api.attach(container, stdout=True, stderr=True, stream=True, demux=True)
        relaying = threading.Thread(target=relay, args=(stream, write), daemon=True)
        relaying.start()
        api.start(container)
        threading.Thread(target=wait, daemon=True).start()
        heard = 0
        while (event := events.get())[0] != "over":
            heard += 1
            # The container may have just ended.
            with contextlib.suppress(docker.errors.APIError):
                api.kill(container, event[1] if heard <= _PATIENCE else signal.SIGKILL)
        relaying.join(RELAY_SECONDS)
    return event[1]


@contextmanager
def _heard(events: queue.SimpleQueue[tuple[str, int]]) -> Iterator[None]:
    """Turn signals that ask to stop into events within the context."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def hear(number: int, frame: FrameType | None) -> None:
        events.put(("signal", number))

    before = {number: signal.signal(number, hear) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _creation(api: Any, sandbox: Sandbox, command: Sequence[str]) -> dict[str, Any]:
    """Return the arguments that create a container.

    Seccomp and AppArmor are on by default, and stay on as long as they are not named.
    """
    # Libraries load the code that they compile at run time from this folder.
    temporary = f"rw,exec,nosuid,nodev,mode=1777,size={math.ceil(sandbox.memory * TEMPORARY_SHARE)}"
    gpus: dict[str, Any] = {"device_ids": list(sandbox.gpus)} if sandbox.gpus else {"count": -1}
    confined = api.create_host_config(
        mem_limit=sandbox.memory,
        memswap_limit=sandbox.memory,
        pids_limit=sandbox.processes,
        nano_cpus=None if sandbox.cpus is None else round(sandbox.cpus * 1e9),
        shm_size=SHARED_MEMORY_BYTES,
        ulimits=[Ulimit(name="core", soft=0, hard=0)],
        log_config=LogConfig(type=LogConfig.types.NONE),
        network_mode="none",
        ipc_mode="private",
        read_only=True,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges:true"],
        init=True,
        tmpfs={"/tmp": temporary},
        mounts=_mounts(sandbox),
        device_requests=None if sandbox.gpus is None else [DeviceRequest(capabilities=[GPU], **gpus)],
    )
    return {
        "image": sandbox.image,
        "command": list(command),
        "entrypoint": [],
        "user": sandbox.user,
        "working_dir": str(sandbox.folder),
        "hostname": "sandbox",
        "environment": dict(sandbox.environment),
        "labels": {LABEL: owner(os.getpid())},
        "host_config": confined,
    }


def _mounts(sandbox: Sandbox) -> list[Mount]:
    """Return mounts whose missing sources the engine refuses, and does not make."""
    placed = {**{path: path for path in sandbox.shown}, **sandbox.placed}
    mounts = [Mount(str(target), str(source), type="bind", read_only=True) for target, source in placed.items()]
    for path in sandbox.hidden:
        if path.is_dir():
            mounts.append(Mount(str(path), None, type="tmpfs", read_only=True, tmpfs_size=HIDDEN_BYTES))
        else:
            mounts.append(Mount(str(path), os.devnull, type="bind", read_only=True))
    return [*mounts, Mount(str(sandbox.kept), str(sandbox.kept), type="bind")]


def owner(pid: int) -> str:
    """Return a process of this machine, in words that no later process and none of another machine shares."""
    return f"{_namespace()} {pid} {_started(pid)}"


def _is_over(owner: str) -> bool:
    """Return whether the owner has ended; one that cannot be seen from here is left to its own."""
    namespace, _, rest = owner.partition(" ")
    pid, _, started = rest.partition(" ")
    return namespace == _namespace() and pid.isdigit() and _started(int(pid)) != started


def _namespace() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot}/{os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115 - no path but a name


def _started(pid: int) -> str:
    """Return when a process began, in ticks of the kernel; empty where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    except OSError:
        return ""


Write = Callable[[str, bool], object]
"""Takes a line without its end, and whether it came over standard error."""


class _Lines:
    """A decoder of one stream: yields whole lines, and pieces of lines that are too long."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self.write = write
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.rest = ""

    def feed(self, data: bytes, final: bool = False) -> None:
        *lines, self.rest = (self.rest + self.decoder.decode(data, final)).split("\n")
        for line in lines:
            self.write(line)
        while len(self.rest) > LINE or (final and self.rest):
            piece, self.rest = self.rest[:LINE], self.rest[LINE:]
            self.write(piece)


def relay(stream: Iterable[tuple[bytes | None, bytes | None]], write: Write, most: int = ALL) -> None:
    """Pass on the chunks of a container's output, (standard output, standard error) at a time.

    After `most` bytes, or an error of `write`, the output is read and dropped: a program whose output is not read would
    block.
    """
    both = (_Lines(lambda line: write(line, False)), _Lines(lambda line: write(line, True)))
    left = most
    for parts in stream:
        for lines, data in zip(both, parts, strict=True):
            if data and left > 0:
                try:
                    lines.feed(data[:left])
                except OSError:
                    left = 0
                left -= len(data)
    if left > 0:
        for lines in both:
            lines.feed(b"", final=True)
    elif most > 0:
        with contextlib.suppress(OSError):
            write("… further output is left out", True)


def container_protection(engine: Engine, sandbox: Sandbox) -> tuple[str, ...]:
    """Return the lines for a container."""
    gpus = "no GPU" if sandbox.gpus is None else f"GPUs: {', '.join(sandbox.gpus) or 'all'}"
    seccomp = f"seccomp profile `{engine.seccomp}`" if engine.seccomp else "no seccomp filter: this engine has none on"
    version = engine.info.get("ServerVersion", "")
    return (
        f"Docker {version}: one container without network, read-only except for the state directory and /tmp",
        f"user {sandbox.user}, no capabilities, no new privileges, {seccomp}",
        f"{', '.join(_limits(engine.info, sandbox))}, {gpus}",
        f"read-only inside: {len(sandbox.shown)} folders or files of the machine; {len(sandbox.hidden)} are hidden",
    )


def _limits(info: Mapping[str, Any], sandbox: Sandbox) -> Iterator[str]:
    """Yield the limits in words.

    An engine ignores a limit that its kernel lacks.
    """
    memory = f"at most {sandbox.memory / 2**30:.1f} GiB of memory"
    if not info.get("MemoryLimit"):
        yield "no limit on memory: this kernel has none"
    else:
        yield f"{memory} without swap" if info.get("SwapLimit") else f"{memory} and as much swap"
    yield f"{sandbox.processes} processes" if info.get("PidsLimit") else "no limit on processes: this kernel has none"
    if sandbox.cpus is not None:
        yield f"{sandbox.cpus:g} CPUs"
