"""Tests of real targets from hand-zipped wheels: made once, complete or not at all, and never of another version."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest

from fuzz_core.adapters.library import KNOWN_LIBRARIES
from fuzz_core.ir.errors import UserError
from fuzz_core.targets import environment, installer
from fuzz_core.targets.artifact import sha256_of
from fuzz_core.targets.environment import ensure
from fuzz_core.targets.record import Target, list_targets, lock_of, remove, targets_root
from fuzz_core.targets.spec import parse_spec

MakeWheel = Callable[..., Path]
REPOSITORY = Path(__file__).resolve().parents[2]

CHILD = """
import sys
from pathlib import Path
from fuzz_core.adapters.library import KNOWN_LIBRARIES, Library
from fuzz_core.targets import environment, spec
KNOWN_LIBRARIES["fakelib"] = Library("fakelib", distributions=("fakelib",))
{extra}
print("ready", flush=True)
print(environment.ensure(spec.parse_spec("fakelib==1.0")).python, flush=True)
"""


def made() -> Target:
    return ensure(parse_spec("fakelib==1.0"))


def leftovers() -> list[Path]:
    """Returns the entries of the folder of targets, without the locks."""
    root = targets_root()
    return [each for each in root.iterdir() if each.name != ".locks"] if root.exists() else []


def child(extra: str = "") -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD.format(extra=extra)]
    env = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)


def test_a_target_holds_the_version_asked_for_and_says_so(make_wheel: MakeWheel, tmp_path: Path) -> None:
    wheel, _newer = make_wheel("1.0"), make_wheel("2.0")
    digest = sha256_of(wheel)[:8]
    target = made()
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert (target.key, target.library, target.version) == (f"fakelib-1.0-{tag}-{digest}", "fakelib", "1.0")
    assert target.python.is_relative_to(tmp_path / "cache" / "targets" / target.key)
    assert (target.info.version, target.info.tag, target.info.devices) == ("1.0", tag, ("cpu",))
    assert "fakelib 1.0" in target.summary()
    assert target.origin is not None and target.origin.artifact.url == wheel.as_uri()
    assert list_targets() == [target]


def test_a_bare_name_takes_the_newest_release(make_wheel: MakeWheel) -> None:
    make_wheel("1.0"), make_wheel("2.0"), make_wheel("3.0rc1")
    assert ensure(parse_spec("fakelib")).version == "2.0"


def test_a_made_pin_is_reused_without_asking_the_index(make_wheel: MakeWheel) -> None:
    wheel = make_wheel("1.0")
    first = made()
    wheel.unlink()
    assert made() == first


def zip_numpy(folder: Path, version: str) -> None:
    """Zips a wheel with the name of numpy."""
    with ZipFile(folder / f"numpy-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr("numpy/__init__.py", f"__version__ = {version!r}\n")
        archive.writestr(
            f"numpy-{version}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: numpy\nVersion: {version}\n"
        )
        archive.writestr(
            f"numpy-{version}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"numpy-{version}.dist-info/RECORD", "")


@pytest.mark.parametrize(
    "said",
    [
        "numpy.core.multiarray failed to import",
        "numpy.dtype size changed, may indicate binary incompatibility",
        "Numpy is not available",
    ],
)
def test_a_build_from_before_numpy_2_gets_an_older_numpy_and_says_so(
    make_wheel: MakeWheel, tmp_path: Path, said: str
) -> None:
    zip_numpy(tmp_path / "index", "1.26.4"), zip_numpy(tmp_path / "index", "2.3.0")
    body = f"import numpy\nif numpy.__version__ > '2':\n    raise ImportError({said!r})"
    make_wheel("1.0", body=body, needs="numpy")
    target = made()
    assert (target.info.numpy, target.notes) == (
        "1.26.4", ("it does not work with the newest numpy: installed with numpy<2",),
    )  # fmt: skip
    assert made().notes == target.notes


def test_a_library_that_compiles_itself_is_not_begun_without_a_compiler(
    make_wheel: MakeWheel, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel("1.0")
    monkeypatch.setattr(environment, "compiles", lambda library: True)
    monkeypatch.setattr(environment.shutil, "which", lambda _: None)
    with pytest.raises(
        UserError, match=r"fakelib has to compile code on this machine, which has no C\+\+ compiler"
    ) as refused:
        made()
    assert "apt install g++" in refused.value.remedy
    assert leftovers() == []


def test_the_root_given_wins_over_the_environment_variable(make_wheel: MakeWheel, tmp_path: Path) -> None:
    make_wheel("1.0")
    target = ensure(parse_spec("fakelib==1.0"), root=tmp_path / "elsewhere")
    assert list_targets(tmp_path / "elsewhere") == [target]
    assert list_targets() == []


def test_the_name_of_an_installed_build_is_that_of_its_local_label(make_wheel: MakeWheel) -> None:
    make_wheel("1.0"), make_wheel("1.0+cpu")
    assert made().version == "1.0+cpu"
    assert "fakelib-1.0+cpu-" in made().key


def test_two_processes_make_one_environment(make_wheel: MakeWheel) -> None:
    make_wheel("1.0")
    first, second = child(), child()
    outputs = [process.communicate(timeout=120)[0].splitlines() for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0)
    # If the environment were made twice, the second environment would have another name.
    assert outputs[0] == outputs[1]
    assert Path(outputs[0][1]).exists()
    assert len(list(targets_root().glob("fakelib-*/env-*"))) == 1


def test_a_second_run_waits_for_the_first_and_takes_what_it_made(make_wheel: MakeWheel) -> None:
    make_wheel("1.0")
    target = made()
    record = targets_root() / target.key / "target.json"
    finished = record.read_text()
    record.unlink()
    with lock_of(targets_root(), target.key):
        waiting = child()
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == "ready\n"
        record.write_text(finished)
    assert waiting.communicate(timeout=120)[0].strip() == str(target.python)


def test_ctrl_c_while_installing_leaves_nothing(make_wheel: MakeWheel, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    make_wheel("1.0")
    monkeypatch.setattr(installer, "install", interrupted)
    with pytest.raises(KeyboardInterrupt):
        made()
    assert leftovers() == []


def test_what_a_killed_run_left_is_swept_by_the_next(make_wheel: MakeWheel) -> None:
    make_wheel("1.0")
    killed = child("import os\nenvironment.probe = lambda *_: os.kill(os.getpid(), 9)")
    killed.communicate(timeout=120)
    assert killed.returncode == -signal.SIGKILL
    [left] = targets_root().glob("fakelib-*/env-*")
    assert list_targets() == []
    target = made()
    assert not left.exists()
    assert [target.python.parents[1]] == list(targets_root().glob("fakelib-*/env-*"))


def test_a_damaged_record_counts_as_unfinished_and_is_made_anew(make_wheel: MakeWheel) -> None:
    make_wheel("1.0")
    first = made()
    for text in ("", "[]", "{", '{"schema": 99}', '{"schema": 1, "key": "x"}', "\x00"):
        (targets_root() / first.key / "target.json").write_text(text)
        assert list_targets() == []
    second = made()
    assert (second.key, second.version) == (first.key, first.version)
    assert second.python.exists()


def test_a_target_whose_base_python_is_gone_is_made_anew(make_wheel: MakeWheel) -> None:
    make_wheel("1.0")
    first = made()
    first.python.unlink()
    first.python.symlink_to("/nowhere/python")
    assert made().python != first.python


def test_a_version_that_does_not_exist_names_the_nearest(make_wheel: MakeWheel) -> None:
    for version in ("0.1", "1.0", "1.1", "2.0"):
        make_wheel(version)
    with pytest.raises(UserError) as caught:
        ensure(parse_spec("fakelib==1.5"))
    assert "no build of fakelib==1.5" in caught.value.problem
    assert caught.value.remedy == "name one of the nearest versions: 0.1, 1.0, 1.1, 2.0"
    assert leftovers() == []


def test_a_distribution_with_no_build_for_this_python_is_said_to_have_none(make_wheel: MakeWheel) -> None:
    make_wheel("1.0", tag="cp27-cp27m-win32")
    with pytest.raises(UserError, match="has no fakelib for cp3"):
        made()


def test_a_post_release_need_not_know_that_it_is_one(make_wheel: MakeWheel) -> None:
    make_wheel("1.0.post1", says="1.0")
    assert ensure(parse_spec("fakelib==1.0.post1"), "cpu").version == "1.0"


def test_another_version_than_asked_for_is_refused(make_wheel: MakeWheel) -> None:
    make_wheel("1.0", says="0.9")
    with pytest.raises(UserError, match=r"asked for fakelib 1\.0, but the installed library says that it is 0\.9"):
        made()
    assert leftovers() == []


@pytest.mark.parametrize(
    ("body", "needs", "problem"),
    [
        ("raise RuntimeError('no such device')", "", "failed to import fakelib: RuntimeError: no such device"),
        ("import os; os.abort()", "", "failed to import fakelib: killed: Aborted"),
        ("", "does-not-exist", "does-not-exist"),
    ],
)
def test_a_failure_says_why_and_leaves_nothing(make_wheel: MakeWheel, body: str, needs: str, problem: str) -> None:
    make_wheel("1.0", body=body, needs=needs)
    with pytest.raises(UserError) as caught:
        made()
    assert problem in caught.value.problem
    assert leftovers() == []


@pytest.mark.usefixtures("own_index")
def test_an_index_that_can_not_be_reached_is_told_from_one_without_the_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(installer.IndexUnreachable, match="Connection refused"):
        made()
    assert leftovers() == []


def test_too_little_disk_is_told_before_anything_is_installed(
    make_wheel: MakeWheel, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel("1.0")
    monkeypatch.setitem(
        KNOWN_LIBRARIES, "fakelib", KNOWN_LIBRARIES["fakelib"]._replace(space={"cpu": 10**18, "cuda": 10**18})
    )
    with pytest.raises(UserError, match=r"needs 1000000000\.0 GB under .* GB are free"):
        made()
    assert leftovers() == []


def test_a_cache_that_can_not_be_written_is_told(make_wheel: MakeWheel, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = make_wheel("1.0")
    monkeypatch.setenv("NIGHTFUZZ_CACHE", str(wheel))
    with pytest.raises(UserError, match="targets cannot be kept in"):
        made()


def test_a_companion_is_installed_and_can_not_move_the_version(
    make_wheel: MakeWheel, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel("1.0"), make_wheel("2.0")
    monkeypatch.setitem(KNOWN_LIBRARIES, "fakelib", KNOWN_LIBRARIES["fakelib"]._replace(companions=("fakelib>=2.0",)))
    with pytest.raises(UserError, match="could not be installed"):
        made()
    assert leftovers() == []


def test_a_wheel_file_is_a_target_by_its_content(make_wheel: MakeWheel) -> None:
    first = ensure(parse_spec(str(make_wheel("1.0"))))
    second = ensure(parse_spec(str(make_wheel("1.0", body="rebuilt = True"))))
    assert (first.version, second.version) == ("1.0", "1.0")
    assert first.key != second.key
    assert ensure(parse_spec(second.spec)) == second


def test_a_wheel_file_for_another_python_names_its_tags(make_wheel: MakeWheel) -> None:
    with pytest.raises(UserError, match="tagged cp27-cp27m-win32"):
        ensure(parse_spec(str(make_wheel("1.0", tag="cp27-cp27m-win32"))))


def test_an_interpreter_of_the_user_is_never_modified(make_wheel: MakeWheel, tmp_path: Path) -> None:
    make_wheel("1.0")
    own = ensure(parse_spec("fakelib==1.0"), root=tmp_path / "own")
    before = {each: each.lstat().st_mtime_ns for each in (tmp_path / "own").rglob("*")}
    target = ensure(parse_spec(f"python:{own.python}"))
    assert (target.library, target.version, target.python) == ("fakelib", "1.0", own.python)
    assert list_targets() == [target]
    remove(target.key)
    assert list_targets() == []
    assert {each: each.lstat().st_mtime_ns for each in (tmp_path / "own").rglob("*")} == before


def test_a_removed_target_is_gone_whole(make_wheel: MakeWheel) -> None:
    make_wheel("1.0")
    remove(made().key)
    assert leftovers() == []


def test_removing_what_is_not_there_names_the_nearest_and_removes_nothing(make_wheel: MakeWheel) -> None:
    make_wheel("1.0")
    target = made()
    for key in ("fakelib-1.1-cp311", "..", ".locks", "", "a/b", f"../targets/{target.key}"):
        with pytest.raises(UserError) as caught:
            remove(key)
        assert repr(key) in caught.value.problem
    assert target.key in caught.value.remedy
    assert list_targets() == [target]
    assert target.python.exists()
