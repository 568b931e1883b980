"""Confinement of untrusted code: a process can write to its own folders and a private `/tmp`, and read the system.

The controller's own Python runs `confinement.py GUARD NETWORK WRITABLE COMMAND…` before any code of the target (a
`.pth` file is such code). There are two means, and each is used if the kernel has it:

- namespaces of mounts, of shared memory and of the network. A user without rights gets them in a user namespace;
- Landlock, which also keeps the process from undoing the mounts, from reading `/proc/PID/environ` of other processes,
  and from ending them.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

# The confinement that was achieved, for the started process: the words of `confine`, with commas.
VARIABLE = "NIGHTFUZZ_CONFINED"
NO_START = "the target's interpreter does not start"
NAMESPACE, LANDLOCK = "namespace", "landlock"
# Private folders, which are removed with the last process that uses them.
TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")
TEMPORARY_BYTES = 1 << 30
# A container is thrown away with its `/tmp`.
CONTAINER = Path("/.dockerenv")
# CUDA names its threads: it writes to `/proc/PID/task/TID/comm`, and does not start if it cannot.
GPU, PROCESSES = Path("/dev/nvidiactl"), Path("/proc")
_NEWNS, _NEWIPC, _NEWUSER, _NEWNET = 0x00020000, 0x08000000, 0x10000000, 0x40000000
_MS_NOSUID_NODEV, _MS_BIND_REC, _MS_PRIVATE_REC = 0x2 | 0x4, 0x1000 | 0x4000, 0x40000 | 0x4000
_MOUNT_SETATTR, _RDONLY, _AT_FDCWD, _AT_RECURSIVE = 442, 1, -100, 0x8000
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
# From this version on, Landlock keeps signals from processes outside.
_SCOPES, _SIGNALS = 6, 1 << 1
_PATH_BENEATH, _NO_NEW_PRIVILEGES, _DROP_FROM_BOUNDS = 1, 38, 24
# Root keeps its power over files, which the mounts limit. Further powers would let it read other processes.
_CAPABILITIES_OF_FILES, _CAPABILITIES = 4, 64
# Rights of Landlock to change files. From its version 2 on a file can be renamed to another folder.
_OLDEST, _WRITE_FILE, _EVERY_CHANGE, _TRUNCATE = 2, 1 << 1, (1 << 14) - (1 << 4) | 1 << 1, 1 << 14


def confined(
    command: Sequence[str], writable: Sequence[str | Path], guard: str | Path = "", network: bool = False
) -> list[str]:
    """Return the command line that starts a command in its confinement.

    Args:
        writable: folders that the command may change, its start directory included.
        guard: a scratch folder, or empty. With a folder, a process stays above the command and ends all its
            descendants. If the controller was killed, that process removes the folder.
        network: whether the command keeps the network.
    """
    folders = os.pathsep.join(str(path) for path in writable)
    return [sys.executable, "-I", "-S", __file__, str(guard), "network" if network else "", folders, *command]


def confine(writable: Sequence[str], network: bool = False) -> list[str]:
    """Confine this process and all that it starts.

    Returns:
        The means that work here: NAMESPACE, LANDLOCK.
    """
    means = []
    # The trial runs in another process: a process cannot leave a half-made namespace.
    if _succeeds(lambda: _separate(writable, network)):
        _separate(writable, network)
        means.append(NAMESPACE)
    with suppress(OSError):
        private = means or CONTAINER.exists()
        _restrict([*writable, *(TEMPORARY if private else TEMPORARY[-1:])])
        means.append(LANDLOCK)
    for number in range(_CAPABILITIES_OF_FILES, _CAPABILITIES):
        _libc().prctl(_DROP_FROM_BOUNDS, number, 0, 0, 0)
    # The process must enter its directory again, in the mount that can be written to.
    os.chdir(os.getcwd())  # noqa: PTH109
    return means


def _succeeds(work: object) -> bool:
    pid = os.fork()
    if pid == 0:
        try:
            assert callable(work)
            work()
        except BaseException:  # noqa: BLE001 - a trial ends with its answer and in no other way
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def _separate(writable: Sequence[str], network: bool) -> None:
    """Enter new namespaces, and mount in them.

    Raises:
        OSError: the kernel refuses.
    """
    user, group = os.geteuid(), os.getegid()
    namespaces = _NEWNS | _NEWIPC | (0 if network else _NEWNET)
    if _libc().unshare(namespaces) != 0:
        _check(_libc().unshare(namespaces | _NEWUSER))
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    _mount("none", "/", flags=_MS_PRIVATE_REC)
    temporary = [place for place in TEMPORARY if os.path.realpath(place) == place and Path(place).is_dir()]
    # The folders are opened before mounts hide them. Files of other programs in `/tmp` stay readable: a checkout or a
    # wheel may lie there.
    kept = [(folder, os.open(folder, os.O_PATH)) for folder in (os.path.realpath(path) for path in writable)]
    shown = [each for place in temporary[:-1] for each in _kept_in(place)]
    for place in temporary:
        _mount("tmpfs", place, "tmpfs", _MS_NOSUID_NODEV, f"mode=1777,size={TEMPORARY_BYTES}")
    for path, descriptor in shown:
        # The owner may have removed the file meanwhile.
        with suppress(FileNotFoundError):
            _bind(path, descriptor)
    for path, descriptor in kept:
        _bind(path, descriptor)
    changed = [*temporary, *(folder for folder, _ in kept)]
    if GPU.exists():
        _hold_kernel()
        changed.append(str(PROCESSES))
    _set_read_only("/", True, _AT_RECURSIVE)
    for folder in changed:
        _set_read_only(folder, False, 0)


def _hold_kernel() -> None:
    """Make each entry of `/proc` that belongs to no process a mount of its own, which can be read-only by itself."""
    for entry in PROCESSES.iterdir():
        if not entry.name.isdigit() and not entry.is_symlink():
            _mount(str(entry), str(entry), flags=_MS_BIND_REC)


def _kept_in(place: str) -> list[tuple[str, int]]:
    """Return folders and plain files, opened.

    No sockets: another program listens there.
    """
    found = []
    for path in sorted(Path(place).iterdir()):
        with suppress(OSError):
            if not path.is_symlink() and (path.is_dir() or path.is_file()):
                found.append((str(path), os.open(path, os.O_PATH | os.O_NOFOLLOW)))
    return found


def _bind(path: str, descriptor: int) -> None:
    """Mount an opened file or folder in its old place again."""
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        Path(path).mkdir(parents=True, exist_ok=True)
    else:
        Path(path).touch()
    try:
        _mount(f"/proc/self/fd/{descriptor}", path, flags=_MS_BIND_REC)
    finally:
        os.close(descriptor)


def version_of_landlock() -> int:
    """Return the version of the kernel's Landlock, a negative number if there is none."""
    return int(_libc().syscall(_CREATE_RULESET, None, 0, 1))


