"""Measure of plain words: sentences of docstrings and comments that break a rule of CONTRIBUTING.md, by rule."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

MOST_WORDS = 25
# Model programs, text that is put into them, and a library under test are data.
PROGRAMS = {"traced", "grown", "fitted", "harness", "traps", "fixtures", "qualitylib"}
# A docstring's section, a list, a table, an example, or indented text holds no sentences.
_NO_SENTENCE = re.compile(r"```[\s\S]*?```|^(?:    |\t).*$|^\s*(?:>>>|\.\.\.|\||#|[-*] |:\w+).*$", re.MULTILINE)
_CODE = re.compile(r"``?[^`]*``?")
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z(])")
RULES = {
    "opens with a word that hides its subject": re.compile(
        r"(?:Of|That of|Those|What|Where|Wherever|Whatever|Whoever|Nothing|Nobody|None of|Neither|"
        r"So (?:is|are|do|does)|Apart|Beside|Else|With|Without|By|Among|Under|Beyond|Also|Only|Never|All that|"
        r"All of it)\b"
    ),
    "names no thing": re.compile(
        r"\b(?:nothing|nobody|some(?:body|thing|where)|anything|elsewhere|hardly|whatever|what is left|the rest|"
        r"the others?)\b",
        re.IGNORECASE,
    ),
    "uses a word that means something here alone": re.compile(
        r"\b(?:doubts?|doubted|told|tells?|telling|heeds?|heeded|kin|foci|patience|spoilt|stirred|nudged|tempered|"
        r"culprits?|hindrances?|beforehand|news)\b",
        re.IGNORECASE,
    ),
}
# A docstring's sections, by the convention of Google, and an entry of a section.
_SECTION = re.compile(r"^(?:Args|Attributes|Raises|Returns|Yields):$", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(\S[\w., ]*?): ", re.MULTILINE)
LONG, FIRST = "is longer than 25 words", "first line hides its subject"
_PRONOUN = re.compile(r"(?:It|They|That|This|These|Such|Each|One|Both|Some|All)\b")
_GERUND = re.compile(r"(?:ing|ed)$")
# Nouns of the field that only look like one.
_NOUNS = {"finding", "seed", "wording", "housekeeping", "ranking", "rounding", "setting", "slicing", "timing"}
# A library from outside the project must name its two classes so.
_CONTRACT = {"Adapter", "Dialect"}


class Sentence(NamedTuple):
    """A sentence, and its place as `FILE:LINE`."""

    place: str
    text: str


class Measure:
    """The sentences of some folders, and those that break a rule."""

    def __init__(self, root: Path, folders: Sequence[str]) -> None:
        every = [path for folder in folders for path in sorted((root / folder).rglob("*.py"))]
        self.files = [path for path in every if not PROGRAMS & set(path.relative_to(root).parts)]
        self.sentences = 0
        self.docstrings = 0
        self.broken: defaultdict[str, list[Sentence]] = defaultdict(list)
        for path in self.files:
            name, text = str(path.relative_to(root)), path.read_text(encoding="utf-8")
            for line, docstring in docstrings(text):
                self.docstrings += 1
                self._first(f"{name}:{line}", docstring)
                self._note(f"{name}:{line}", docstring)
            for line, comment in comments(text):
                self._note(f"{name}:{line}", comment)

    def share(self, rule: str) -> float:
        """Returns the share of sentences that break a rule; for FIRST, the share of docstrings."""
        return len(self.broken[rule]) / max(self.docstrings if rule == FIRST else self.sentences, 1)

    def gerunds(self) -> list[str]:
        """Returns the modules whose name ends like a gerund or a participle."""
        return [
            path.stem for path in self.files if _GERUND.search(path.stem) and path.stem.split("_")[-1] not in _NOUNS
        ]

    def namesakes(self) -> dict[str, int]:
        """Returns the public classes whose name occurs more than once, with the number of classes.

        A mode's record names the class of the mode in each library's `modes`, so these share their names.
        """
        found: defaultdict[str, int] = defaultdict(int)
        for path in (path for path in self.files if path.stem != "modes"):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name not in _CONTRACT:
                    found[node.name] += 1
        return {name: count for name, count in found.items() if count > 1}

    def _first(self, place: str, docstring: str) -> None:
        first = next(sentences(docstring.splitlines()[0]), docstring.splitlines()[0])
        if next(iter(RULES.values())).match(first) or _PRONOUN.match(first):
            self.broken[FIRST].append(Sentence(place, first))

    def _note(self, place: str, text: str) -> None:
        opener, *others = RULES
        for each in sentences(text):
            self.sentences += 1
            rules = [rule for rule in others if RULES[rule].search(each)]
            rules += [opener] if RULES[opener].match(each) else []
            rules += [LONG] if len(each.split()) > MOST_WORDS else []
            for rule in rules:
                self.broken[rule].append(Sentence(place, each))


def parts(docstring: str) -> dict[str, str]:
    """Returns the text of a docstring's sections by name; the text before them has the empty name."""
    names = [found[0].rstrip(":") for found in _SECTION.finditer(docstring)]
    return dict(zip(["", *names], _SECTION.split(docstring), strict=True))


def form_faults(source: str, exceptions: Collection[str]) -> Iterator[str]:
    """Yields what stands outside of its section, and entries that name no parameter or none of the exceptions."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef) or not (docstring := ast.get_docstring(node)):
            continue
        given = node.args
        named = {
            arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg) if arg
        }
        found = parts(docstring)
        later = [each for each in _END.split(found[""])[1:] if re.match(r"(?:Raises?|Returns?|Yields?) ", each)]
        later += [name for name in re.findall(r"^(\w+): ", found[""], re.MULTILINE) if name in named]
        unknown = [
            name for entry in _ENTRY.findall(found.get("Args", "")) for name in entry.split(", ") if name not in named
        ]
        raised = [name for entry in _ENTRY.findall(found.get("Raises", "")) for name in entry.split(", ")]
        unknown += [name for name in raised if "." not in name and name not in exceptions]
        yield from (f"{node.lineno} {node.name}: {each}" for each in (*later, *unknown))


def sentences(text: str) -> Iterator[str]:
    """Yields the sentences of a text without code, tables, lists and sections."""
    for paragraph in re.split(r"\n\s*\n", _CODE.sub("CODE", _NO_SENTENCE.sub("", text))):
        yield from (part for part in _END.split(" ".join(paragraph.split())) if len(part.split()) > 1)


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Yields the line of each definition with a docstring, and the docstring."""
    for node in ast.walk(ast.parse(source)):
        defines = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if defines and (text := ast.get_docstring(node)):
            yield getattr(node, "lineno", 1), text


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Yields line and text of each block of comments that has its lines for itself."""
    block: list[str] = []
    first = last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or not token.line.strip().startswith("#"):
            continue
        if block and token.start[0] != last + 1:
            yield first, " ".join(block)
            block = []
        first, last = first if block else token.start[0], token.start[0]
        block.append(token.string.lstrip("#! "))
    if block:
        yield first, " ".join(block)
