"""The figures of keeping a state are printed; how low they are is for a quiet machine to say."""

from pathlib import Path

import pytest
from statecases import OLD, copied, fresh, lived

from bench.state import main


def test_everything_is_timed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = fresh(tmp_path / "base.db")
    shard = lived(copied(base, tmp_path / "shard.db"), [("find", OLD, 1, 1), ("settle", OLD, 1, 1)], 1)
    before = shard.read_bytes()
    main(base, [shard])
    told = capsys.readouterr().out
    assert [
        word
        for word in ("pack:", "unpack:", "carry over:", "a second build adds", "split:", "take in", "merge 1 shards")
        if word not in told
    ] == []
    assert "'bugs': 1" in told
    assert shard.read_bytes() == before
