"""Models at any server with OpenAI's protocol: the paper's four rounds of questions, and embeddings of definitions.

The module needs the extra `knowledge`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from openai import APIStatusError, BadRequestError, DefaultHttpxClient, OpenAI, OpenAIError
from openai.types.chat import ChatCompletionMessageParam
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.moco.facts import Facts, Parameter, ParameterRelation
from fuzz_core.modelgen.moco.knowledge import words

# Seconds to wait for the start of an answer, and between two parts of it.
TIMEOUT_S = 120.0
RETRIES, MAX_DOC = 3, 20_000
# The number of texts in one request for embeddings.
BATCH = 256
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


class ModelServer:
    """A server with OpenAI's protocol.

    Args:
        endpoint: the address that ends in `/v1`, without a password.
        key: the bearer token of the endpoint, empty if it needs none.

    Raises:
        UserError: the key cannot be sent, or not safely.
    """

    def __init__(self, endpoint: str, key: str = "") -> None:
        self.endpoint = endpoint
        self.client = OpenAI(
            base_url=endpoint,
            api_key=_sound(key, endpoint) or "none",
            # Not those of the environment, which may be for another server.
            organization="",
            project="",
            timeout=TIMEOUT_S,
            max_retries=RETRIES,
            # A redirection could send the question and the key to a third party.
            http_client=DefaultHttpxClient(follow_redirects=False),
        )

    @contextmanager
    def errors_for_users(self) -> Iterator[None]:
        """Turn each error of a request, and of reading its answer, into a UserError that does not show the key."""
        try:
            yield
        except OpenAIError as error:
            status = f"HTTP {error.status_code}" if isinstance(error, APIStatusError) else type(error).__name__
            raise self._failure(status) from error
        except (ValueError, AttributeError, IndexError, TypeError) as error:
            raise self._failure("it does not speak OpenAI's protocol") from error

    def _failure(self, why: str) -> UserError:
        return UserError(
            f"a request to the language model at {self.endpoint} failed: {why}",
            "correct llm_endpoint, the key, or the name of the model; or leave out all llm_ settings",
        )


class Embeddings:
    """An `Encoder` that asks a server.

    A call raises UserError if the server does not answer as expected.
    """

    def __init__(self, server: ModelServer, model: str) -> None:
        self.server = server
        self.model = model

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a row of unit length for each text."""
        found: list[list[float]] = []
        with self.server.errors_for_users():
            for place in range(0, len(texts), BATCH):
                # Some servers refuse an empty text.
                part = [text or "-" for text in texts[place : place + BATCH]]
                answer = self.server.client.embeddings.create(model=self.model, input=part, encoding_format="float")
                found += [each.embedding for each, _ in zip(answer.data, part, strict=True)]
            rows = np.array(found, np.float32)
            unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit


class ChatExtractor:
    """An `Extractor` that asks a language model.

    The attribute `asked` counts the apis, and `unread` counts the unreadable answers.
    """

    def __init__(self, server: ModelServer, model: str, library: str) -> None:
        self.server = server
        self.model = model
        self.library = library
        self.asked, self.unread = 0, 0
        # A temperature of 0, for the same answer to the same question, as long as the model accepts it.
        self.options: dict[str, Any] = {"temperature": 0}

    def check(self) -> None:
        """Ask for one word, to check that the endpoint answers.

        Raises:
            UserError: the endpoint does not answer.
        """
        self._round([], "Please answer only 'Yes.'")

    def facts(self, api: Api) -> Facts | None:
        """Return the model's facts about the api; None if it finds no parameters.

        Raises:
            UserError: the endpoint does not answer as expected.
        """
        if not api.doc.strip():
            return None
        self.asked += 1
        messages: list[ChatCompletionMessageParam] = []
        given = {"api": api.name, "library": self.library, "definition": api.definition, "doc": api.doc[:MAX_DOC]}
        said = [self._round(messages, text.format(**given)) for text in _ASK]
        typed, shaped = self._read(said[1], _Typed), self._read(said[2], _Shaped)
        parameters = _parameters(typed, shaped)
        relations = _relations(self._read(said[3], _Constrained), [each.name for each in parameters])
        if not parameters:
            return None
        kind: Any = "class" if api.kind == "class" else "function"
        return Facts(api=api.name, kind=kind, parameters=parameters, relations=relations)

    def _read(self, said: str, form: type[T]) -> list[T]:
        """Return the records in an answer, fenced or not; none if the answer is unreadable."""
        fenced = _FENCE.search(said)
        try:
            return TypeAdapter(list[form]).validate_json(fenced[1] if fenced else said)  # type: ignore[valid-type]
        except ValidationError:
            self.unread += 1
            return []

    def _round(self, messages: list[ChatCompletionMessageParam], text: str) -> str:
        messages.append({"role": "user", "content": text})
        with self.server.errors_for_users():
            try:
                answer = self._answer(messages)
            except BadRequestError:
                self.options = {}
                answer = self._answer(messages)
        messages.append({"role": "assistant", "content": answer})
        return answer

    def _answer(self, messages: Sequence[ChatCompletionMessageParam]) -> str:
        answer = self.server.client.chat.completions.create(model=self.model, messages=messages, **self.options)
        return str(answer.choices[0].message.content)


def _sound(key: str, endpoint: str) -> str:
    """Return the key if it is safe to send.

    A key that cannot stand in a header would appear in the error message.
    """
    if re.fullmatch(r"[!-~]*", key) is None:
        raise UserError(
            "the language model's key has blanks or characters that are not ASCII",
            "store the key again in the variable that llm_key_variable names, without blanks and line breaks",
        )
    parts = urlsplit(endpoint)
    if key and parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        raise UserError(
            f"llm_endpoint would send the key to {parts.hostname} without encryption", "write https:// in llm_endpoint"
        )
    return key


def _parameters(typed: Sequence[_Typed], shaped: Sequence[_Shaped]) -> tuple[Parameter, ...]:
    found: dict[str, Parameter] = {}
    for each in typed:
        ranges = words.range_of(each.parameter, each.range, "llm")
        found[each.parameter] = Parameter(name=each.parameter, dtype=words.dtype_of(each.dtype), constraints=ranges)
    for said in shaped:
        own = found.setdefault(said.parameter, Parameter(name=said.parameter))
        lengths = words.lengths_of(said.parameter, said.shape, "llm")
        update = {"structure": words.structure_of(said.structure), "constraints": (*own.constraints, *lengths)}
        found[said.parameter] = own.model_copy(update=update)
    return tuple(found.values())


def _relations(constrained: Sequence[_Constrained], names: Sequence[str]) -> tuple[ParameterRelation, ...]:
    read = (words.relation_of(each.constraint, names, "llm") for each in constrained)
    return tuple({each.expression: each for each in read if each is not None}.values())
