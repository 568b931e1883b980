"""Tests of foreign facts: a language model behind the chat protocol, the files of the paper's authors, and merging."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from chatserver import Chat, four, serving
from signatures import api_of

from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.values import Invocation, prim
from fuzz_core.modelgen.moco.facts import Facts, Parameter
from fuzz_core.modelgen.moco.knowledge import llm
from fuzz_core.modelgen.moco.knowledge.authors import AuthorsFiles, imported
from fuzz_core.modelgen.moco.knowledge.extraction import ApiEvidence, enriched, facts_of, merged
from fuzz_core.modelgen.moco.knowledge.llm import ChatExtractor, Embeddings, ModelServer
from fuzz_core.modelgen.moco.knowledge.words import dtype_of, lengths_of, range_of, relation_of, structure_of

API = api_of("lib.nn.Gate(size, rate=0.5)", "class", "A gate.\n\nArgs: size, rate")
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
        return ChatExtractor(ModelServer(address, key), "small", "lib").facts(API)


def test_four_rounds_of_one_conversation_give_facts() -> None:
    chat = Chat(four(TYPED, f"Sure:\n```json\n{json.dumps(SHAPED)}\n```", CONSTRAINED))
    facts = asked(chat, "secret")
    assert facts is not None
    size, rate = facts.parameters
    assert (size.dtype, size.structure, size.lengths) == ("int", "integer", (2,))
    ends = [("minimum", (0.0,)), ("below", (1.0,))]
    assert rate.bounds == tuple(Constraint("", "rate", *end, "0 <= rate < 1", "llm") for end in ends)
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
        (Chat(body=b"<html>"), "does not speak OpenAI's protocol"),
        (Chat(body=b'{"choices": []}'), "does not speak OpenAI's protocol"),
    ],
)
def test_what_is_no_endpoint_is_told_without_the_key(chat: Chat, words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        asked(chat, "secret")
    assert "secret" not in str(caught.value)


def test_an_address_that_nobody_answers_at_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm, "RETRIES", 0)
    with serving(Chat()) as address:
        pass
    with pytest.raises(UserError, match="failed: APIConnectionError"):
        ChatExtractor(ModelServer(address), "m", "lib").facts(API)


def test_an_answer_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm, "TIMEOUT_S", 0.2)
    monkeypatch.setattr(llm, "RETRIES", 0)
    with pytest.raises(UserError, match=r"failed: API(Connection|Timeout)Error"):
        asked(Chat(stalls=True), "secret")


def test_the_account_of_another_server_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "other")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "other")
    monkeypatch.setenv("OPENAI_API_KEY", "other")
    client = ModelServer("https://host/v1").client
    assert "other" not in {*map(str, client.default_headers.values()), client.api_key}


def test_a_server_turns_definitions_into_rows_of_unit_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm, "BATCH", 2)
    chat = Chat()
    with serving(chat) as address:
        rows = Embeddings(ModelServer(address, "secret"), "small")(["conv", "", "pooling"])
    assert np.allclose(rows[:, 0] / rows[:, 1], [4, 1, 7]) and np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert [(each["model"], each["input"]) for each in chat.embedded] == [
        ("small", ["conv", "-"]),
        ("small", ["pooling"]),
    ]


@pytest.mark.parametrize(
    ("chat", "words"),
    [
        (Chat(last=0), "HTTP 402"),
        (Chat(body=b"<html>"), "does not speak OpenAI's protocol"),
        (Chat(body=b'{"data": []}'), "does not speak OpenAI's protocol"),
        (Chat(body=b'{"data": [{"embedding": []}, {"embedding": [1]}]}'), "does not speak OpenAI's protocol"),
    ],
)
def test_a_server_without_embeddings_is_an_error(chat: Chat, words: str) -> None:
    with serving(chat) as address, pytest.raises(UserError, match=words):
        Embeddings(ModelServer(address), "small")(["conv", "pool"])


def test_somebody_who_answers_is_known_by_a_word() -> None:
    chat = Chat(four(), key="secret")
    with serving(chat) as address:
        ChatExtractor(ModelServer(address, "secret"), "small", "lib").check()
    assert [len(each["messages"]) for each in chat.asked] == [1]


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schl\u00fcssel", "tab\t"])
def test_a_key_that_no_header_can_hold_is_not_repeated(key: str) -> None:
    with pytest.raises(UserError, match="has blanks or characters") as caught:
        ModelServer("https://host/v1", key)
    assert key not in str(caught.value)


def test_a_key_goes_to_no_other_machine_in_the_clear() -> None:
    ModelServer("http://host/v1")
    with pytest.raises(UserError, match="without encryption"):
        ModelServer("http://host/v1", "key")


def test_answers_in_another_form_are_counted() -> None:
    with serving(Chat(four(TYPED, "No idea.", CONSTRAINED))) as address:
        extractor = ChatExtractor(ModelServer(address), "small", "lib")
        assert extractor.facts(API) is not None
    assert (extractor.asked, extractor.unread) == (1, 1)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("p > 0", [("above", 0.0)]),
        ("0 <= p <= 1", [("minimum", 0.0), ("maximum", 1.0)]),
        ("p >= -1.5 and p < 2", [("minimum", -1.5), ("below", 2.0)]),
        ("3 > p", [("below", 3.0)]),
        ("0 < p < 1e999", [("above", 0.0)]),
    ],
)
def test_a_range_is_bounds(text: str, ends: list[tuple[str, float]]) -> None:
    assert [(each.kind, *each.bounds) for each in range_of("p", text, "llm")] == ends


@pytest.mark.parametrize(
    "text", ["No mention", "", "None", "q > 0", "p > q", "p != 3", "p > 0 or p < -5", "any", "p()"]
)
def test_a_range_that_bounds_nothing_is_none(text: str) -> None:
    assert range_of("p", text, "llm") == ()


def test_a_range_may_be_choices() -> None:
    assert Parameter(name="p", constraints=range_of("p", "p in ('a', None, 2, '')", "llm")).choices == (
        "a",
        None,
        2,
        "",
    )
    assert Parameter(name="p", constraints=range_of("p", "p in ('none', 2)", "llm")).choices == ("none", 2)
    assert range_of("p", "p in (q, 2)", "llm") == ()


def test_words_for_types() -> None:
    words = ("tf.int32", "Integer", "boolean, optional", "tf.string", "float32 or None", "whatever", "")
    assert [dtype_of(word) for word in words] == ["int", "int", "bool", "str", "float", "", ""]
    assert [structure_of(word) for word in ("a tuple of 2 ints", "n-dimensional tensor", "")] == ["tuple", "tensor", ""]
    listed = [lengths_of("p", word, "llm") for word in ("2", "(3, 2)", "No mention", "(batch, 3)")]
    assert [[each.bounds for each in found] for found in listed] == [[(2,)], [(2, 3)], [], []]


def test_the_papers_implication_is_an_expression() -> None:
    found = relation_of("if a is True: b = 'zeros'", ("a", "b"), "llm")
    assert found is not None and found.expression == "not a is True or b == 'zeros'"
    assert relation_of("a > other", ("a", "b"), "llm") is None
    assert relation_of("1 > 0", ("a", "b"), "llm") is None


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
    assert (activation.default, activation.dtype, activation.choices) == ("'tanh'", "str", ("tanh", None))
    assert [each[2:4] for each in dropout.bounds] == [("minimum", (0.0,)), ("maximum", (1.0,))]
    assert {each.source for each in (*dropout.constraints, *activation.constraints)} == {"import"}
    assert regularizer.default == "None"
    assert [each.expression for each in facts.relations] == ["not activation is True or dropout == 0"]
    assert facts.similar == {"tf.keras.layers.LSTMCell": 0.7150709480047226, "tf.keras.layers.GRU": 0.6300555363945339}


def test_an_api_is_found_by_any_of_its_names(tmp_path: Path) -> None:
    (tmp_path / "tf.keras.layers.LSTM.yaml").write_text(LSTM)
    files = AuthorsFiles(tmp_path)
    assert files.facts(API) is None
    assert files.facts(API._replace(aliases=("tf.keras.layers.LSTM",))) is not None


def test_files_that_nobody_asked_for_are_known(tmp_path: Path) -> None:
    for name in ("lib.nn.Gate.yaml", "lib.nn.Other.yaml"):
        (tmp_path / name).write_text(LSTM)
    files = AuthorsFiles(tmp_path)
    assert files.facts(API) is not None
    assert (files.used, set(files.known)) == ({"lib.nn.Gate"}, {"lib.nn.Gate", "lib.nn.Other"})


def test_a_folder_without_files_is_none(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no YAML or JSON file is in"):
        AuthorsFiles(tmp_path)
    with pytest.raises(UserError, match="there is no folder"):
        AuthorsFiles(tmp_path / "missing")


def test_a_file_that_is_none_is_told_before_anybody_asks_for_it(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match=r"cannot read .*a\.yaml"):
        AuthorsFiles(tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1]", "is not a mapping"),
        ("Parameters: [1]", "Parameters is not a mapping"),
        ("Parameters: {a: 3}", "parameter a is not a mapping"),
        ("a: [", "not valid YAML"),
    ],
)
def test_what_is_not_of_that_form_is_told(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        imported("a", text, "a.yaml")


class Fixed:
    """An extractor that always returns the same parameters."""

    def __init__(self, *parameters: Parameter) -> None:
        self.parameters = parameters

    def facts(self, api: Api) -> Facts:
        """Return the fixed parameters as facts of the api."""
        return Facts(api=api.name, parameters=self.parameters)


def bounded(most: float) -> Parameter:
    return Parameter(name="rate", dtype="str", constraints=(Constraint("", "rate", "maximum", (most,), "", "llm"),))


def test_what_is_known_stays_and_what_is_missing_is_added() -> None:
    calls = [Invocation(API.name, (prim(3),), (("rate", prim(0.75)),))]
    evidence = ApiEvidence(API, calls=calls)
    found = enriched(facts_of(evidence), evidence, [Fixed(bounded(1.0), Parameter(name="stranger")), Fixed(bounded(2))])
    rate = found.parameter("rate")
    assert rate is not None and rate.dtype == "float" and [each.bounds for each in rate.bounds] == [(1.0,)]
    assert found.parameter("stranger") is None


@pytest.mark.parametrize("most", [0.7, 0.4])
def test_bounds_that_a_call_that_works_or_a_default_breaks_are_not_taken(most: float) -> None:
    evidence = ApiEvidence(API, calls=[Invocation(API.name, (prim(3), prim(0.75)))])
    assert enriched(facts_of(evidence), evidence, [Fixed(bounded(most))]).parameters[1].bounds == ()
    assert merged(facts_of(ApiEvidence(API)), Facts(api="x", parameters=(bounded(0.4),))).parameters[1].bounds == ()
