"""Tests of foreign facts: a language model behind the chat protocol, the files of the paper's authors, and merging."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chatserver import Chat, four, serving

from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.values import Invocation, prim
from fuzz_core.modelgen.moco.facts import Facts, NumberRange, Origin, Parameter
from fuzz_core.modelgen.moco.knowledge import llm
from fuzz_core.modelgen.moco.knowledge.answers import dtype_of, lengths_of, range_of, relation_of, structure_of
from fuzz_core.modelgen.moco.knowledge.authors import AuthorsFiles, imported
from fuzz_core.modelgen.moco.knowledge.extraction import ApiEvidence, facts_of
from fuzz_core.modelgen.moco.knowledge.llm import ChatExtractor
from fuzz_core.modelgen.moco.knowledge.merge import enriched, merged

API = Api("lib.nn.Gate", "class", ("size", "rate"), "lib.nn.Gate(size, rate=0.5)", "A gate.\n\nArgs: size, rate")
ORIGIN = Origin(source="llm")
TYPED = [
    {"parameter": "size", "dtype": "int", "range": "size > 0"},
    {"parameter": "rate", "dtype": "Float", "range": "0 <= rate < 1"},
]
SHAPED = [{"parameter": "size", "structure": "integer or tuple", "shape": 2}]
CONSTRAINED = [
    {"parameter_1": "size", "parameter_2": "rate", "constraint": "size * rate >= 1"},
    {"parameter_1": "size", "parameter_2": "rate", "constraint": "__import__('os').system('true')"},
]


def asked(chat: Chat, key: str = "") -> Facts | None:
    with serving(chat) as address:
        return ChatExtractor(address, "small", "lib", key, wait=lambda seconds: None).facts(API, API.doc)


def test_four_rounds_of_one_conversation_give_facts() -> None:
    chat = Chat(four(TYPED, f"Sure:\n```json\n{json.dumps(SHAPED)}\n```", CONSTRAINED))
    facts = asked(chat, "secret")
    assert facts is not None
    size, rate = facts.parameters
    assert (size.dtype, size.structure, size.shape) == ("int", "integer", (2,))
    assert [(b.least, b.most, b.open_least, b.open_most) for b in rate.bounds] == [(0.0, 1.0, False, True)]
    assert rate.bounds[0].origin == Origin(source="llm", text="0 <= rate < 1", confidence=0.5)
    assert [each.expression for each in facts.relations] == ["size * rate >= 1"]
    assert [len(each["messages"]) for each in chat.asked] == [1, 3, 5, 7]
    assert "lib.nn.Gate(size, rate=0.5)" in chat.asked[0]["messages"][0]["content"]
    assert set(chat.keys) == {"Bearer secret"} and chat.asked[0]["model"] == "small"


@pytest.mark.parametrize(
    "rounds",
    [
        ("I don't know.", "{}", "[1, 2]"),
        ("[]", "[]", "[]"),
        ('[{"range": "p > 0"}]', "null", '{"constraint": "a > b"}'),
        ("[" * 5000, "```json\n```", "\x00"),
    ],
)
def test_an_answer_that_was_not_asked_for_brings_nothing(rounds: tuple[str, str, str]) -> None:
    assert asked(Chat(four(*rounds))) is None


def test_a_busy_endpoint_is_asked_again() -> None:
    assert asked(Chat(four(TYPED, SHAPED, CONSTRAINED), statuses=[429, 503])) is not None


def test_a_model_that_is_never_steady_is_asked_without_that() -> None:
    chat = Chat(four(TYPED, SHAPED, CONSTRAINED), statuses=[400])
    assert asked(chat) is not None
    assert not any("temperature" in each for each in chat.asked)


@pytest.mark.parametrize(
    ("chat", "words"),
    [
        (Chat(statuses=[401]), "HTTP 401"),
        (Chat(key="another"), "HTTP 401"),
        (Chat(statuses=[302]), "HTTP 302"),
        (Chat(statuses=[400, 400]), "HTTP 400"),
        (Chat(statuses=[500] * 4), "HTTP 500"),
        (Chat(body=b"<html>"), "does not speak the chat protocol"),
        (Chat(body=b'{"choices": []}'), "does not speak the chat protocol"),
        (Chat(body=b"x" * (2 << 20)), "does not speak the chat protocol"),
    ],
)
def test_what_is_no_endpoint_is_told_without_the_key(chat: Chat, words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        asked(chat, "secret")
    assert "secret" not in str(caught.value)


def test_an_address_that_nobody_answers_at_is_told_without_its_password() -> None:
    with serving(Chat()) as address:
        pass
    extractor = ChatExtractor(address.replace("//", "//user:word@"), "m", "lib", wait=lambda seconds: None)
    with pytest.raises(UserError, match="can't be asked: ConnectionError") as caught:
        extractor.facts(API, API.doc)
    assert "word" not in str(caught.value)


def test_an_answer_that_does_not_end_is_waited_for_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm, "TIMEOUT_S", 0.2)
    with pytest.raises(UserError, match=r"can't be asked: (ConnectionError|ReadTimeout)"):
        asked(Chat(stalls=True), "secret")


def test_an_answer_that_comes_drop_by_drop_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm, "LONGEST_S", -1.0)
    with pytest.raises(UserError, match="can't be asked: Timeout"):
        asked(Chat(four(TYPED, SHAPED, CONSTRAINED)))


def test_somebody_who_answers_is_known_by_a_word() -> None:
    chat = Chat(four(), key="secret")
    with serving(chat) as address:
        ChatExtractor(address, "small", "lib", "secret").check()
    assert [len(each["messages"]) for each in chat.asked] == [1]


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schl\u00fcssel", "tab\t"])
def test_a_key_that_no_header_can_hold_is_not_repeated(key: str) -> None:
    with pytest.raises(UserError, match="is none") as caught:
        ChatExtractor("https://host/v1", "m", "lib", key)
    assert key not in str(caught.value)


def test_a_key_goes_to_no_other_machine_in_the_clear() -> None:
    ChatExtractor("http://host/v1", "m", "lib")
    with pytest.raises(UserError, match="in the clear"):
        ChatExtractor("http://host/v1", "m", "lib", "key")


def test_answers_in_another_form_are_counted() -> None:
    with serving(Chat(four(TYPED, "No idea.", CONSTRAINED))) as address:
        extractor = ChatExtractor(address, "small", "lib")
        assert extractor.facts(API, API.doc) is not None
    assert (extractor.asked, extractor.unread) == (1, 1)


@pytest.mark.parametrize(
    ("text", "sides"),
    [
        ("p > 0", (0.0, None, True, False)),
        ("0 <= p <= 1", (0.0, 1.0, False, False)),
        ("p >= -1.5 and p < 2", (-1.5, 2.0, False, True)),
        ("3 > p", (None, 3.0, False, True)),
    ],
)
def test_a_range_is_bounds(text: str, sides: tuple[Any, ...]) -> None:
    ((bounds,), choices) = range_of("p", text, ORIGIN)
    assert (bounds.least, bounds.most, bounds.open_least, bounds.open_most) == sides and choices == ()


@pytest.mark.parametrize(
    "text", ["No mention", "", "None", "q > 0", "p > q", "p != 3", "p > 0 or p < -5", "any", "p()"]
)
def test_a_range_that_bounds_nothing_is_none(text: str) -> None:
    assert range_of("p", text, ORIGIN) == ((), ())


def test_a_range_may_be_choices() -> None:
    assert range_of("p", "p in ('a', None, 2)", ORIGIN) == ((), ("'a'", "None", "2"))
    assert range_of("p", "p in (q, 2)", ORIGIN) == ((), ())


def test_words_for_types() -> None:
    words = ("tf.int32", "Integer", "boolean, optional", "tf.string", "float32 or None", "whatever", "")
    assert [dtype_of(word) for word in words] == ["int", "int", "bool", "str", "float", "", ""]
    assert [structure_of(word) for word in ("a tuple of 2 ints", "n-dimensional tensor", "")] == ["tuple", "tensor", ""]
    assert [lengths_of(word) for word in ("2", "(2, 3)", "No mention", "(batch, 3)")] == [(2,), (2, 3), (), ()]


def test_the_papers_implication_is_an_expression() -> None:
    found = relation_of("if a is True: b = 'zeros'", ("a", "b"), ORIGIN)
    assert found is not None and found.expression == "not a is True or b == 'zeros'"
    assert relation_of("a > other", ("a", "b"), ORIGIN) is None
    assert relation_of("1 > 0", ("a", "b"), ORIGIN) is None


LSTM = """
Similarity:
  - tf.keras.layers.LSTMCell: 0.7150709480047226
  - tf.keras.layers.GRU: 0.6300555363945339
