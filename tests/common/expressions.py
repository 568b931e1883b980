"""GitHub's expressions, as far as our workflows use them; an unknown part is an error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>-?\d+(?:\.\d+)?)|(?P<op>==|!=|&&|\|\||<=|>=|[!<>(),.\[\]*])"
    r"|(?P<name>[A-Za-z_][\w-]*))"
)
_PLACE = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
STATUS = ("success", "always", "cancelled", "failure")

Functions = Mapping[str, Callable[..., Any]]


def substituted(text: str, contexts: Mapping[str, Any], functions: Functions) -> str:
    """Returns a text with the value of every `${{ }}` in its place, as the runner writes it."""
    return _PLACE.sub(lambda found: as_text(evaluate(found[1], contexts, functions)), text)


def condition(text: str, contexts: Mapping[str, Any], functions: Functions) -> bool:
    """Returns the value of an `if`, with or without `${{ }}`. A text that asks for no status also needs `success()`."""
    bare = text.strip()
    whole = _PLACE.fullmatch(bare)
    source = whole[1] if whole else bare
    if not re.search(rf"\b({'|'.join(STATUS)})\s*\(", source):
        source = f"success() && ({source})"
    return truthy(evaluate(source, contexts, functions))


def evaluate(source: str, contexts: Mapping[str, Any], functions: Functions) -> Any:
    """Returns the value of one expression. Raises ValueError for parts that this module does not know."""
    return _Parser(source, contexts, functions).whole()


def as_text(value: Any) -> str:
    """Returns a value as the runner writes it into a text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, dict | list) else str(value)


def truthy(value: Any) -> bool:
    """Returns whether a value counts as true: null, false, zero and the empty text do not."""
    return value not in (None, False, 0, "")


def same(one: Any, other: Any) -> bool:
    """Compares loosely: texts by their lower case, and values of different types as numbers."""
    if isinstance(one, str) and isinstance(other, str):
        return one.lower() == other.lower()
    if type(one) is type(other):
        return bool(one == other)
    return _number(one) == _number(other)


def _number(value: Any) -> float:
    if value is None or value == "":
        return 0.0
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


class _Parser:
    def __init__(self, source: str, contexts: Mapping[str, Any], functions: Functions) -> None:
        self.contexts, self.functions = contexts, functions
        self.tokens, place = [], 0
        source = source.strip()
        while place < len(source):
            found = _TOKEN.match(source, place)
            if not found:
                raise ValueError(f"cannot read {source[place:]!r}")
            self.tokens.append((str(found.lastgroup), found[str(found.lastgroup)]))
            place = found.end()
        self.at = 0

    def whole(self) -> Any:
        value = self.either()
        if self.at != len(self.tokens):
            raise ValueError(f"not expected: {self.tokens[self.at]}")
        return value

    def peek(self) -> str | None:
        kind, text = self.tokens[self.at] if self.at < len(self.tokens) else ("end", None)
        return text if kind == "op" else None

    def take(self, text: str) -> bool:
        if self.peek() != text:
            return False
        self.at += 1
        return True

    def either(self) -> Any:
        value = self.both()
        while self.take("||"):
            other = self.both()
            value = value if truthy(value) else other
        return value

    def both(self) -> Any:
        value = self.equal()
        while self.take("&&"):
            other = self.equal()
            value = other if truthy(value) else value
        return value

    def equal(self) -> Any:
        value = self.not_()
        while self.peek() in ("==", "!="):
            equal = self.take("==") or not self.take("!=")
            value = same(value, self.not_()) is equal
        return value

    def not_(self) -> Any:
        return not truthy(self.not_()) if self.take("!") else self.path()

    def path(self) -> Any:
        value = self.primary()
        while True:
            if self.take("."):
                name = self.tokens[self.at][1]
                self.at += 1
            elif self.take("["):
                name = as_text(self.either())
                self.expect("]")
            else:
                return value
            value = value.get(name) if isinstance(value, Mapping) else None

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise ValueError(f"expected {text}")

    def primary(self) -> Any:
        if self.take("("):
            value = self.either()
            self.expect(")")
            return value
        kind, text = self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")
        self.at += 1
        if kind == "text":
            return text[1:-1].replace("''", "'")
        if kind == "number":
            return float(text) if "." in text else int(text)
        if kind == "name":
            return self.named(text)
        raise ValueError(f"not expected: {text!r}")

    def named(self, name: str) -> Any:
        constants = {"true": True, "false": False, "null": None}
        if name in constants:
            return constants[name]
        if self.take("("):
            arguments = []
            while not self.take(")"):
                arguments.append(self.either())
                self.take(",")
            if name not in self.functions:
                raise ValueError(f"no function {name} here")
            return self.functions[name](*arguments)
        if name not in self.contexts:
            raise ValueError(f"no context {name} here")
        return self.contexts[name]
