"""Tests that foreign code in a zygote, a script or a first import can change its own folders alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_zygote import snippet

from fuzz_core.execution.protection import process_protection
from fuzz_core.execution.zygote import Zygote
from fuzz_core.triage.process import run
from fuzz_core.worker import confinement
from fuzz_core.worker.confinement import LANDLOCK, NAMESPACE, VARIABLE, confined

NOBODY = 65534
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def means() -> list[str]:
    """Returns the means of confinement that this kernel has, found out in another process."""
    command = [sys.executable, "-c", f"import os; print(os.environ[{VARIABLE!r}])"]
    said = subprocess.run(confined(command, [Path.cwd() / "docs"]), capture_output=True, text=True, check=True)
    return said.stdout.strip().split(",")


@pytest.fixture(scope="module")
def tracer() -> Iterator[Zygote]:
    with Zygote(sys.executable, "fakelib", "trace") as zygote:
        yield zygote


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """Yields a folder of the machine; at the end no file of a seed may lie in folders that seeds like to write to."""
    places = [Path(place) / f"seed-{os.getpid()}" for place in ("/tmp", "/var/tmp", Path.home(), "/dev/shm")]
    yield tmp_path
    left = [path for path in (*places, *tmp_path.iterdir(), Path.cwd() / "seed") if path.exists()]
    for path in left:
        path.unlink()
    assert left == []


def attack(outside: Path) -> str:
    """Returns a seed with one line for each place; each line is executed by itself."""
    name = f"seed-{os.getpid()}"
    places = [f"/tmp/{name}", f"/var/tmp/{name}", str(Path.home() / name), f"{outside}/seed", f"{Path.cwd()}/seed"]
    return "".join(f"open({place!r}, 'w').write('x')\n" for place in places)


def test_a_seed_changes_nothing_outside(outside: Path, means: list[str]) -> None:
    if means == [""]:
        pytest.skip("this kernel has neither namespaces for this user nor Landlock")
    with Zygote(sys.executable, "fakelib", "trace") as zygote:
        end = snippet(zygote, f"{attack(outside)}open('mine', 'w')\nimport os\nopen(os.environ['HOME'] + '/x', 'w')")
        # The private /tmp takes the files that examples of a library write there.
        assert end.messages[-1]["failed"] == (3 if NAMESPACE in means else 5)


def test_neither_does_the_script_of_a_bug(outside: Path, means: list[str]) -> None:
    tried = "".join(f"try: {line}\nexcept OSError: pass\n" for line in attack(outside).splitlines())
    done = run([sys.executable, "bug.py"], {"bug.py": f"{tried}open('mine', 'w')\nprint('over')"}, 60.0)
    assert (done.code, done.stdout) == (0, "over\n")


# Attacks of a seed on another process of the same user, such as the runner of the job. `{pid}` is that process.
ATTEMPTS = {
    "undo the mounts": "import ctypes\n"
    "if ctypes.CDLL(None).mount(b'none', b'/', None, ctypes.c_ulong(32), None): raise OSError",
    "read its environment": "open('/proc/{pid}/environ')",
    "read its memory": "open('/proc/{pid}/mem', 'rb')",
    "look into its folder": "import os\nos.listdir('/proc/{pid}/cwd')",
    "end it": "import os\nos.kill({pid}, 9)",
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_other_processes_are_out_of_reach(attempt: str, means: list[str], tracer: Zygote) -> None:
    if LANDLOCK not in means or (attempt == "end it" and confinement.version_of_landlock() < 6):
        pytest.skip("this kernel has no Landlock, or one that lets signals pass")
    with subprocess.Popen(["/bin/sleep", "300"], env={"TOKEN": "s3cr3t"}) as other:
        code = ATTEMPTS[attempt].format(pid=other.pid)
        assert snippet(tracer, code).messages[-1]["failed"] == 1
        assert other.poll() is None
        other.kill()


# Files that later jobs on the same machine use, and the runner's own files for the next steps of the job.
POISONED = {
    "packages of the target": "site-packages/evil.pth",
    "kept wheels": "cache/nightfuzz/wheels/key/torch.whl",
    "the installer's cache": "cache/pip/wheels/evil.whl",
    "commands of the runner": "temp/_runner_file_commands/set_env_1",
    "the state": ".nightfuzz/state.db",
    "what the shell starts with": "home/.bashrc",
    "hooks of the checkout": "workspace/.git/hooks/post-checkout",
}


@pytest.mark.parametrize("place", POISONED)
def test_what_others_take_from_the_machine_is_not_poisoned(
    place: str, means: list[str], tracer: Zygote, tmp_path: Path
) -> None:
    if means == [""]:
        pytest.skip("this kernel has neither namespaces for this user nor Landlock")
    file = tmp_path / POISONED[place]
    file.parent.mkdir(parents=True)
    file.write_text("sound")
    code = f"open({str(file)!r}, 'a').write('evil')\nimport os\nos.remove({str(file)!r})"
    code += f"\nos.rename({str(file.parent)!r}, {str(tmp_path / 'moved')!r})"
    code += f"\nos.link({str(file)!r}, 'mine')\nopen({str(file.with_name('new'))!r}, 'w')"
    assert snippet(tracer, code).messages[-1]["failed"] == 5
    assert file.read_text() == "sound" and [each.name for each in file.parent.iterdir()] == [file.name]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_user_without_rights_is_confined_as_well(means: list[str]) -> None:
    """The means is a namespace of the user's own if the kernel allows one, and Landlock if not."""
    folder = Path("/tmp") / f"nobody-{os.getpid()}"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    try:
        lines = f"id -u; echo x > /tmp/seed-{os.getpid()}; echo x > mine; echo x > {Path('/var/lib')}/seed"
        command = ["/usr/bin/env", "python3", *confined(["/bin/sh", "-c", lines], [folder])[1:]]
        done = subprocess.run(command, user=NOBODY, group=NOBODY, cwd=folder, capture_output=True, text=True)
        assert done.stdout == f"{NOBODY}\n" and "seed" in done.stderr
        assert [path.name for path in folder.iterdir()] == ["mine"]
        assert not (Path("/tmp") / f"seed-{os.getpid()}").exists()
    finally:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


