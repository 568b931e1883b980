"""What tests have shown beyond findings: outcome classes, the corpus, and operators."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fuzz_core.store.base import Base


class News(NamedTuple):
    """An outcome class that an api has shown, and the kind of the outcomes in it.

    test: JSON text of the case that joined the corpus for it, or None.
    """

    api: str
    outcome_class: str
    outcome_kind: str
    test: str | None


class Operator(NamedTuple):
    """An operator that was dispatched to, with the dtype of its first tensor (`-`: none) and the first api to do so."""

    name: str
    dtype: str
    api: str


class NewsTables(Base):
    """The tables `news` and `operators`."""

    def save_news(self, target: str, news: Iterable[News], operators: Iterable[Operator]) -> None:
        """Adds what is new, in one transaction; what is known stays as it is."""
        with self._transaction():
            for new in news:
                cells = {"api": new.api, "class": new.outcome_class, "outcome_kind": new.outcome_kind, "test": new.test}
                self._insert("news", verb="INSERT OR IGNORE", target=target, **cells)
            self._insert_all("operators", ((target, *operator) for operator in operators))

    def news(self, target: str) -> list[News]:
        """All outcome classes of a target's apis, in the order in which they were first shown."""
        rows = self._rows("SELECT api, class, outcome_kind, test FROM news WHERE target = ? ORDER BY id", target)
        return [News(*row.values()) for row in rows]

    def operators(self, target: str) -> list[Operator]:
        """All operators that a target's apis have dispatched to, by name and dtype."""
        sql = "SELECT name, dtype, api FROM operators WHERE target = ? ORDER BY name, dtype"
        return self._records(Operator, sql, target)
