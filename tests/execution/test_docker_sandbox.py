"""Tests of code that tries to leave a container of nightfuzz, and that bugs inside are the same as outside."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import dockerengine
import fakelib
import pytest
from fakebuilds import Builds

from fuzz_core.cli.sandbox import fit_sandbox, look, sandbox_of, user_of
from fuzz_core.cli.settings import Settings
from fuzz_core.execution.docker import LABEL, Engine, Sandbox, owner
from fuzz_core.execution.image import ROOT
from fuzz_core.execution.mounts import lent
from fuzz_core.ir.errors import UserError
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store

pytestmark = pytest.mark.timeout(300)
TOKEN = f"ghs_{secrets.token_hex(16)}"


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    with dockerengine.running() as found:
        yield found


@pytest.fixture(scope="session")
def image(engine: Engine) -> str:
    return dockerengine.image_in(engine)


@dataclass
class Place:
    """A project with tests and secrets, a state with a target, and a container for it."""

    folder: Path
    engine: Engine
    image: str
    record: TargetRecord
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def state(self) -> Path:
        return self.project / ".nightfuzz"

    @contextmanager
    def sandbox(self, **settings: Any) -> Iterator[Sandbox]:
        wanted = Settings(state=self.state, tests=[self.project / "tests"], workers=1, **self.settings, **settings)
        (self.folder / "scratch").mkdir(exist_ok=True)
        made = sandbox_of(wanted, self.engine, self.image, [self.record], self.folder / "scratch")
        with lent(self.state, user_of(self.engine)):
            yield made

    def run(self, code: str, *arguments: object, **settings: Any) -> tuple[int, list[str]]:
        """Runs Python code inside and returns its exit code and what it printed."""
        said: list[str] = []
        with self.sandbox(**settings) as made:
            command = ["python", "-c", code, *map(str, arguments)]
            return self.engine.run(made, command, lambda line, error: said.append(line)), said

    def told(self, code: str, *arguments: object, **settings: Any) -> Any:
        """Returns the JSON that the code prints last; the code must exit with 0."""
        ended, said = self.run(code, *arguments, **settings)
        assert ended == 0, said
        return json.loads(said[-1])


@pytest.fixture
def place(tmp_path: Path, engine: Engine, image: str, fakelib_python: str, monkeypatch: pytest.MonkeyPatch) -> Place:
    project = tmp_path / "project"
    for folder in ("tests/inner", ".git", "vendored/.git", ".nightfuzz"):
        (project / folder).mkdir(parents=True)
    for secret in (".git/config", "vendored/.git/config", ".env"):
        (project / secret).write_text(f"token = {TOKEN}\n")
    (project / "tests" / "test_it.py").write_text("def test_it():\n    pass\n")
    (project / "nightfuzz.toml").write_text("workers = 1\n")
    monkeypatch.chdir(project)
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    info = {"summary": "fakelib 1", "notes": [], "devices": ["cpu"]}
    record = TargetRecord("fakelib-1", "fakelib==1", "fakelib", "1", fakelib_python, info)
    with open_store(project / ".nightfuzz" / "state.db") as store:
        store.save_target(record)
    return Place(tmp_path, engine, image, record)


ATTEMPTS = """
import ctypes, json, os, socket, stat, sys
libc = ctypes.CDLL(None, use_errno=True)
done = {}
def attempt(name, work):
    try:
        result = work()
    except BaseException as error:
        done[name] = ""
    else:
        done[name] = repr(result) or "done"
def succeeds(result):
    if result < 0:
        raise OSError(ctypes.get_errno())
    return result
"""
TOLD = "\nprint(json.dumps({name: said for name, said in done.items() if said}))\n"


def escaped(place: Place, attempts: str, *arguments: object) -> dict[str, str]:
    """Returns the attempts that succeeded, with their results."""
    told: dict[str, str] = place.told(ATTEMPTS + attempts + TOLD, *arguments)
    return told


def test_attempts_that_succeed_are_seen(place: Place) -> None:
    """Shows that a successful attempt is reported: all further tests expect attempts to fail."""
    assert escaped(place, "attempt('sum', lambda: 1 + 1)\nattempt('pid', lambda: succeeds(libc.getpid()) > 0)") == {
        "sum": "2",
        "pid": "True",
    }


def test_nothing_of_a_network_is_there(place: Place) -> None:
    with socket.create_server(("0.0.0.0", 0)) as listening, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(f"\0{TOKEN}")
        abstract.listen()
        port = listening.getsockname()[1]
        own = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False).stdout.split()
        addresses = ["127.0.0.1", "172.17.0.1", "169.254.169.254", "1.1.1.1", *own]
        attempts = """
