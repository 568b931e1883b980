"""Tests that ask interpreters, and files that are no interpreters, for the library that they have."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.ir.errors import UserError
from fuzz_core.targets.facts import info_from_json, probe

JSON = st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner), max_leaves=4)
FIELDS = st.sampled_from(["library", "version", "python", "tag", "platform", "commit", "numpy", "cuda", "devices"])


def program(folder: Path, text: str) -> Path:
    path = folder / "python"
    path.write_text(f"#!{text}")
    path.chmod(0o755)
    return path


def with_libraries(folder: Path, monkeypatch: pytest.MonkeyPatch, **sources: str) -> Path:
    """Returns an interpreter that finds these modules and no other library."""
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source)
    script = f'/bin/sh\nexport PYTHONPATH="{folder}"\nexec "{sys.executable}" "$@"\n'
    return program(folder, script)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("/bin/true\n", "is not a Python interpreter"),
        ("/bin/echo\n", "is not a Python interpreter"),
        ("/nowhere/interpreter\n", "cannot be run: No such file"),
        ("/bin/sh\necho first >&2; echo last words >&2; exit 3\n", "failed: last words"),
        ("/bin/sh\nexit 3\n", "failed: exit status 3"),
        ("/bin/sh\nkill -SEGV $$\n", "failed: killed: Segmentation fault"),
        ('/bin/sh\necho \'nightfuzz-facts {"old": "2.7.18"}\'\n', "is Python 2.7.18"),
        ("/bin/sh\necho 'nightfuzz-facts {'\n", "gave an answer that is not JSON"),
        ("/bin/sh\necho 'nightfuzz-facts [1]'\n", "no valid library"),
    ],
)
def test_what_is_no_fit_interpreter_is_told(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(UserError) as caught:
        probe(program(tmp_path, text))
    assert problem in caught.value.problem
    assert "\n" not in caught.value.problem


def test_a_missing_interpreter_and_a_file_that_is_no_program_are_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        probe(tmp_path / "nowhere")
    (tmp_path / "text").touch()
    with pytest.raises(UserError, match="Permission denied"):
        probe(tmp_path / "text")


def test_an_import_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did not import torch within"):
        probe(program(tmp_path, "/bin/sh\nsleep 1000 &\nsleep 1000\n"), "torch", timeout=0.1)


def test_the_only_library_is_found_without_being_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = with_libraries(tmp_path, monkeypatch, jittor="print('chatter')\n__version__ = '1.3'")
    info = probe(python)
    assert (info.library, info.version, info.commit, info.cuda) == ("jittor", "1.3", None, None)
    assert info.python == ".".join(map(str, sys.version_info[:3]))
    assert info.flavour == "cpu"


def test_several_libraries_ask_for_a_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = with_libraries(tmp_path, monkeypatch, jittor="__version__ = '1.3'", torch="raise SystemError")
    with pytest.raises(UserError, match="several libraries: jittor, torch") as caught:
        probe(python)
    assert "--library" in caught.value.remedy
    assert probe(python, "jittor").version == "1.3"


def test_none_of_the_libraries_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="has none of"):
        probe(with_libraries(tmp_path, monkeypatch))


def test_a_target_sees_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    source = "import os; __version__ = os.environ.get('GITHUB_TOKEN', 'none') + os.environ['CUDA_VISIBLE_DEVICES']"
    assert probe(with_libraries(tmp_path, monkeypatch, jittor=source)).version == "none0"


def test_a_folder_named_like_the_library_does_not_stand_in_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jittor").mkdir()
    (tmp_path / "jittor" / "__init__.py").write_text("__version__ = '0'")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="No module named 'jittor'"):
        probe(Path(sys.executable), "jittor")


@given(FIELDS, JSON)
def test_a_description_is_valid_or_refused(field: str, value: object) -> None:
    good = dict.fromkeys(("library", "version", "python", "tag", "platform"), "x")
    try:
        info = info_from_json(good | {field: value})
    except UserError as error:
        assert field in error.problem
    else:
        assert hash(info) is not None
        assert getattr(info, field) == (tuple(value) if isinstance(value, list) else value)


@pytest.mark.real
def test_torch_says_what_it_is(torch_python: Path) -> None:
    info = probe(torch_python)
    assert (info.library, info.version.split("+")[0], info.devices[0]) == ("torch", "2.13.0", "cpu")
    assert info.commit is not None
    assert len(info.commit) == 40
    assert info.numpy


@pytest.mark.real
def test_tensorflow_says_what_it_is(tensorflow_python: Path) -> None:
    info = probe(tensorflow_python, "tensorflow")
    assert (info.library, info.version, info.devices[0]) == ("tensorflow", "2.21.0", "cpu")
    assert info.commit


def test_a_library_keeps_nothing_in_the_users_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, folder = tmp_path / "home", tmp_path / "python"
    home.mkdir()
    folder.mkdir()
    monkeypatch.setenv("HOME", str(home))
    source = "import pathlib; (pathlib.Path.home() / 'kept').touch(); __version__ = '1.3'"
    assert probe(with_libraries(folder, monkeypatch, jittor=source)).version == "1.3"
    assert list(home.iterdir()) == []


def test_a_library_may_ask_to_be_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        "import pathlib, sys\n"
        "starts = pathlib.Path(__file__).with_name('starts')\n"
        "starts.write_text(starts.read_text() + '.' if starts.exists() else '.')\n"
        "__version__ = starts.read_text()\n"
        "len(__version__) < 3 and sys.exit(0)\n"
    )
    assert probe(with_libraries(tmp_path, monkeypatch, jittor=source)).version == "..."
