"""`nightfuzz moco knowledge`: imported files, questions to a language model, and their errors."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from chatserver import Chat, four, serving
from commands import Cli, Done
from fakelib.nn import Window

from fuzz_core.modelgen.moco.facts import Facts
from fuzz_core.modelgen.moco.knowledge import llm
from fuzz_core.modelgen.moco.knowledge.file import read
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store

WINDOW = "fakelib.nn.Window"
TYPED = [
    {"parameter": "width", "dtype": "int", "range": "1 <= width <= 64"},
    {"parameter": "stride", "dtype": "int", "range": "stride <= 9"},
]
SHAPED = [{"parameter": "width", "structure": "integer", "shape": "No mention"}]
CONSTRAINED = [{"parameter_1": "width", "parameter_2": "stride", "constraint": "stride <= width + 8"}]
KEY = "sk-never-to-be-seen"
FILE = """
Parameters:
  width:
    dtype: int
    range: 1 <= width <= 32
  stride:
    default: 1
Constrains:
  - Parameter 1: width, Parameter 2: stride, Constrain: width * 8 >= stride
"""


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm, "RETRIES", 0)
    monkeypatch.setattr(llm, "TIMEOUT_S", 5.0)


@pytest.fixture
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    with serving(request.param) as where:
        yield where


def learnt(cli: Cli, state: Path, *more: object) -> Done:
    """Learn with time for the first experiment alone."""
    return cli("moco", "knowledge", "--state", state, "--time", "5s", *more)


def window(state: Path) -> Facts:
    return read(state / "knowledge" / "fakelib-1.yaml").apis[WINDOW]


def everything(done: Done, state: Path) -> str:
    """Return all printed text and all files of the state."""
    kept = [path.read_bytes() for path in state.rglob("*") if path.is_file()]
    return done.out + done.err + b"".join(kept).decode("utf-8", "replace")


def test_what_a_model_of_language_says_is_known_and_its_key_is_nowhere(
    cli: Cli, traced: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", f"{KEY}\n")
    chat = Chat(four(TYPED, SHAPED, CONSTRAINED), key=KEY)
    with serving(chat) as where:
        Path("nightfuzz.toml").write_text(f'llm_endpoint = "{where}/"\nllm_key_variable = "MY_KEY"\n')
        done = learnt(cli, traced, "--llm-model", "small", "--json")
    assert done.code == 0, done
    assert done.json["asked"] >= 1
    assert "stride <= width + 8" in [each.expression for each in window(traced).relations]
    assert {each.origin.source for each in window(traced).relations if "8" in each.expression} == {"llm"}
    assert KEY not in everything(done, traced) and KEY not in json.dumps(chat.asked)
    assert {each["model"] for each in chat.asked} == {"small"}


def test_nothing_but_names_and_documentation_leaves_the_machine(cli: Cli, traced: Path) -> None:
    chat = Chat(four(TYPED, SHAPED, CONSTRAINED))
    with serving(chat) as where:
        assert learnt(cli, traced, "--llm-endpoint", where, "--llm-model", "small").code == 0
    _greeting, *asked = chat.asked
    assert {frozenset(each) for each in asked} == {frozenset({"model", "messages", "temperature"})}
    [first] = {each["messages"][0]["content"] for each in asked if WINDOW in each["messages"][0]["content"]}
    assert first.endswith(f"[{described(traced)}]")
    assert str(traced) not in json.dumps(chat.asked)


def described(state: Path) -> str:
    """Return the definition of fakelib's class, and its documentation."""
    with open_store(state / "state.db", read_only=True) as store:
        definition = next(each.definition for each in store.apis("fakelib-1") if each.name == WINDOW)
    return f"{definition}\n\n{Window.__doc__}"


def test_definitions_are_compared_by_embeddings_of_a_server(cli: Cli, traced: Path) -> None:
    chat = Chat()
    with serving(chat) as where:
        done = learnt(cli, traced, "--llm-endpoint", where, "--llm-embedding-model", "small", "--json")
    assert done.code == 0, done
    assert done.json["compared_by"] == "small" and len(chat.embedded) == 2 and not chat.asked


@pytest.mark.parametrize("address", [Chat(last=1)], indirect=True)
def test_definitions_are_compared_by_words_after_a_server_has_failed(cli: Cli, traced: Path, address: str) -> None:
    done = learnt(cli, traced, "--llm-endpoint", address, "--llm-embedding-model", "small")
    assert done.code == 0 and "definitions compared by: their words" in done.out, done
    assert " failed: HTTP 402; definitions are compared by their words" in done.out


def test_an_error_names_the_extra_that_is_not_installed(
    cli: Cli, traced: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, llm.__name__)
    monkeypatch.setitem(sys.modules, "openai", None)
    done = learnt(cli, traced, "--llm-endpoint", "https://host/v1", "--llm-model", "m")
    assert done.code == 2 and "needs the package openai" in done.err and "nightfuzz[knowledge]" in done.err


@pytest.mark.parametrize("address", [Chat(four("I don't know.", "{}", "null"))], indirect=True)
def test_answers_that_are_no_json_bring_nothing_and_are_counted(cli: Cli, traced: Path, address: str) -> None:
    done = learnt(cli, traced, "--llm-endpoint", address, "--llm-model", "small", "--json")
    assert done.code == 0, done
    asked = done.json["asked"]
    assert done.json["unread"] == 3 * asked > 0
    assert window(traced).example