port, token, *addresses = sys.argv[1:]
for address in addresses:
    for each in (int(port), 22, 53, 80):
        attempt(f"tcp {address} {each}", lambda: socket.create_connection((address, each), 2))
    attempt(f"udp {address}", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", (address, 53))
            if address != "127.0.0.1" else 1 / 0)
attempt("dns", lambda: socket.getaddrinfo("github.com", 443))
attempt("abstract socket", lambda: socket.socket(socket.AF_UNIX).connect("\\0" + token))
attempt("raw socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("packet socket", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("other interface", lambda: [name for _, name in socket.if_nameindex() if name not in LONELY][0])
"""
        # A kernel may give every namespace tunnels, which have no other end until they are set up.
        lonely = "LONELY = 'lo tunl0 sit0 ip6tnl0 gre0 gretap0 erspan0 ip_vti0 ip6_vti0 ip6gre0'.split()\n"
        assert escaped(place, lonely + attempts, port, TOKEN, *addresses) == {}


def test_only_the_state_can_be_written(place: Place) -> None:
    before = sorted(str(path) for path in place.folder.rglob("*"))
    environment = Path(place.record.python).parent.parent
    attempts = """
project, environment = sys.argv[1:]
for folder in ("/", "/etc", "/usr", "/bin", "/opt/nightfuzz/code", "/root", "/home", "/var/tmp", "/dev", "/sys",
               "/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/proc/sys", project, project + "/tests",
               project + "/.git", environment, environment + "/bin"):
    attempt("new in " + folder, lambda: open(folder + "/new", "w"))
for file in ("/etc/passwd", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper",
             "/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/memory/release_agent", project + "/nightfuzz.toml",
             project + "/tests/test_it.py", environment + "/pyvenv.cfg", sys.executable):
    attempt("over " + file, lambda: open(file, "r+").write("x"))
    attempt("away " + file, lambda: os.unlink(file))
    attempt("mode " + file, lambda: os.chmod(file, 0o777))
attempt("link", lambda: os.link(project + "/tests/test_it.py", project + "/.nightfuzz/linked"))
"""
    assert escaped(place, attempts, place.project, environment) == {}
    assert sorted(str(path) for path in place.folder.rglob("*") if "scratch" not in path.parts) == before


def test_a_token_is_nowhere(place: Place) -> None:
    """The token is in no readable file, and in no process's environment or arguments."""
    beside = subprocess.Popen([sys.executable, "-c", "input()", TOKEN], stdin=subprocess.PIPE)
    searching = """
import json, os, pathlib, sys
token, found, read = sys.argv[1].encode()[::-1], [], 0
for root in ("/root", "/home", "/etc", "/tmp", "/run", "/var", "/mnt", "/srv", "/proc", "/dev", sys.argv[2]):
    for folder, children, names in os.walk(root):
        if folder == "/proc":
            children[:] = [name for name in children if name.isdigit() and int(name) != os.getpid()]
        children[:] = [name for name in children if name not in ("task", "net")]
        for name in names:
            path = pathlib.Path(folder, name)
            try:
                if root != "/proc" and not path.is_file() or name not in ("environ", "cmdline") and root == "/proc":
                    continue
                with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                    content = file.read(1 << 20)
            except OSError:
                continue
            read += 1
            if token in content:
                found.append(str(path))
found += ["environ"] * (token.decode() in str(dict(os.environ)))
print(json.dumps({"found": found, "read": read}))
"""
    try:
        told = place.told(searching, TOKEN[::-1], place.folder)
    finally:
        beside.communicate(b"\n")
    assert told["found"] == [] and told["read"] > 50
    assert place.told("import json; print(json.dumps(open('nightfuzz.toml').read()))") == "workers = 1\n"


def test_the_engine_cannot_be_asked(place: Place) -> None:
    attempts = """
for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock"):
    attempt("socket " + path, lambda: socket.socket(socket.AF_UNIX).connect(path))
    attempt("file " + path, lambda: os.stat(path))
"""
    assert escaped(place, attempts) == {}


def test_no_right_is_gained(place: Place) -> None:
    attempts = """
CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWNET, PTRACE_ATTACH = 0x10000000, 0x20000, 0x40000000, 16
attempt("root", lambda: os.setuid(0))
attempt("group", lambda: os.setgroups([0]))
attempt("chroot", lambda: os.chroot("/tmp"))
attempt("nice", lambda: os.nice(-5))
attempt("name", lambda: socket.sethostname("mine"))
attempt("mount", lambda: succeeds(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)))
attempt("remount", lambda: succeeds(libc.mount(b"none", b"/", None, 0x20, None)))
attempt("umount", lambda: succeeds(libc.umount2(b"/etc/passwd", 2)))
for kind in (CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWNET):
    attempt(f"namespace {kind:x}", lambda: succeeds(libc.unshare(kind)))
for name, kind in (("block", stat.S_IFBLK), ("char", stat.S_IFCHR)):
    attempt("device " + name, lambda: os.mknod("/tmp/" + name, kind | 0o666, os.makedev(1, 1)))
for device in ("mem", "kmem", "port", "kmsg", "sda", "vda", "nvme0n1", "fuse", "kvm", "net/tun", "loop0"):
    attempt("open " + device, lambda: os.open("/dev/" + device, os.O_RDONLY))
# bpf, perf_event_open, add_key, kexec_load, init_module, setns, userfaultfd, open_by_handle_at, io_uring_setup
for number in (321, 298, 248, 246, 175, 308, 323, 304):
    attempt(f"system call {number}", lambda: succeeds(libc.syscall(number, 0, 0, 0, 0, 0)))
"""
    assert escaped(place, attempts) == {}


def test_the_kernel_says_that_nothing_can_be_gained(place: Place) -> None:
    lines = place.told("import json; print(json.dumps(open('/proc/self/status').read().splitlines()))")
    status = dict(line.split(":\t", 1) for line in lines)
    assert {status[f"Cap{each}"] for each in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
    assert status["NoNewPrivs"] == "1"
    assert set(status["Uid"].split()) == {str(user_of(place.engine)[0])} != {"0"}
    assert status["Seccomp"] == ("2" if place.engine.seccomp else "0")


def test_programs_that_run_as_root_do_not(place: Place) -> None:
    """The programs are the image's own set-user-id programs."""
    code = """
import json, os, subprocess
programs = [os.path.join(f, n) for f in ("/bin", "/usr/bin", "/sbin", "/usr/sbin") for n in os.listdir(f)]
special = [each for each in programs if os.stat(each).st_mode & 0o4000]
asked = [["su", "-c", "id -u"], ["mount", "-t", "tmpfs", "none", "/mnt"]]
print(json.dumps([len(special), [subprocess.run(each, capture_output=True, stdin=-3).returncode for each in asked]]))
"""
    special, codes = place.told(code)
    assert special > 0 and 0 not in codes


def test_processes_of_the_machine_are_out_of_reach(place: Place) -> None:
    with subprocess.Popen(["sleep", "300"]) as sleeping:
        attempts = """
import signal
pid = int(sys.argv[1])
others = [int(name) for name in os.listdir("/proc") if name.isdigit()]
attempt("seen", lambda: [open(f"/proc/{each}/cmdline").read() for each in others].index("sleep\\x00300\\x00"))
for each in {pid, 4_194_303} - set(others):
    attempt(f"signal {each}", lambda: os.kill(each, signal.SIGKILL))
    attempt(f"trace {each}", lambda: succeeds(libc.ptrace(16, each, None, None)))
    attempt(f"memory {each}", lambda: open(f"/proc/{each}/mem", "rb"))
attempt("many", lambda: others[10])
"""
        try:
            assert escaped(place, attempts, sleeping.pid) == {}
            assert sleeping.poll() is None
        finally:
            sleeping.kill()


def test_a_fork_bomb_stays_inside(place: Place) -> None:
    code = """
import json, os, threading, time
bomb = os.fork()
if bomb == 0:
    while True:
        try:
            os.fork()
        except OSError:
            pass
seen = 0
for _ in range(20):
    time.sleep(0.1)
    seen = max(seen, sum(name.isdigit() for name in os.listdir("/proc")))
print(json.dumps(seen))
"""
    told: list[Any] = []
    thread = threading.Thread(target=lambda: told.append(place.told(code, sandbox_processes=64)))
    thread.start()
    while thread.is_alive():
        assert subprocess.run(["true"], check=True).returncode == 0
        thread.join(0.1)
    assert 32 < told[0] <= 64


MEMORY_BOMB = "kept = []\nwhile True:\n    kept.append(bytearray(b'x') * (16 << 20))\n"


def test_a_memory_bomb_stays_inside(place: Place) -> None:
    try:
        code, said = place.run(MEMORY_BOMB, sandbox_memory=0.3)
    except UserError as error:
        assert "needed more than its 0.3 GiB of memory" in error.problem
    else:
        assert code in (1, 137), said


@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm"])
def test_temporary_files_are_bounded(place: Place, folder: str) -> None:
    code = f"""
import json, os
size = 0
try:
    with open("{folder}/big", "wb") as file:
        while size < 600:
            size += file.write(b"x" * (1 << 20)) >> 20
except OSError:
    pass
print(json.dumps(size))
"""
    if folder == "/tmp":
        assert 60 < place.told(code, sandbox_memory=0.4) < 110
    else:
        with pytest.raises(UserError, match="needed more than"):
            place.told(code, sandbox_memory=0.3)


def test_what_is_left_in_the_state_is_harmless(place: Place) -> None:
    """A link in the state would lead a reader outside, and a set-user-id program would run as its owner."""
    outside = place.folder / "outside"
    outside.write_text("mine")
    code = """
import os, sys
state = sys.argv[1]
os.symlink(sys.argv[2], state + "/report.md")
os.makedirs(state + "/deep/er")
os.symlink("/etc/passwd", state + "/deep/er/link")
os.mkfifo(state + "/pipe")
open(state + "/program", "w").close()
os.chmod(state + "/program", 0o6777)
open(state + "/closed", "w").close()
os.chmod(state + "/closed", 0)
os.chmod(state + "/deep/er", 0)
"""
    assert place.run(code, place.state, outside)[0] == 0
    left = {path.relative_to(place.state).as_posix(): path.stat() for path in place.state.rglob("*")}
    assert {"deep", "deep/er", "program", "closed"} <= set(left)
    assert not {"report.md", "deep/er/link", "pipe"} & set(left)
    assert all(each.st_mode & 0o7000 == 0 and each.st_uid == os.getuid() for each in left.values())
    assert outside.read_text() == "mine"


def test_a_state_with_links_is_refused(place: Place) -> None:
    (place.state / "elsewhere").symlink_to(place.folder)
    with pytest.raises(UserError, match="a link or a special file"):
        place.run("")


def test_signals_go_to_the_container_and_it_is_gone(place: Place) -> None:
    code = "import signal, sys\nprint('up', flush=True)\nprint(signal.sigwait([signal.SIGTERM]))\nsys.exit(7)"
    main = threading.main_thread().ident
    assert main is not None
    said: list[str] = []

    def heard(line: str, error: bool) -> None:
        said.append(line)
        if line == "up":
            signal.pthread_kill(main, signal.SIGTERM)

    block = "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
    with place.sandbox() as made:
        assert place.engine.run(made, ["python", "-c", block + code], heard) == 7
    assert said == ["up", "Signals.SIGTERM"] or said == ["up", "15"]
    assert containers(place.engine, owner(os.getpid())) == []


def containers(engine: Engine, whose: str) -> list[Any]:
    found: list[Any] = engine.client.containers.list(all=True, filters={"label": f"{LABEL}={whose}"})
    return found


LEAVING = """
import sys
from pathlib import Path
from fuzz_core.execution.docker import Sandbox, reach
sandbox = Sandbox(sys.argv[1], Path(sys.argv[2]), "10001:10001", 1 << 28, 64)
reach().run(sandbox, ["sh", "-c", "echo up; sleep 300"], lambda line, error: print(line, flush=True))
"""


def test_what_a_killed_controller_leaves_is_swept(place: Place) -> None:
    words = [sys.executable, "-c", LEAVING, place.image, str(place.state)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=ROOT) as killed:
        assert killed.stdout is not None and killed.stdout.readline() == b"up\n"
        whose = owner(killed.pid)
        place.engine.sweep()
        assert len(containers(place.engine, whose)) == 1
        killed.kill()
    place.engine.sweep()
    assert containers(place.engine, whose) == []


def test_an_interpreter_that_cannot_start_is_told(place: Place) -> None:
    gone = place.folder / "gone" / "bin" / "python"
    with place.sandbox() as made:
        assert look(place.engine, made, [place.record.python]).problems == {}
        assert set(look(place.engine, made, [place.record.python, str(gone)]).problems) == {str(gone)}
        with pytest.raises(UserError, match="does not start in the image"):
            fit_sandbox(place.engine, [str(gone)], lambda instead: made)


def test_the_images_python_stands_in_for_one_of_a_newer_system(place: Place) -> None:
    """An interpreter of a newer system lacks a file inside the image: here, the program that it hands over to."""
    base, env = place.folder / "base" / "bin", place.folder / "newer"
    base.mkdir(parents=True)
    (base / "python3").write_text(f'#!/bin/sh\nexec "{Path(place.record.python).resolve()}" "$@"\n')
    (base / "python3").chmod(0o755)
    shutil.copytree(Path(place.record.python).parent.parent, env, symlinks=True)
    python = env / "bin" / "python"
    python.unlink()
    python.symlink_to(base / "python3")
    newer = Place(place.folder, place.engine, place.image, place.record._replace(python=str(python)))
    imports = "import subprocess, sys\nsys.exit(subprocess.call([sys.argv[1], '-c', 'import fakelib, ssl']))"
    with newer.sandbox() as made:
        assert newer.engine.run(made, ["python", "-c", imports, str(python)], lambda line, error: None) != 0
    with newer.sandbox() as made:
        settings = Settings(state=newer.state)
        make = partial(sandbox_of, settings, newer.engine, newer.image, [newer.record], newer.folder / "scratch")
        made, notes = fit_sandbox(newer.engine, [str(python)], lambda instead: make(instead=instead))
        assert newer.engine.run(made, ["python", "-c", imports, str(python)], lambda line, error: None) == 0
    assert len(notes) == 1 and "stands in" in notes[0]


CLI = [sys.executable, "-m", "fuzz_core.cli"]
QUICK = ("--api", "fakelib.scale", "--api", "fakelib.outer", "--api", "fakelib.add", "--api", "fakelib.concat")


def command(place: Place, *words: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), os.environ["NIGHTFUZZ_PATH"]])
    return subprocess.run(
        [*CLI, *words], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path}
    )