Parameters:
  activation:
    default: tanh
    dtype: tf.string
    enum:
      - tanh
      - None
  dropout:
    default: 0.0
    dtype: float
    range: 0 <= dropout <= 1
  activity_regularizer:
    default: None
    dtype: tf.string
Constrains:
  - Parameter 1: unit_forget_bias, Parameter 2: dropout, Constrain: if activation is True: dropout = 0
  - Parameter 1: a, Parameter 2: b, Constrain: __import__('os')
"""


def test_the_authors_files_are_read() -> None:
    facts = imported("tf.keras.layers.LSTM", LSTM, "LSTM.yaml")
    activation, dropout, regularizer = facts.parameters
    assert (activation.default, activation.dtype, activation.choices) == ("'tanh'", "str", ("'tanh'", "None"))
    assert (dropout.bounds[0].least, dropout.bounds[0].most, dropout.bounds[0].origin.source) == (0.0, 1.0, "import")
    assert regularizer.default == "None"
    assert [each.expression for each in facts.relations] == ["not activation is True or dropout == 0"]
    assert facts.similar == {"tf.keras.layers.LSTMCell": 0.7150709480047226, "tf.keras.layers.GRU": 0.6300555363945339}


def test_an_api_is_found_by_any_of_its_names(tmp_path: Path) -> None:
    (tmp_path / "tf.keras.layers.LSTM.yaml").write_text(LSTM)
    files = AuthorsFiles(tmp_path)
    assert files.facts(API, "") is None
    assert files.facts(API._replace(aliases=("tf.keras.layers.LSTM",)), "") is not None


def test_files_that_nobody_asked_for_are_known(tmp_path: Path) -> None:
    for name in ("lib.nn.Gate.yaml", "lib.nn.Other.yaml"):
        (tmp_path / name).write_text(LSTM)
    files = AuthorsFiles(tmp_path)
    assert files.facts(API, "") is not None
    assert (files.used, set(files.known)) == ({"lib.nn.Gate"}, {"lib.nn.Gate", "lib.nn.Other"})


def test_a_folder_without_files_is_none(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no YAML or JSON file is in"):
        AuthorsFiles(tmp_path)
    with pytest.raises(UserError, match="there is no folder"):
        AuthorsFiles(tmp_path / "missing")


def test_a_file_that_is_none_is_told_before_anybody_asks_for_it(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match=r"a\.yaml can't be read"):
        AuthorsFiles(tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1]", "no Parameters"),
        ("Parameters: [1]", "Parameters is no mapping"),
        ("Parameters: {a: 3}", "parameter a is no mapping"),
        ("a: [", "no YAML"),
    ],
)
def test_what_is_not_of_that_form_is_told(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        imported("a", text, "a.yaml")


class Fixed:
    """An extractor that always returns the same parameters."""

    def __init__(self, *parameters: Parameter) -> None:
        self.parameters = parameters

    def facts(self, api: Api, doc: str) -> Facts:
        """Returns the fixed parameters as facts of the api."""
        return Facts(api=api.name, parameters=self.parameters)


def bounded(most: float) -> Parameter:
    return Parameter(name="rate", dtype="str", bounds=(NumberRange(most=most, origin=ORIGIN),))


def test_what_is_known_stays_and_what_is_missing_is_added() -> None:
    calls = [Invocation(API.name, (prim(3),), (("rate", prim(0.75)),))]
    evidence = ApiEvidence(API, calls=calls)
    found = enriched(facts_of(evidence), evidence, [Fixed(bounded(1.0), Parameter(name="stranger")), Fixed(bounded(2))])
    rate = found.parameter("rate")
    assert rate is not None and rate.dtype == "float" and [each.most for each in rate.bounds] == [1.0]
    assert found.parameter("stranger") is None


@pytest.mark.parametrize("most", [0.7, 0.4])
def test_bounds_that_a_call_that_works_or_a_default_breaks_are_not_taken(most: float) -> None:
    evidence = ApiEvidence(API, calls=[Invocation(API.name, (prim(3), prim(0.75)))])
    assert enriched(facts_of(evidence), evidence, [Fixed(bounded(most))]).parameters[1].bounds == ()
    assert merged(facts_of(ApiEvidence(API)), Facts(api="x", parameters=(bounded(0.4),))).parameters[1].bounds == ()
