"""Property and example tests of what a user may write to name a target."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from fuzz_core.adapters.dialect import DIALECTS, dialect_of
from fuzz_core.ir.errors import UserError
from fuzz_core.targets.spec import DISTRIBUTIONS, LISTED, parse_spec

NUMBERS = st.lists(st.integers(0, 3000), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
LABELS = st.sampled_from(["", "+cpu", "+cu130", ".dev20260424", "rc1", ".post1", ".dev20260424+cpu"])
VERSIONS = st.builds("{}{}".format, NUMBERS, LABELS)
NAMES = st.sampled_from(sorted(DISTRIBUTIONS))


def a_wheel(folder: Path, name: str) -> Path:
    path = folder / name
    with ZipFile(path, "w") as archive:
        archive.writestr("x.py", "")
    return path


@given(NAMES, VERSIONS, st.sampled_from(["{}=={}", " {} == {} ", "{} =={}"]))
def test_a_pin_names_distribution_library_and_normal_version(name: str, version: str, form: str) -> None:
    spec = parse_spec(form.format(name, version))
    assert (spec.distribution, spec.library) == (name, DISTRIBUTIONS[name])
    assert spec.kind == ("index" if name in LISTED else "pin")
    assert spec.version == str(Version(version))
    assert parse_spec(spec.text) == spec


@given(NAMES, st.sampled_from([str.upper, str.title, lambda name: name.replace("-", "_")]))
def test_a_bare_name_in_any_spelling_means_the_newest(name: str, spelled: object) -> None:
    spec = parse_spec(spelled(name))  # type: ignore[operator]
    assert (spec.text, spec.version, spec.distribution) == (name, None, name)


@given(st.one_of(st.text(), st.text().map("python:{}".format), st.text().map("{}.whl".format)))
def test_any_text_is_a_spec_or_an_error_with_a_remedy(text: str) -> None:
    try:
        spec = parse_spec(text)
    except UserError as error:
        assert error.problem
        assert error.remedy
    else:
        assert parse_spec(spec.text) == spec


@pytest.mark.parametrize(
    ("text", "problem", "remedy"),
    [
        ("troch==2.13.0", "troch", "did you mean torch?"),
        ("tensorflow_gpu==2.0", "tensorflow-gpu", "did you mean tensorflow"),
        ("torch=2.13.0", "torch=2.13.0", "torch==2.13.0"),
        ("torch>=2.0", "no single version", "torch==VERSION"),
        ("torch==2.*", "no single version", "torch==VERSION"),
        ("torch==2.0,==2.1", "no single version", "torch==VERSION"),
        ("torch[all]==2.13.0", "extras", "torch==2.13.0"),
        ("torch @ https://example.org/torch.whl", "wheel", ".whl"),
        ("", "no target", "torch==2.13.0"),
        ("python:", "names no interpreter", "python:/path"),
        ("python:/nowhere/python", "/nowhere/python", "check the path"),
        ("torch.whl", "no wheel file name", "NAME-VERSION"),
        ("numpy-2.0-py3-none-any.whl", "'numpy'", "known: jittor"),
    ],
)
def test_bad_specs_name_the_fault_and_the_way_out(text: str, problem: str, remedy: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_spec(text)
    assert problem in caught.value.problem
    assert remedy in caught.value.remedy


def test_a_wheel_file_gives_its_name_and_version(tmp_path: Path) -> None:
    path = a_wheel(tmp_path, "torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl")
    spec = parse_spec(str(path))
    assert (spec.kind, spec.library, spec.version, spec.path) == ("wheel", "torch", "2.13.0+cpu", path)


def test_a_missing_wheel_file_names_the_nearest_there(tmp_path: Path) -> None:
    there = a_wheel(tmp_path, "torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl")
    with pytest.raises(UserError) as caught:
        parse_spec(str(tmp_path / "torch-2.13.1+cpu-cp311-cp311-linux_x86_64.whl"))
    assert there.name in caught.value.remedy


def test_a_wheel_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "torch-1.0-py3-none-any.whl"
    path.write_text("not found")
    with pytest.raises(UserError, match="not a wheel"):
        parse_spec(str(path))


def test_an_interpreter_is_not_followed_through_its_link(tmp_path: Path) -> None:
    (tmp_path / "real").touch()
    (tmp_path / "python").symlink_to(tmp_path / "real")
    spec = parse_spec(f"python:{tmp_path}/python")
    assert (spec.kind, spec.path, spec.library) == ("python", tmp_path / "python", None)


def test_a_directory_is_no_interpreter_but_shows_where_it_may_be(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        parse_spec(f"python:{tmp_path}")
    assert caught.value.remedy == f"write python:{tmp_path}/bin/python"


def test_the_library_said_makes_an_unknown_distribution_known(tmp_path: Path) -> None:
    path = a_wheel(tmp_path, "ourtorch-1.0-py3-none-any.whl")
    assert parse_spec(str(path), library="torch").library == "torch"
    with pytest.raises(UserError, match="did you mean torch"):
        parse_spec(str(path), library="troch")


def test_distributions_agree_with_the_dialects() -> None:
    for library in DIALECTS:
        assert {name for name, held in DISTRIBUTIONS.items() if held == library} == set(
            dialect_of(library).distributions
        )