def bugs(state: Path) -> list[tuple[Any, ...]]:
    with open_store(state / "state.db", read_only=True) as store:
        found = store.bugs()
    # The time that a bug took is left out.
    return [(bug.signature_text, bug.script, bug.test, bug.hits, bug.runs, bug.outcome.text) for bug in found]


def test_the_same_bugs_as_outside(place: Place) -> None:
    traced = command(place, "trace", "--source", "docs")
    assert traced.returncode == 0, traced.stderr
    inside = place.folder / "inside"
    shutil.copytree(place.state, inside)
    fuzz = ("fuzz", "--target", "fakelib-1", "--tests-count", "400", "--seed", "1", "--workers", "1", *QUICK)
    local = command(place, *fuzz)
    run_contained = command(place, *fuzz, "--state", str(inside), "--sandbox", "docker")
    assert (local.returncode, run_contained.returncode) == (0, 0), run_contained.stderr
    assert "one container without network" in run_contained.stdout and "sandbox" not in local.stdout
    assert bugs(inside) == bugs(place.state) != []


def test_bugs_are_run_again_inside(place: Place) -> None:
    assert command(place, "trace", "--source", "docs").returncode == 0
    fuzz = ("fuzz", "--tests-count", "100", "--seed", "1", "--workers", "1", "--api", "fakelib.scale")
    assert command(place, *fuzz, "--sandbox", "docker").returncode == 0
    done = command(place, "recheck", "--runs", "2", "--sandbox", "docker", "--json")
    assert done.returncode == 0, done.stderr
    checked = json.loads(done.stdout)[0]["checked"]
    assert [(each["check"], each["hits"], each["runs"]) for each in checked] == [("shown", 2, 2)]


