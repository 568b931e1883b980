"""Apis with much the same definition: where one has a bug, its kin often have one too."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping

import numpy as np

LEAST = 0.6
MOST = 6
FULL = 65535


class Kin:
    """rows: base64 of the similarities of each api to all, in the order of their names (`worker.plan`)."""

    def __init__(self, rows: Mapping[str, str]) -> None:
        self.rows = rows
        self.names = sorted(rows)

    def of(self, api: str) -> list[str]:
        """The nearest others, at most six, whose definitions are alike by three fifths; none for an unknown api."""
        if api not in self.rows:
            return []
        similar = np.frombuffer(b64decode(self.rows[api]), "<u2")
        nearest = np.argsort(similar, kind="stable")[::-1][: MOST + 1]
        return [self.names[at] for at in nearest if similar[at] >= LEAST * FULL and self.names[at] != api][:MOST]