def test_landlock_alone_holds_too(means: list[str], tmp_path: Path) -> None:
    if LANDLOCK not in means:
        pytest.skip("this kernel has no Landlock")
    (tmp_path / "mine").mkdir()
    lines = (
        f"import os; from fuzz_core.worker import confinement as c; c._restrict([{str(tmp_path / 'mine')!r}])\n"
        f"open({str(tmp_path / 'mine' / 'a')!r}, 'w'); os.rename({str(tmp_path / 'mine' / 'a')!r}, "
        f"{str(tmp_path / 'mine' / 'b')!r}); open(os.devnull, 'w')\n"
        f"open({str(tmp_path / 'outside')!r}, 'w')"
    )
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True)
    assert "PermissionError" in done.stderr and "outside" in done.stderr
    assert (tmp_path / "mine" / "b").exists() and not (tmp_path / "outside").exists()


# A child of the confined process names a thread, and then tries files of the kernel and of another process.
NAMES = """
import sys, threading
from pathlib import Path
end = threading.Event()
thread = threading.Thread(target=end.wait, daemon=True)
thread.start()
said = []
for path in (f"/proc/self/task/{thread.native_id}/comm", *sys.argv[1:]):
    try:
        with open(path, "r+b", buffering=0) as file:
            path.endswith("comm") and file.write(b"named")
        said.append("opened")
    except OSError as error:
        said.append(type(error).__name__)
print(*said)
"""


@pytest.mark.parametrize(("gpu", "named"), [("/dev/null", "opened"), ("/dev/absent", "error")])
@pytest.mark.parametrize("landlock_alone", [False, True])
def test_a_thread_can_be_named_where_there_is_a_gpu(
    gpu: str, named: str, landlock_alone: bool, means: list[str], tmp_path: Path
) -> None:
    if LANDLOCK not in means:
        pytest.skip("this kernel has no Landlock")
    kernel = [
        path for path in ("/proc/sys/kernel/core_pattern", "/proc/irq/default_smp_affinity") if Path(path).exists()
    ]
    lines = (
        "import subprocess, sys; from pathlib import Path; from fuzz_core.worker import confinement as c\n"
        f"c.GPU = Path({gpu!r})\n"
        f"c._restrict([{str(tmp_path)!r}]) if {landlock_alone} else c.confine([{str(tmp_path)!r}])\n"
        f"sys.exit(subprocess.run([sys.executable, '-c', *sys.argv[1:]]).returncode)"
    )
    command = [sys.executable, "-c", lines, NAMES, *kernel, f"/proc/{os.getpid()}/mem"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    thread, *others, memory = done.stdout.split()
    assert ("opened" if thread == "opened" else "error") == named
    # Landlock alone leaves the kernel's files to their own permissions, which refuse any user but root.
    assert landlock_alone or set(others) <= {"OSError", "PermissionError"}
    assert memory != "opened"


def test_the_protection_says_which_means_there_were(means: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(process_protection())
    assert ("mount namespace" in text, "Landlock" in text) == (NAMESPACE in means, LANDLOCK in means)
    monkeypatch.setattr(confinement, "__file__", str(Path(__file__).with_name("absent.py")))
    assert "read and write all files of the user" in " ".join(process_protection())
