"""Labels: made if missing, made again if somebody deletes one under way, left alone otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from nightfuzz.bot.github.claims import Claims
from nightfuzz.bot.github.client import Client, listed
from nightfuzz.bot.github.errors import RefusedError

LONGEST_DESCRIPTION = 100


class Labels:
    """Wanted labels are kept, so that one that is found to be gone is made again as it was."""

    def __init__(self, client: Client, claims: Claims) -> None:
        self._client, self._claims = client, claims
        self._wanted: dict[str, tuple[str, str]] = {}

    def ensure(self, wanted: Mapping[str, tuple[str, str]]) -> None:
        """Makes those that are missing. What people changed about one that is there stays."""
        self._wanted |= wanted
        there = list(self._client.pages(f"{self._client.home}/labels", _named))
        self._claims.sweep(there)
        names = {name.casefold() for name, _ in there}
        for name, (colour, description) in wanted.items():
            if name.casefold() not in names:
                self._make(name, colour, description)

    def add(self, number: int, names: list[str]) -> None:
        """Adds labels to an issue or pull request."""
        if names:
            path = f"{self._client.home}/issues/{number}/labels"
            self._repair(self._client.put("POST", path, {"labels": names}, _all_named))

    def restore(self, names: Iterable[str]) -> None:
        """Gives wanted labels that GitHub made by the way, on a new issue, their colour and description."""
        for name in names:
            if name in self._wanted:
                self._repair(self._client.read(self._path(name), lambda data: _all_named([data])))

    def _repair(self, found: list[tuple[str, str]]) -> None:
        for name, description in found:
            wanted = self._wanted.get(name)
            # One that GitHub made by the way, as an issue was given it, has a colour of its own and no description.
            if wanted and wanted[1] and not description:
                changes = {"color": wanted[0], "description": wanted[1][:LONGEST_DESCRIPTION]}
                self._client.put("PATCH", self._path(name), changes, _named)

    def _make(self, name: str, colour: str, description: str) -> None:
        body = {"name": name, "color": colour, "description": description[:LONGEST_DESCRIPTION]}
        try:
            self._client.put("POST", f"{self._client.home}/labels", body, _named)
        except RefusedError as error:
            # There already: made by an attempt whose answer was lost, or by somebody else.
            if error.status != 422 or (error.codes and "already_exists" not in error.codes):
                raise

    def _path(self, name: str) -> str:
        return f"{self._client.home}/labels/{quote(name, safe='')}"


def _named(data: Any) -> tuple[str, str]:
    return str(data["name"]), str(data.get("description") or "")


def _all_named(data: Any) -> list[tuple[str, str]]:
    return [_named(each) for each in listed(data)]