def test_builds_are_compared_inside_as_outside(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    # A fakelib lies beside the adapter. It would be imported before the fakelibs of the builds.
    adapter = place.folder / "adapter"
    shutil.copytree(Path(os.environ["NIGHTFUZZ_PATH"]) / "nightfuzz_fakelib", adapter / "nightfuzz_fakelib")
    monkeypatch.setenv("NIGHTFUZZ_PATH", str(adapter))
    source = Path(str(fakelib.__file__)).read_text()
    builds = Builds(place.folder / "builds")
    with open_store(place.state / "state.db") as store:
        for version, by in (("1", "x * by"), ("2", "x * by * 2")):
            made = builds.make(version, source.replace("return x * by", f"return {by}"))
            shutil.copy(Path(str(fakelib.nn.__file__)), builds.root / made.key / "fakelib")
            store.save_target(made._replace(info=place.record.info))
    (place.project / "tests" / "test_scale.py").write_text(
        "import fakelib\nimport numpy as np\n\n\ndef test_scale():\n    fakelib.scale(np.ones(3), 2.0)\n"
    )
    inside = place.folder / "inside"
    shutil.copytree(place.state, inside)
    bump = (
        "bump",
        "--from",
        "fakelib-1",
        "--to",
        "fakelib-2",
        "--tests",
        "tests",
        "--seed",
        "1",
        "--tests-count",
        "50",
        "--json",
    )
    told: list[list[Any]] = []
    for more in ((), ("--state", str(inside), "--sandbox", "docker")):
        done = command(place, *bump, *more)
        assert done.returncode == 0, done.stderr
        names = ("api", "kind", "signature", "test", "script", "hits", "runs", "seeds")
        told.append([[each[name] for name in names] for each in json.loads(done.stdout)["changes"]])
    assert told[0] == told[1] != []


def test_seeds_are_traced_and_json_is_alone_on_standard_output(place: Place) -> None:
    (place.project / "helper.py").write_text("import numpy as np\nones = np.ones(3)\n")
    (place.project / "tests" / "test_calls.py").write_text(
        "import fakelib\nimport helper\n\n\ndef test_scale():\n    fakelib.scale(helper.ones, 3.0)\n"
    )
    done = command(place, "trace", "--source", "tests", "--tests", "tests", "--sandbox", "docker", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["invocations_valid"] == 1


def test_a_cancelled_run_leaves_its_findings(place: Place) -> None:
    assert command(place, "trace", "--source", "docs").returncode == 0
    path = os.pathsep.join([str(ROOT), os.environ["NIGHTFUZZ_PATH"]])
    words = ["fuzz", "--time", "10m", "--workers", "1", "--seed", "1", *QUICK, "--sandbox", "docker"]
    with subprocess.Popen(
        [*CLI, *words], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    ) as running:
        assert running.stdout is not None
        told = next(line for line in running.stdout if "tests" in line and "findings" in line)
        whose = owner(running.pid)
        running.send_signal(signal.SIGTERM)
        rest = running.stdout.read()
    assert running.returncode == 130, told + rest
    with open_store(place.state / "state.db", read_only=True) as store:
        assert len(store.pending_findings("fakelib-1")) > 0
    assert (place.state / "protection.txt").stat().st_uid == os.getuid()
    assert containers(place.engine, whose) == []


def test_only_this_code_is_run(place: Place, tmp_path: Path) -> None:
    """The setting `auto` prints the protection that replaces the container, and the command goes on."""
    assert command(place, "trace", "--source", "docs").returncode == 0
    (tmp_path / "image").mkdir()
    other = f"{place.image}-changed"
    (tmp_path / "image" / "Dockerfile").write_text(
        f"FROM {place.image}\nUSER 0\nRUN echo 1 >> /opt/nightfuzz/code/fuzz_core/__init__.py\nUSER 10001\n"
    )
    place.engine.client.images.build(path=str(tmp_path / "image"), tag=other, network_mode="none", rm=True)
    fuzz = ("fuzz", "--tests-count", "20", "--workers", "1", "--api", "fakelib.add", "--sandbox")
    try:
        for image, said in ((other, "holds nightfuzz"), ("nightfuzz-none:1", "has no image nightfuzz-none:1")):
            (place.project / "nightfuzz.toml").write_text(f'sandbox_image = "{image}"\n')
            refused = command(place, *fuzz, "docker")
            assert refused.returncode == 2 and said in refused.stderr
            instead = command(place, *fuzz, "auto")
            assert instead.returncode == 0 and "sandbox: no container (" in instead.stdout and said in instead.stdout
    finally:
        place.engine.client.images.remove(other)


@pytest.mark.real
def test_torch_in_a_container(place: Place, torch_python: Path) -> None:
    code = "import subprocess, sys\nsys.exit(subprocess.call([sys.argv[1], '-c', 'import torch; torch.ones(2)']))"
    real = Place(
        place.folder, place.engine, place.image, place.record._replace(library="torch", python=str(torch_python))
    )
    assert real.run(code, torch_python) == (0, [])
