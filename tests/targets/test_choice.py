"""Property and example tests of the choice of the newest build of an index."""

from __future__ import annotations

from datetime import date
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.tags import Tag
from packaging.version import Version
from pydantic import TypeAdapter

from fuzz_core.ir.errors import UserError
from fuzz_core.targets.artifact import Artifact, check_address, day_of, without_secrets
from fuzz_core.targets.choice import Machine, Wish, newest

TAGS_HERE = [Tag("cp311", "cp311", "linux_x86_64"), Tag("cp311", "abi3", "linux_x86_64"), Tag("py3", "none", "any")]
ARTIFACT = TypeAdapter(Artifact)
MACHINE = Machine(TAGS_HERE, "3.11.9")
DAYS = st.dates(date(2024, 1, 1), date(2027, 12, 31))
BASES = st.sampled_from(["2.12.0", "2.13.0", "2.13.0.post1", "1.0"])
HOURS = st.sampled_from(["", "01", "0230"])
LOCALS = st.sampled_from(["", "+cpu", "+cu126", "+cu130"])
NIGHTS = st.builds("{:%Y%m%d}".format, DAYS)
NIGHTLY = st.builds("{}.dev{}{}{}".format, BASES, NIGHTS, HOURS, LOCALS)
RELEASES = st.builds("{}{}{}".format, BASES, st.sampled_from(["", "rc1", "a0"]), LOCALS).filter(
    lambda text: "post1rc1" not in text and "post1a0" not in text
)
TAGS = st.sampled_from(["py3-none-any", "cp311-cp311-linux_x86_64", "cp312-cp312-linux_x86_64", "cp311-abi3-win_amd64"])


def listed(version: str, tag: str = "py3-none-any", build: str = "", **more: object) -> Artifact:
    name = "-".join(filter(None, ["lib", version, build, tag])) + ".whl"
    return Artifact("http://index", "lib", version, name, f"http://index/{name}", **more)  # type: ignore[arg-type]


ARTIFACTS = st.builds(
    listed, NIGHTLY | RELEASES, TAGS, st.sampled_from(["", "1", "2"]), yanked=st.sampled_from([None, None, "", "bad"]),
    requires_python=st.sampled_from(["", ">=3.10", ">=3.12", "~=garbage"]),
)  # fmt: skip


@given(st.lists(ARTIFACTS, max_size=12), st.booleans(), st.randoms())
def test_the_choice_does_not_hang_on_the_order_of_the_listing(files: list[Artifact], nightly: bool, by: object) -> None:
    wish = Wish(nightly=nightly)
    mixed = list(files)
    by.shuffle(mixed)
    names = [each.filename for each in newest(files, wish, MACHINE)]
    assert [each.filename for each in newest(mixed, wish, MACHINE)] == names


@given(st.lists(ARTIFACTS, max_size=12), st.builds(Wish, nightly=st.booleans(), label=st.sampled_from([None, "cpu"])))
def test_what_is_chosen_was_listed_and_can_be_installed(files: list[Artifact], wish: Wish) -> None:
    for each in newest(files, wish, MACHINE):
        assert each in files
        assert each.yanked is None
        assert each.tags & set(MACHINE.tags)
        assert each.requires_python != ">=3.12"
        assert wish.label is None or Version(each.version).local == wish.label


@given(st.lists(ARTIFACTS, min_size=1, max_size=12))
def test_no_night_that_fits_is_newer_than_the_one_chosen(files: list[Artifact]) -> None:
    found = newest(files, Wish(nightly=True), MACHINE)
    days = [day_of(Version(each.version)) for each in found]
    assert days == sorted(days, key=str, reverse=True)
    for each in files:
        fits = each.tags & set(MACHINE.tags) and each.yanked is None and each.requires_python != ">=3.12"
        if fits and Version(each.version).is_devrelease:
            assert each in found


@given(st.lists(ARTIFACTS, min_size=1, max_size=12))
def test_a_release_wins_over_every_night_unless_nights_are_asked_for(files: list[Artifact]) -> None:
    found = [Version(each.version) for each in newest(files, Wish(), MACHINE)]
    if any(not each.is_prerelease for each in found):
        assert not any(each.is_prerelease for each in found)
        assert found[0].public == max(found).public


@given(ARTIFACTS)
def test_a_pin_finds_itself_even_if_yanked(artifact: Artifact) -> None:
    found = newest([artifact, listed("9.9")], Wish(version=artifact.version), MACHINE)
    fits = artifact.tags & set(MACHINE.tags) and artifact.requires_python != ">=3.12"
    assert found == ([artifact] if fits else [])


@pytest.mark.parametrize(
    "ascending",
    [
        # The day counts before the version: a branch may be cut late.
        ["2.13.0.dev20260101", "2.12.0.dev20260102", "2.12.0.dev20260103"],
        # Builds of one day are ordered by version, by the time behind the day, and by build tag.
        ["2.12.0.dev20260102", "2.13.0.dev20260102", "2.12.0.dev2026010201", "2.12.0.dev20260103"],
        ["1.0.dev20260102", "1.0.dev2026010201", "1.0.dev202601020230", "1.0.post1.dev20260102"],
        ["1.9", "1.10", "1.10.post1", "2.0"],
    ],
)
def test_newest_first(ascending: list[str]) -> None:
    descending = sorted(ascending, key=lambda text: (day_of(Version(text)) or date.min, Version(Version(text).public)))
    for order in permutations(ascending):
        found = newest([listed(version) for version in order], Wish(), MACHINE)
        assert [each.version for each in found] == descending[::-1]


