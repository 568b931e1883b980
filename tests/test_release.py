"""The checks of a release: tag, version, changelog and built files agree, or the release names the mismatch."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from workflow_checks import ROOT, loaded, schema_errors

from fuzz_core.targets.spaces import INDEX, offered

SCRIPT = ROOT / "requirements" / "release.py"
CHANGELOG = (
    "# Changelog\n\n## [Unreleased]\n- Next.\n\n## [1.2.3] - 2026-11-25\n\n### Added\n- This.\n\n## [1.2.2]\n- Old.\n"
)
FORMS = sorted(ROOT.glob(".github/ISSUE_TEMPLATE/*.yml"))


@pytest.fixture(scope="module")
def release() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "nightfuzz"\nversion = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    return tmp_path


def test_a_tag_that_fits_is_released_with_its_section(release: ModuleType, project: Path) -> None:
    assert "agree" in release.check(project, "v1.2.3")
    assert release.section(project, "1.2.3") == "### Added\n- This.\n"


@pytest.mark.parametrize(
    ("tag", "old", "new", "said"),
    [
        ("v1.2.4", "", "", "tag v1.2.3"),
        ("1.2.3", "", "", "tag v1.2.3"),
        ("v1.2.3", "## [1.2.3]", "## [1.2.1]", "no text below `## [1.2.3]`"),
        ("v1.2.3", "### Added\n- This.\n", "", "no text below `## [1.2.3]`"),
        ("", "- Next.\n", "", "no text below `## [Unreleased]`"),
    ],
)
def test_what_does_not_agree_is_named(
    release: ModuleType, project: Path, tag: str, old: str, new: str, said: str
) -> None:
    (project / "CHANGELOG.md").write_text(CHANGELOG.replace(old, new))
    with pytest.raises(release.ReleaseError, match=re.escape(said)):
        release.check(project, tag)


def test_a_version_that_is_no_release_is_refused(release: ModuleType, project: Path) -> None:
    (project / "pyproject.toml").write_text('[project]\nversion = "1.2.3.dev1"\n')
    with pytest.raises(release.ReleaseError, match=r"a release is X\.Y\.Z"):
        release.check(project, "v1.2.3.dev1")


def built(folder: Path, wheel: str, archive: str) -> Path:
    folder.mkdir()
    with zipfile.ZipFile(folder / "nightfuzz-1.2.3-py3-none-any.whl", "w") as file:
        file.writestr("nightfuzz-1.2.3.dist-info/METADATA", wheel)
    (folder / "PKG-INFO").write_text(archive)
    with tarfile.open(folder / "nightfuzz-1.2.3.tar.gz", "w:gz") as tar:
        tar.add(folder / "PKG-INFO", "nightfuzz-1.2.3/PKG-INFO")
    return folder


def test_built_files_are_looked_into(release: ModuleType, tmp_path: Path) -> None:
    good = "Metadata-Version: 2.4\nName: nightfuzz\nVersion: 1.2.3\n"
    assert "valid" in release.inspect(built(tmp_path / "good", good, good), "1.2.3")
    with pytest.raises(release.ReleaseError, match="differently"):
        release.inspect(built(tmp_path / "apart", good, good + "Summary: x\n"), "1.2.3")
    with pytest.raises(ExceptionGroup, match="metadata"):
        release.inspect(built(tmp_path / "bad", good + "Requires-Python: x\n", good + "Requires-Python: x\n"), "1.2.3")
    with pytest.raises(release.ReleaseError, match="0 wheels and 0 source archives"):
        release.inspect(tmp_path, "1.2.3")


def test_this_checkout_can_become_a_release() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "check"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert subprocess.run([sys.executable, SCRIPT, "check", "v99.0.0"], capture_output=True).returncode == 1


def test_forms_and_dependency_updates_are_what_github_reads() -> None:
    assert schema_errors("dependabot", [ROOT / ".github/dependabot.yml"]) == ""
    assert schema_errors("github-issue-config", [file for file in FORMS if file.name == "config.yml"]) == ""
    forms = [file for file in FORMS if file.name != "config.yml"]
    assert len(forms) == 3
    assert schema_errors("github-issue-forms", forms) == ""


def test_only_the_last_job_writes_to_the_repository_and_it_waits_for_the_others() -> None:
    jobs = loaded(ROOT / ".github/workflows/release.yml")["jobs"]
    writers = [name for name, job in jobs.items() if job["permissions"].get("contents") == "write"]
    assert writers == ["announce"]
    assert jobs["announce"]["needs"] == ["packages", "image", "site"]
    assert all(jobs[name]["needs"] == "check" for name in ("packages", "image"))
    assert [name for name, job in jobs.items() if job.get("environment") == "release"] == ["packages", "image"]


def test_space_files_go_into_the_index_that_the_installation_reads(release: ModuleType, tmp_path: Path) -> None:
    index, folder = tmp_path / "fuzz_core" / "targets" / "spaces.toml", tmp_path / "spaces"
    index.parent.mkdir(parents=True)
    folder.mkdir()
    index.write_text(INDEX.read_text() + "\n[[space]]\nkey = 'of the release before'\n")
    for name in ("torch", "jittor"):
        (folder / f"{name}.space").write_bytes(name.encode())
        data = {"key": f"{name}-1-cp311", "library": name, "version": "1", "size": len(name), "calls": 5, "file": "x"}
        data["sha256"] = hashlib.sha256(name.encode()).hexdigest()
        (folder / f"{name}.json").write_text(json.dumps(data))
    assert release.spaces(tmp_path, folder, "https://example.org/v1/") == "spaces.toml: jittor.space, torch.space"
    found = offered("torch-1-cp311", "torch", "1", index)
    assert found is not None and found.url == "https://example.org/v1/torch.space"
    assert found.sha256 == hashlib.sha256(b"torch").hexdigest() and index.read_text().count("[[space]]") == 2
    (folder / "torch.space").write_bytes(b"other")
    with pytest.raises(release.ReleaseError, match=r"torch\.space is not the file that torch\.json tells of"):
        release.spaces(tmp_path, folder, "https://example.org")
