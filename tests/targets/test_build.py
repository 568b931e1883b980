"""Tests of the exact build that a pin means, for each flavour and for the contents of the indexes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pypi_simple import PYPI_SIMPLE_ENDPOINT as CONFIGURED

from fuzz_core.ir.errors import UserError
from fuzz_core.targets import index, installer, resolve
from fuzz_core.targets.artifact import Artifact
from fuzz_core.targets.resolve import InstallPlan, has_gpu, wanted_flavour
from fuzz_core.targets.spec import Flavour, parse_spec

Indexes = Callable[[str, "str | None"], list[tuple[str, bool]]]


def listed(address: str, distribution: str, version: str) -> Artifact:
    name = f"{distribution.replace('-', '_')}-{version}-py3-none-any.whl"
    return Artifact(address, distribution, version, name, f"{address}/{name}", "0" * 64)


@pytest.fixture
def indexes(monkeypatch: pytest.MonkeyPatch) -> Indexes:
    """Returns a function that sets the versions on the configured index and on PyTorch's index (None: unreachable).

    The function returns a list of the addresses that are asked, and whether each is tried once.
    """
    asked: list[tuple[str, bool]] = []

    def make_up(configured: str, pytorch: str | None = None) -> list[tuple[str, bool]]:
        def listing(address: str, distribution: str, flat: bool = False, hasty: bool = False) -> list[Artifact]:
            asked.append((address, hasty))
            versions = configured if address == CONFIGURED else pytorch
            if versions is None:
                raise installer.IndexUnreachable("no network", "")
            return [listed(address, distribution, version) for version in versions.split()]

        monkeypatch.setattr(index, "listing", listing)
        monkeypatch.setattr(installer, "pip_settings", dict)
        monkeypatch.setattr(resolve, "has_gpu", lambda: False)
        monkeypatch.setattr("sys.platform", "linux")
        return asked

    return make_up


def newest(spec: str, flavour: Flavour) -> InstallPlan:
    return resolve.resolve(parse_spec(spec), flavour)[0]


@pytest.mark.parametrize(
    ("spec", "flavour", "configured", "pytorch", "requirement", "notes"),
    [
        ("torch==2.13.0", "auto", "2.13.0 2.13.0+cpu", None, "torch==2.13.0+cpu", 0),
        ("torch==2.13.0", "cuda", "2.13.0 2.13.0+cpu", None, "torch==2.13.0", 0),
        ("torch==2.13.0", "cuda", "2.13.0 2.13.0+cu130", None, "torch==2.13.0+cu130", 0),
        ("torch==2.13.0", "auto", "2.13.0", None, "torch==2.13.0", 1),
        ("torch==2.13.0", "cpu", "2.13.0", "2.13.0+cpu 2.14.0+cpu", "torch==2.13.0+cpu", 0),
        ("torch==2.13.0+cu130", "auto", "2.13.0", "2.13.0+cu130", "torch==2.13.0+cu130", 0),
        ("torch", "auto", "2.13.0 2.14.0 2.15.0rc1", "2.14.0+cpu 2.15.0+cpu", "torch==2.14.0+cpu", 0),
        ("torch", "cuda", "2.13.0 2.14.0", None, "torch==2.14.0", 0),
        ("tensorflow-cpu==2.21.0", "auto", "2.20.0 2.21.0", None, "tensorflow-cpu==2.21.0", 0),
        ("tensorflow==2.21.0", "cpu", "2.21.0", None, "tensorflow==2.21.0", 1),
        ("tensorflow==2.21.0", "cuda", "2.21.0", None, "tensorflow[and-cuda]==2.21.0", 0),
    ],
)
def test_the_build_by_flavour_and_index(
    indexes: Indexes, spec: str, flavour: Flavour, configured: str, pytorch: str | None, requirement: str, notes: int
) -> None:
    indexes(configured, pytorch)
    found = newest(spec, flavour)
    assert f"{found.requirement}=={found.version}" == requirement
    assert len(found.notes) == notes


def test_pytorchs_index_is_only_asked_for_what_the_configured_one_lacks(indexes: Indexes) -> None:
    asked = indexes("2.13.0 2.13.0+cpu", "2.13.0+cpu")
    assert newest("torch==2.13.0", "cpu").options == ()
    assert [address for address, _hasty in asked] == [CONFIGURED]


def test_pytorchs_index_is_asked_once_without_waiting(indexes: Indexes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIGHTFUZZ_TORCH_INDEX", "https://mirror.example/whl")
    asked = indexes("2.13.0", "2.13.0+cpu")
    build = newest("torch==2.13.0", "cpu")
    assert build.options == ("--extra-index-url", "https://mirror.example/whl/cpu")
    assert build.artifact.index == "https://mirror.example/whl/cpu"
    assert asked == [(CONFIGURED, False), ("https://mirror.example/whl/cpu", True)]


@pytest.mark.parametrize(
    ("spec", "flavour", "configured", "problem"),
    [
        ("torch==2.13.0", "cpu", "2.13.0", "no CPU build of torch 2.13.0"),
        ("torch==2.13.0", "cuda", "2.13.0+cpu", "no CUDA build of torch 2.13.0"),
        ("torch==2.13.0+cpu", "cuda", "2.13.0+cpu", "names a cpu build"),
        ("torch==2.13.0+cu130", "cpu", "2.13.0+cu130", "names a cuda build"),
        ("tensorflow-cpu==2.21.0", "cuda", "2.21.0", "names a cpu build"),
    ],
)
def test_a_flavour_that_can_not_be_had_is_refused(
    indexes: Indexes, spec: str, flavour: Flavour, configured: str, problem: str
) -> None:
    indexes(configured, None)
    with pytest.raises(UserError, match=problem.replace("+", r"\+")):
        newest(spec, flavour)


def test_nearest_versions_are_those_around_the_one_asked_for(indexes: Indexes) -> None:
    indexes("1.0 2.0 2.10.0 2.11.0 2.12.0 2.14.0 2.15.0 2.15.1 3.0", "")
    with pytest.raises(UserError) as caught:
        newest("torch==2.13.0", "auto")
    assert caught.value.remedy == "name one of the nearest versions: 2.10.0, 2.11.0, 2.12.0, 2.14.0, 2.15.0, 2.15.1"


@pytest.mark.parametrize(("gpu", "expected"), [(True, "cuda"), (False, "cpu")])
def test_auto_goes_by_the_machine(monkeypatch: pytest.MonkeyPatch, gpu: bool, expected: str) -> None:
    monkeypatch.setattr(resolve, "has_gpu", lambda: gpu)
    assert wanted_flavour(parse_spec("torch==2.13.0"), "auto") == expected
    assert wanted_flavour(parse_spec("tensorflow-cpu"), "auto") == "cpu"


def test_a_driver_tool_on_the_path_shows_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nvidia-smi").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert has_gpu()
