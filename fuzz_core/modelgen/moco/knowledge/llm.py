"""Facts from a language model: the paper's four rounds at any endpoint with OpenAI's chat protocol."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import requests
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.moco.facts import Facts, Origin, Parameter, ParameterRelation
from fuzz_core.modelgen.moco.knowledge import answers

# Seconds to wait for the start of an answer and between two parts of it, and for the whole answer.
TIMEOUT_S, LONGEST_S = 120.0, 600.0
TRIES, MAX_BYTES, MAX_DOC, CONFIDENCE = 4, 1 << 20, 20_000, 0.5
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)
_ASK = (
    "You are an expert in the field of deep learning. Next, I'll give you information about the parameters of the "
    "{api} from the official documentation of the deep learning library {library}. Please read the text I give you "
    "next and answer the questions I ask you. Once you understand the requirements, please answer only 'Yes.' Then, I "
    "will continuously ask you several questions. [{definition}\n\n{doc}]",
    "Please give me the dtype and the range for each parameter. The dtype indicates the data type of each parameter, "
    "such as int, float, boolean, and string. The range indicates the legal range of values for each parameter, as a "
    'Python expression over its name. If not mentioned in the text, it is marked as "No mention". Answer with JSON '
    'alone, in this form: [{{"parameter": "p", "dtype": "float", "range": "0 <= p <= 1"}}]',
    "Please provide the structure and shape for each parameter. The structure indicates the type of data structure "
    "that stores a collection of values for the input parameter, such as integer, list, tuple, and n-dimensional array "
    "(i.e., tensor). Shape indicates the shape or number of dimensions of the parameter, and it is related to the "
    'number of integers contained in the tuple or the list. It is marked as "No mention" if not mentioned in the '
    'text. Answer with JSON alone, in this form: [{{"parameter": "p", "structure": "tuple", "shape": "2"}}]',
    "Please provide the constraints between the parameters. Parameter 1 and parameter 2 refer to the two parameters "
    "for which a constraint relationship exists. Each constraint is represented as a Python expression. Answer with "
    'JSON alone, in this form: [{{"parameter_1": "a", "parameter_2": "b", "constraint": "a % b == 0"}}]',
)


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)


class _Typed(_Answer):
    parameter: str
    dtype: str = ""
    range: str = ""


class _Shaped(_Answer):
    parameter: str
    structure: str = ""
    shape: str = ""


class _Constrained(_Answer):
    constraint: str = Field(max_length=500)


T = TypeVar("T", bound=_Answer)


class ChatExtractor:
    """An `Extractor` that asks a language model. An unreadable answer gives no facts.

    The attribute `asked` counts the apis, and `unread` counts the unreadable answers. Raises UserError for a key that
    cannot be sent, or not safely.

    Args:
        endpoint: the address that ends in `/v1`.
        key: the bearer token of the endpoint, empty if it needs none.
        wait: sleeps so many seconds between tries.
    """

    def __init__(
        self, endpoint: str, model: str, library: str, key: str = "", wait: Callable[[float], Any] = time.sleep
    ) -> None:
        self.address = f"{endpoint.rstrip('/')}/chat/completions"
        self.model = model
        self.library = library
        self.wait = wait
        self.asked, self.unread = 0, 0
        # A temperature of 0, for the same answer to the same question, as long as the model accepts it.
        self.steady = True
        self.session = requests.Session()
        # If no auth were set, `requests` would send a password from the user's netrc file.
        self.session.auth = _Bearer(_sound(key, endpoint))

    def check(self) -> None:
        """Asks for one word, to check that the endpoint answers. Raises UserError if it does not."""
        self._round([], "Please answer only 'Yes.'")

    def facts(self, api: Api, doc: str) -> Facts | None:
        """Returns the model's facts about the api; None if it finds no parameters.

        Raises UserError if the endpoint does not answer as expected.
        """
        if not doc.strip():
            return None
        self.asked += 1
        messages: list[dict[str, str]] = []
        given = {"api": api.name, "library": self.library, "definition": api.definition, "doc": doc[:MAX_DOC]}
        said = [self._round(messages, text.format(**given)) for text in _ASK]
        typed, shaped = self._read(said[1], _Typed), self._read(said[2], _Shaped)
        parameters = _parameters(typed, shaped)
        relations = _relations(self._read(said[3], _Constrained), [each.name for each in parameters])
        if not parameters:
            return None
        kind: Any = "class" if api.kind == "class" else "function"
        return Facts(api=api.name, kind=kind, parameters=parameters, relations=relations)

    def _read(self, said: str, form: type[T]) -> list[T]:
        """Returns the records in an answer, fenced or not; none if the answer is unreadable."""
        fenced = _FENCE.search(said)
        try:
            return TypeAdapter(list[form]).validate_json(fenced[1] if fenced else said)  # type: ignore[valid-type]
        except ValidationError:
            self.unread += 1
            return []

    def _round(self, messages: list[dict[str, str]], text: str) -> str:
        messages.append({"role": "user", "content": text})
        answer = self._answer(messages)
        messages.append({"role": "assistant", "content": answer})
        return answer

    def _answer(self, messages: Sequence[dict[str, str]]) -> str:
        for attempt in range(TRIES):
            last = attempt + 1 == TRIES
            try:
                with self._posted(messages) as answer:
                    busy = answer.status_code == 429 or answer.status_code >= 500
                    if answer.status_code == 400 and self.steady:
                        self.steady = False
                    elif not busy or last:
                        return self._content(answer)
            except requests.RequestException as error:
                # A timeout on any try after the first ends the tries.
                if last or (attempt and isinstance(error, requests.Timeout)):
                    raise self._failure(type(error).__name__) from error
            self.wait(2.0**attempt)
        raise self._failure("HTTP 400")

    def _posted(self, messages: Sequence[dict[str, str]]) -> requests.Response:
        request: dict[str, Any] = {"model": self.model, "messages": list(messages)}
        request |= {"temperature": 0} if self.steady else {}
        # A redirection could send the question and the key to a third party.
        return self.session.post(self.address, json=request, timeout=TIMEOUT_S, stream=True, allow_redirects=False)

    def _content(self, answer: requests.Response) -> str:
        if answer.status_code != 200:
            raise self._failure(f"HTTP {answer.status_code}")
        try:
            return str(json.loads(_body(answer))["choices"][0]["message"]["content"])
        except (ValueError, KeyError, IndexError, TypeError, RecursionError) as error:
            raise self._failure("it does not speak the chat protocol") from error

    def _failure(self, why: str) -> UserError:
        parts = urlsplit(self.address)
        shown = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=""))
        return UserError(f"{shown} can't be asked: {why}", "check the address, the key and the name of the model")


def _sound(key: str, endpoint: str) -> str:
    """Returns the key if it is safe to send. A key that cannot stand in a header would appear in the error message."""
    if re.fullmatch(r"[!-~]*", key) is None:
        raise UserError("the key for the model of language is none", "it has to be one word of ASCII letters and signs")
    parts = urlsplit(endpoint)
    if key and parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        raise UserError(f"the key would go to {parts.hostname} in the clear", "write https:// before its address")
    return key


def _body(answer: requests.Response) -> bytes:
    """Returns the answer, up to a bound. Raises requests.Timeout if the answer takes too long."""
    end, body = time.monotonic() + LONGEST_S, b""
    for part in answer.iter_content(1 << 12):
        body += part
        if len(body) > MAX_BYTES:
            break
        if time.monotonic() > end:
            raise requests.Timeout
    return body


class _Bearer(requests.auth.AuthBase):
    def __init__(self, key: str) -> None:
        self.key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self.key:
            request.headers["Authorization"] = f"Bearer {self.key}"
        return request


def _origin(text: str) -> Origin:
    return Origin(source="llm", text=text[:300], confidence=CONFIDENCE)


def _parameters(typed: Sequence[_Typed], shaped: Sequence[_Shaped]) -> tuple[Parameter, ...]:
    found: dict[str, Parameter] = {}
    for each in typed:
        origin = _origin(each.range)
        bounds, choices = answers.range_of(each.parameter, each.range, origin)
        found[each.parameter] = Parameter(
            name=each.parameter,
            dtype=answers.dtype_of(each.dtype),
            bounds=bounds,
            choices=choices,
            choices_origin=origin if choices else None,
        )
    for said in shaped:
        own = found.setdefault(said.parameter, Parameter(name=said.parameter))
        lengths = answers.lengths_of(said.shape)
        update: dict[str, Any] = {"structure": answers.structure_of(said.structure), "shape": lengths}
        update |= {"shape_origin": _origin(said.shape)} if lengths else {}
        found[said.parameter] = own.model_copy(update=update)
    return tuple(found.values())


def _relations(constrained: Sequence[_Constrained], names: Sequence[str]) -> tuple[ParameterRelation, ...]:
    read = (answers.relation_of(each.constraint, names, _origin(each.constraint)) for each in constrained)
    return tuple({each.expression: each for each in read if each is not None}.values())
