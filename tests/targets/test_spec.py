"""Property and example tests of the specs by which a user names a target."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from fuzz_core.adapters.dialect import DIALECTS, dialect_of
from fuzz_core.ir.errors import UserError
from fuzz_core.targets.spec import distributions, libraries, parse_spec

NUMBERS = st.lists(st.integers(0, 3000), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
LABELS = st.sampled_from(["", "+cpu", "+cu130", ".dev20260424", "rc1", ".post1", ".dev20260424+cpu"])
VERSIONS = st.builds("{}{}".format, NUMBERS, LABELS)
NAMES = st.sampled_from(sorted(distributions()))


def a_wheel(folder: Path, name: str) -> Path:
    path = folder / name
    with ZipFile(path, "w") as archive:
        archive.writestr("x.py", "")
    return path


@given(NAMES, VERSIONS, st.sampled_from(["{}=={}", " {} == {} ", "{} =={}"]))
def test_a_pin_names_distribution_library_and_normal_version(name: str, version: str, form: str) -> None:
    spec = parse_spec(form.format(name, version))
    assert (spec.distribution, spec.library) == (name, distributions()[name])
    assert spec.kind == "index"
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
        ("", "is not a target", "torch==2.13.0"),
        ("python:", "names no interpreter", "python:/path"),
        ("python:/nowhere/python", "/nowhere/python", "give the Python executable"),
        ("torch.whl", "not the name of a wheel", "NAME-VERSION"),
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
        assert {name for name, held in distributions().items() if held == library} == set(
            dialect_of(library).distributions
        )


@given(st.sampled_from(["", "/cpu", "/cu130", "/CU126"]), st.sampled_from(["", "==2.13.0.dev20260424", " == 2.13.0"]))
def test_nights_of_torch_have_a_label_and_a_version(label: str, version: str) -> None:
    spec = parse_spec(f"Torch-Nightly{label}{version}")
    assert (spec.kind, spec.distribution, spec.library, spec.nightly) == ("index", "torch", "torch", True)
    assert spec.label == (label.strip("/").lower() or None)
    assert spec.version == (version.strip("= ") or None)
    assert parse_spec(spec.text) == spec


@given(NAMES, VERSIONS, st.sampled_from(["http://127.0.0.1:80/simple", "https://host/a/b/", " https://HOST/"]))
def test_a_package_of_an_index_is_the_same_in_both_forms(name: str, version: str, address: str) -> None:
    spec = parse_spec(f"index:{address}#{name}=={version}")
    assert (spec.kind, spec.distribution, spec.version) == ("index", name, str(Version(version)))
    assert spec.nightly == name.startswith("tf-nightly")
    assert spec == parse_spec(f"{name}=={version}", index=address.strip()) == parse_spec(spec.text)


def test_nights_come_from_any_index() -> None:
    spec = parse_spec("torch-nightly/cpu", index="https://host/nights")
    assert spec.text == "index:https://host/nights#torch-nightly/cpu"
    assert (spec.index, spec.label, spec.nightly) == ("https://host/nights", "cpu", True)
    assert parse_spec(spec.text) == spec


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("index:https://host/simple", "names no package"),
        ("index:#torch", "is not the address of a package index"),
        ("index:host/simple#torch", "is not the address of a package index"),
        ("index:file:///wheels#torch", "is not the address of a package index"),
        (
            "index:https://user:hunter2@host/simple#torch",
            "the address of the index https://host/simple has a password or a query",
        ),
        ("index:https://host:port/simple#torch", "the address of the package index is not a valid URL"),
        ("index:https://host/simple#", "is not a target"),
        ("index:https://host/simple#troch", "'troch' holds no library"),
        ("torch-nightly/", "is not a target"),
        ("torch-nightly>=2.0", "no single version"),
        ("torch/cpu", "is not a target"),
    ],
)
def test_bad_addresses_and_nights_name_the_fault(text: str, problem: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_spec(text)
    assert problem in caught.value.problem
    assert "hunter2" not in str(caught.value)


def test_a_library_from_outside_is_known_by_its_module() -> None:
    assert "fakelib" in libraries()
    assert parse_spec("index:https://host/simple#fakelib").library == "fakelib"
    assert parse_spec("index:https://host/simple#our-fake", library="fakelib").library == "fakelib"
    with pytest.raises(UserError, match="'our-fake' holds no library") as caught:
        parse_spec("index:https://host/simple#our-fake")
    assert "--library" in caught.value.remedy
