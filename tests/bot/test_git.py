"""git calls: one module starts git, and so decides which settings and secrets of the user git sees."""

from __future__ import annotations

from pathlib import Path

from nightfuzz.bot import git


def test_one_module_alone_starts_git() -> None:
    root = Path(git.__file__).parent
    starts = [file.relative_to(root).as_posix() for file in root.rglob("*.py") if '["git"' in file.read_text()]
    assert starts == ["git.py"]