def _restrict(writable: Sequence[str]) -> None:
    """Allow changes below these folders, and writing to devices and, with a GPU, to files of processes.

    Raises:
        OSError: there is no Landlock.
    """
    version = version_of_landlock()
    if version < _OLDEST:
        raise OSError("no Landlock, or an old one")
    changes = _EVERY_CHANGE | (_TRUNCATE if version > _OLDEST else 0)
    attributes = struct.pack("=QQQ", changes, 0, _SIGNALS) if version >= _SCOPES else struct.pack("=Q", changes)
    ruleset = _check(_libc().syscall(_CREATE_RULESET, ctypes.c_char_p(attributes), len(attributes), 0))
    writing = changes & (_WRITE_FILE | _TRUNCATE)
    devices = ("/dev", *([str(PROCESSES)] if GPU.exists() else []))
    for folder, rights in (*((each, changes) for each in writable), *((each, writing) for each in devices)):
        descriptor = os.open(folder, os.O_PATH)
        rule = ctypes.c_char_p(struct.pack("=Qi", rights, descriptor))
        _check(_libc().syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0))
        os.close(descriptor)
    _check(_libc().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _check(_libc().syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _mount(source: str, target: str, kind: str = "none", flags: int = 0, data: str = "") -> None:
    _check(_libc().mount(source.encode(), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), data.encode()))


def _set_read_only(path: str, is_on: bool, flags: int) -> None:
    change = struct.pack("=QQQQ", _RDONLY if is_on else 0, 0 if is_on else _RDONLY, 0, 0)
    arguments = (_AT_FDCWD, ctypes.c_char_p(os.fsencode(path)), flags, ctypes.c_char_p(change), len(change))
    _check(_libc().syscall(_MOUNT_SETATTR, *arguments))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def main(guarded: str, network: str, folders: str, *command: str) -> None:
    """Confine this process, and become the command."""
    # No `site`, so no `.pth` file; this project alone is in the path.
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from fuzz_core.worker.limits import die_with_parent, fork_guarded

    if guarded:
        fork_guarded(guarded)
    guardian = os.getppid()
    means = confine(folders.split(os.pathsep), bool(network))
    if guarded:
        # This setting is made again: new rights in a namespace of the user cancel it.
        die_with_parent(guardian)
    try:
        os.execvpe(command[0], command, {**os.environ, VARIABLE: ",".join(means)})
    except OSError as error:
        sys.exit(f"{NO_START} ({command[0]}): {error.strerror}")


if __name__ == "__main__":
    main(*sys.argv[1:])