def test_the_second_build_of_a_version_is_newer_and_a_better_tag_wins_over_it() -> None:
    first, second = listed("1.0", build="1"), listed("1.0", build="2")
    native = listed("1.0", "cp311-cp311-linux_x86_64")
    assert newest([first, second, listed("1.0"), native], Wish(), MACHINE) == [native, second, first, listed("1.0")]


def test_a_source_archive_stands_in_where_no_wheel_fits() -> None:
    archive = Artifact("http://index", "lib", "1.1", "lib-1.1.tar.gz", "http://index/lib-1.1.tar.gz")
    assert newest([listed("1.0"), archive], Wish(), MACHINE)[0] == archive
    assert newest([listed("1.1"), archive], Wish(), MACHINE) == [listed("1.1"), archive]


def test_a_flavour_that_is_missing_tonight_is_taken_of_yesterday() -> None:
    cpu, cuda = listed("1.0.dev20260101+cpu"), listed("1.0.dev20260102+cu130")
    assert newest([cpu, cuda], Wish(nightly=True, accelerated=False), MACHINE) == [cpu]
    assert newest([cpu, cuda], Wish(nightly=True, accelerated=True), MACHINE) == [cuda]
    assert newest([cuda], Wish(nightly=True, accelerated=False), MACHINE) == [cuda]


def test_of_a_release_the_flavour_is_preferred_and_its_absence_does_not_mean_an_older_one() -> None:
    plain, cpu, newer = listed("1.0"), listed("1.0+cpu"), listed("1.1")
    assert newest([plain, cpu], Wish(accelerated=False), MACHINE)[0] == cpu
    assert newest([plain, cpu], Wish(accelerated=True), MACHINE)[0] == plain
    assert newest([plain, cpu, newer], Wish(accelerated=False), MACHINE)[0] == newer
    assert newest([plain, cpu, newer], Wish(accelerated=False, strict=True), MACHINE) == [cpu]


@pytest.mark.parametrize(
    ("driver", "expected"), [((13, 0), "cu130"), ((12, 9), "cu128"), ((11, 8), "cu126"), (None, "cu126")]
)
def test_the_cuda_build_is_the_newest_that_the_driver_runs(driver: tuple[int, int] | None, expected: str) -> None:
    tonight = [listed(f"1.0.dev20260101+{label}") for label in ("cu128", "cu126", "cu130", "cpu")]
    wish = Wish(nightly=True, accelerated=True, driver=driver)
    assert newest(tonight, wish, MACHINE)[0].version.endswith(expected)


def test_a_build_without_label_is_the_cpu_one_where_the_platform_has_no_other() -> None:
    plain = listed("1.0.dev20260101")
    assert newest([plain], Wish(nightly=True, label="cpu", plain_is_cpu=True), MACHINE) == [plain]
    assert newest([plain], Wish(nightly=True, label="cpu"), MACHINE) == []


@given(NIGHTLY)
def test_the_day_of_a_night_is_in_its_version(version: str) -> None:
    assert f"{day_of(Version(version)):%Y%m%d}" in version


@pytest.mark.parametrize("version", ["1.0", "1.0.dev1", "1.0.dev20261301", "1.0.dev2026010", "1.0.dev202601011234567"])
def test_a_version_without_a_day_has_none(version: str) -> None:
    assert day_of(Version(version)) is None


@given(ARTIFACTS, st.sampled_from(["", "token@", "user:secret@"]), st.sampled_from(["", "?sig=secret", "#secret"]))
def test_what_is_kept_of_an_artifact_reads_back_without_secrets(artifact: Artifact, user: str, behind: str) -> None:
    url = f"https://{user}host:8080/a/{artifact.filename}"
    kept = Artifact(**(vars(artifact) | {"url": url + behind}))
    assert ARTIFACT.validate_python(ARTIFACT.dump_python(kept)) == Artifact(
        **(vars(artifact) | {"url": url.replace(user, "")})
    )
    assert kept.key == Artifact(**(vars(artifact) | {"url": url})).key


@given(st.dictionaries(st.sampled_from(["sha256", "size", "yanked", "version"]), st.integers() | st.text() | st.none()))
def test_a_damaged_artifact_is_read_or_refused(damage: dict[str, object]) -> None:
    data = ARTIFACT.dump_python(listed("1.0")) | damage
    try:
        assert ARTIFACT.dump_python(ARTIFACT.validate_python(data)) == data
    except ValueError:
        assert damage


@given(st.text(max_size=30).map("https://{}".format) | st.text(max_size=30))
def test_an_address_is_plain_or_refused(text: str) -> None:
    try:
        address = check_address(text)
    except UserError as error:
        assert error.remedy
    else:
        assert address == without_secrets(address) and not address.endswith("/")