@pytest.mark.parametrize(
    "address", [Chat(four(TYPED, SHAPED, CONSTRAINED), last=1), Chat(four(TYPED, SHAPED), last=3)], indirect=True
)
def test_one_that_stops_answering_is_noted_and_the_rest_is_kept(cli: Cli, traced: Path, address: str) -> None:
    done = learnt(cli, traced, "--llm-endpoint", address, "--llm-model", "small")
    assert done.code == 0, done
    assert " failed: HTTP 402; the facts from other sources are kept" in done.out
    assert window(traced).example and not any("8" in each.expression for each in window(traced).relations)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (Chat(key="another"), "HTTP 401"),
        (Chat(statuses=[500]), "HTTP 500"),
        (Chat(body=b"<html>"), "does not speak OpenAI's protocol"),
    ],
    indirect=["address"],
)
def test_one_that_does_not_answer_is_an_error_before_anything_is_learnt(
    cli: Cli, traced: Path, address: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    done = learnt(cli, traced, "--llm-endpoint", address, "--llm-model", "m", "--llm-key-variable", "MY_KEY")
    assert done.code == 2 and done.err.startswith("error: ") and words in done.err
    assert KEY not in everything(done, traced)
    assert not (traced / "knowledge").exists()


@pytest.mark.parametrize("address", [Chat(stalls=True)], indirect=True)
def test_one_that_is_too_slow_is_an_error(
    cli: Cli, traced: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llm, "TIMEOUT_S", 0.2)
    done = learnt(cli, traced, "--llm-endpoint", address, "--llm-model", "m")
    assert done.code == 2 and " failed: " in done.err


def test_an_address_where_nobody_is(cli: Cli, traced: Path) -> None:
    with serving(Chat()) as where:
        pass
    done = learnt(cli, traced, "--llm-endpoint", where, "--llm-model", "m")
    assert done.code == 2 and f"{where} failed: APIConnectionError" in done.err


@pytest.mark.parametrize(
    "flags",
    [
        ("--llm-endpoint", "host"),
        ("--llm-endpoint", "ftp://host/v1"),
        ("--llm-endpoint", "https://"),
        ("--llm-endpoint", "https://host:port/v1"),
        ("--llm-endpoint", f"https://user:{KEY}@host/v1"),
        ("--llm-endpoint", f"https://host/v1?key={KEY}"),
        ("--llm-key-variable", KEY),
        ("--llm-model", ""),
    ],
)
def test_a_bad_flag_is_named_and_what_may_be_a_key_is_not_repeated(cli: Cli, flags: tuple[str, str]) -> None:
    done = cli("moco", "knowledge", *flags)
    name = flags[0].removeprefix("--").replace("-", "_")
    assert done.code == 2 and done.err.startswith(f"error: {name} on the command line")
    assert KEY not in done.err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--llm-embedding-model", "m"), "llm_endpoint is not set"),
        (("--llm-model", "m"), "llm_endpoint is not set"),
        (("--llm-endpoint", "https://host/v1"), "llm_embedding_model is not set"),
        (("--llm-key-variable", "SOME_KEY"), "llm_endpoint is not set"),
        (("--llm-endpoint", "https://h/v1", "--llm-model", "m", "--llm-key-variable", "NO_SUCH"), "is not set"),
        (("--llm-endpoint", "http://h/v1", "--llm-model", "m", "--llm-key-variable", "MY_KEY"), "without encryption"),
        (
            ("--llm-endpoint", "https://h/v1", "--llm-model", "m", "--llm-key-variable", "BAD_KEY"),
            "has blanks or characters",
        ),
        (("--import", "missing"), "there is no folder missing"),
    ],
)
def test_what_does_not_fit_together_is_told_at_once(
    cli: Cli, traced: Path, flags: tuple[str, ...], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    monkeypatch.setenv("BAD_KEY", f"{KEY} \N{GREEK SMALL LETTER ALPHA}")
    done = learnt(cli, traced, *flags)
    assert done.code == 2 and done.err.startswith("error: ") and words in done.err, done
    assert KEY not in done.err and not (traced / "knowledge").exists()


def test_the_authors_files_are_imported(cli: Cli, traced: Path) -> None:
    Path("theirs").mkdir()
    (Path("theirs") / f"{WINDOW}.yaml").write_text(FILE)
    (Path("theirs") / "tf.keras.layers.LSTM.yaml").write_text(FILE)
    done = learnt(cli, traced, "--import", "theirs", "--json")
    assert done.code == 0, done
    assert (done.json["imported"], done.json["imported_unknown"]) == (1, 1)
    assert [each.origin.source for each in window(traced).relations if "8" in each.expression] == ["import"]


def test_a_file_that_is_none_of_theirs_is_named_at_once(cli: Cli, traced: Path) -> None:
    Path("theirs").mkdir()
    (Path("theirs") / f"{WINDOW}.yaml").write_text("Parameters: [1]")
    done = learnt(cli, traced, "--import", "theirs")
    assert done.code == 2 and f"theirs/{WINDOW}.yaml: Parameters is not a mapping" in done.err
    assert not (traced / "knowledge").exists()


def test_nothing_is_known_of_a_build_that_nobody_has_traced(cli: Cli, tmp_path: Path, fakelib_python: str) -> None:
    with open_store(tmp_path / "untraced" / "state.db") as store:
        store.save_target(TargetRecord("fakelib-1", "fakelib==1", "fakelib", "1", fakelib_python, {}))
    done = learnt(cli, tmp_path / "untraced")
    assert done.code == 2 and "no call of fakelib-1 for an api" in done.err and "nightfuzz trace" in done.err
