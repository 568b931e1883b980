from datetime import UTC, datetime
from pathlib import Path

import pytest
from store_values import TARGET

from fuzz_core.store import open_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "state.db"


@pytest.fixture
def store(path: Path):
    with open_store(path, clock=lambda: datetime(2026, 1, 2, tzinfo=UTC)) as opened:
        opened.save_target(TARGET)
        yield opened
