"""Labels of a repository: made if missing, made again if somebody deletes one meanwhile, left alone otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from nightfuzz.bot.github.client import Client, many
from nightfuzz.bot.github.errors import RefusedError

LONGEST_DESCRIPTION = 100


class Labels:
    """Remembers the labels that it has made, so that it can make them again as they were."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[str, tuple[str, str]] = {}

    def ensure(self, labels: Mapping[str, tuple[str, str]]) -> list[tuple[str, str]]:
        """Makes the missing labels. Returns the names and descriptions of all that were there; they stay as they are.

        labels: colour and description by name.
        """
        self._known |= labels
        found = list(self._client.pages("labels", named))
        names = {name.casefold() for name, _ in found}
        for name, (colour, description) in labels.items():
            if name.casefold() not in names:
                body = {"name": name, "color": colour, "description": description[:LONGEST_DESCRIPTION]}
                try:
                    self._client.write("POST", "labels", body, named)
                except RefusedError as error:
                    # An attempt whose answer was lost has made it, or somebody else.
                    if not is_taken(error):
                        raise
        return found

    def add(self, number: int, names: Iterable[str]) -> None:
        """Adds labels to an issue or pull request."""
        if body := list(names):
            self._repair(self._client.write("POST", f"issues/{number}/labels", {"labels": body}, many(named)))

    def restore(self, names: Iterable[str]) -> None:
        """Gives labels that GitHub made itself, on a new issue, their colour and description."""
        for name in names:
            if name in self._known:
                self._repair([self._client.read(label_path(name), named)])

    def _repair(self, found: list[tuple[str, str]]) -> None:
        for name, description in found:
            colour, ours = self._known.get(name, ("", ""))
            # A label that GitHub made itself has a colour of GitHub's choice and no description.
            if ours and not description:
                changes = {"color": colour, "description": ours[:LONGEST_DESCRIPTION]}
                self._client.write("PATCH", label_path(name), changes, named)


def named(data: Any) -> tuple[str, str]:
    """The name and description of a label of the REST API."""
    return str(data["name"]), str(data.get("description") or "")


def label_path(name: str) -> str:
    """Where the label of this name is in its repository."""
    return f"labels/{quote(name, safe='')}"


def is_taken(error: RefusedError) -> bool:
    """Whether GitHub refused to make a label because there is one of its name."""
    return error.status == 422 and (not error.codes or "already_exists" in error.codes)
