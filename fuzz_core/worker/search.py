"""Search leases: a worker looks for a valid call of an api, and sends the call that it finds."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from fuzz_core.adapters.modes import Builder
from fuzz_core.ir.codec import encode_test
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.rng import Rng, derive
from fuzz_core.ir.signatures import ApiSignature, SignatureParameter
from fuzz_core.ir.values import Invocation, Tensor, TestCase, Value
from fuzz_core.ir.wire import LeaseDone, SearchReport
from fuzz_core.synthesis.description import described
from fuzz_core.synthesis.draft import Cast, parameters
from fuzz_core.synthesis.search import Search
from fuzz_core.worker.journal import READING
from fuzz_core.worker.loop import Worker, World

MAX_MESSAGE = 300
# Seconds of processor time that a lease may take.
SECONDS = 1.0
# So many descriptions of arguments have values that tries share.
MOST_SHARED = 256
# So many arguments of an accepted call are amended, one after the other.
MOST_AMENDMENTS = 8
# So many of the first tries decide whether the library lacks the api on this machine.
FIRST_TRIES = 20


class CallSearcher:
    """Works on search leases: the range of a lease counts tries."""

    def __init__(self, world: World, worker: Worker) -> None:
        self.worker = worker
        self.adapter = world.adapter
        self.listed = {entry.api.name: entry for entry in world.listed}
        assert world.knowledge is not None
        self.knowledge = world.knowledge
        self.casts = {name: Cast(*rest) for name, rest in self.adapter.casts().items()}

    def search(self, lease: dict[str, Any]) -> None:
        """Try calls of an api until one is valid, or the range or the time of a lease ends."""
        api = lease["api"]
        signatures = [
            described(each, self.listed[api].api.doc, self.worker.plan.documentation.by_api.get(api, ()))
            for each in (self.adapter.signatures(self.listed[api]) if api in self.listed else ())
        ]
        report = SearchReport(api, lease["first"], None, "the library declares no arguments of it")
        if waits := self._waits(signatures):
            report = report._replace(reason="", waits=waits)
        elif signatures:
            report = self._search(lease, signatures)
        test = None if report.test is None else encode_test(report.test)
        self.worker.channel.send({**report._asdict(), "test": test})
        done = LeaseDone(lease["lease"], report.tries, retire=self.worker.is_spoilt())
        self.worker.channel.send(done._asdict())

    def _waits(self, signatures: list[ApiSignature]) -> str:
        """Return an argument that no known call can make, if each signature has one."""
        lacking = [
            next((each.name for each in parameters(form) if each.required and self._unmade(form.api, each)), "")
            for form in signatures
        ]
        return lacking[0] if lacking and all(lacking) else ""

    def _unmade(self, api: str, parameter: SignatureParameter) -> bool:
        return parameter.kind == "object" and not self.knowledge.makers(api, parameter)

    def _search(self, lease: dict[str, Any], signatures: list[ApiSignature]) -> SearchReport:
        api, index = lease["api"], lease["first"]
        seed = derive(self.worker.plan.header.seed, "search", api, index)
        search = Search(signatures, Rng(seed), self.knowledge, list(self.adapter.dtypes), self.casts)
        # A preview needs the arguments as well. Without one, an argument may be changed in place.
        shared = SharedValues(self.worker.execution.mode("cpu").builder) if self.adapter.previews else None
        lacking: Counter[str] = Counter()
        unmade = ""
        before, until = footprint(), _processor() + SECONDS
        while index < lease["last"] and _processor() < until:
            draft = search.ask()
            if index in lease.get("skip", ()):
                return SearchReport(api, index, TestCase(draft.invocation(), seed + index))
            outcome, _ = self._run(lease["lease"], index, draft.invocation(), seed + index, shared)
            index += 1
            if outcome.kind == "ok":
                call, why = self._confirmed(lease["lease"], index - 1, draft.invocation(), seed)
                if footprint() != before:
                    return SearchReport(api, index, None, "a call leaves files, processes or sockets behind")
                if not why:
                    return SearchReport(api, index, TestCase(call, seed))
                outcome = Outcome("exception", "Doubt", why)
            if self.worker.is_spoilt():
                return SearchReport(api, index, None, "calls change the library's global state")
            message = f"{outcome.name}: {outcome.text}"
            # A call that makes an argument was refused, and not the call itself.
            if outcome.kind == "skipped":
                unmade = message
            else:
                search.tell(draft, message)
            lacking[self.adapter.missing_requirement(message)] += 1
            if index - lease["first"] == FIRST_TRIES and lacking[""] <= FIRST_TRIES / 4:
                break
        last = [*search.refused.values()][-1].message if search.refused else unmade
        del lacking[""]
        for lack, count in lacking.most_common(1):
            # Either most refusals say so, or the one that comes to light last.
            if 2 * count >= index - lease["first"] or lack == self.adapter.missing_requirement(last):
                return SearchReport(api, index, None, lacks=lack)
        return SearchReport(api, index, None, last[:MAX_MESSAGE], refused=True)

    def _run(
        self, lease: int, index: int, call: Invocation, seed: int, shared: SharedValues | None = None
    ) -> tuple[Outcome, Any]:
        of_call = nullcontext if shared is None else shared.of_call
        self.worker.journal.begin(lease, index)
        with of_call():
            outcome, result = self._refused(call), None
        if outcome is None:
            with of_call():
                outcome, result = self.worker.execution.run(TestCase(call, seed), "cpu")
        self.worker.journal.end()
        if result is NotImplemented:
            # The answer of an operator that does not know the other operand.
            return Outcome("exception", "TypeError", "the result is NotImplemented"), None
        return outcome, result

    def _refused(self, call: Invocation) -> Outcome | None:
        """Return the refusal of a call that the library refuses without executing it, if it can be asked."""
        if not self.adapter.previews:
            return None
        # An instance is made among the parts: its class is what the call is about.
        made = call.then is not None
        try:
            parts = self.worker.execution.mode("cpu").builder.parts(call)
            made = True
            self.adapter.preview(call.api, *parts)
        except BaseException as error:  # noqa: BLE001 - what a library raises, even KeyboardInterrupt, is an outcome
            refused = self.worker.execution.failure(error, 0.0)
            return refused if made else refused._replace(kind="skipped")
        return None

    def _confirmed(self, lease: int, index: int, call: Invocation, seed: int) -> tuple[Invocation, str]:
        """Return an accepted call, perhaps with other arguments that fit its result, and why it is no seed, or ""."""
        why = self._doubt(lease, index, call, seed)
        for _ in range(MOST_AMENDMENTS):
            other = self.adapter.amended(call, why) if why else None
            if other is None:
                break
            call, why = other, self._doubt(lease, index, other, seed)
        return call, why

    def _doubt(self, lease: int, index: int, call: Invocation, seed: int) -> str:
        """Return why a call that was accepted is no seed; empty if it is one."""
        broken = self.worker.plan.documentation.broken(call)
        if broken is not None:
            return f"the documentation forbids it: {broken.constraint.text}"
        again, result = self._run(lease, index, call, seed ^ 1)
        if again.kind != "ok":
            return f"refused the second time: {again.text}"
        self.worker.journal.begin(lease, index)
        self.worker.journal.again(False, READING)
        try:
            builder = self.worker.execution.mode("cpu").builder
            return self.adapter.doubt(result, lambda: {name: builder.build(value) for name, value in call.kwargs})
        finally:
            self.worker.journal.end()


class SharedValues:
    """Values that several tries have: a tensor or an object of a description is made once for all of them.

    Equal arguments of one call are separate values. A refused call may have changed a shared value, so an accepted call
    runs again with values of its own.
    """

    def __init__(self, builder: Builder) -> None:
        self.builder, self.own = builder, builder.makers
        self.made: defaultdict[Value, list[Any]] = defaultdict(list)
        self.taken: Counter[Value] = Counter()  # by the call that is being made
        self.makers: dict[type, Callable[[Any], Any]] = {**self.own}
        for kind in (Tensor, Invocation):
            self.makers[kind] = self._shared(self.own[kind])

    @contextmanager
    def of_call(self) -> Iterator[None]:
        """Let the builder take shared values for one call."""
        self.taken.clear()
        if len(self.made) > MOST_SHARED:
            self.made.clear()
        self.builder.makers = self.makers
        try:
            yield
        finally:
            self.builder.makers = self.own

    def _shared(self, make: Callable[[Any], Any]) -> Callable[[Value], Any]:
        def value(description: Value) -> Any:
            made, place = self.made[description], self.taken[description]
            if place == len(made):
                made.append(make(description))
            self.taken[description] += 1
            return made[place]

        return value


def _processor() -> float:
    """Return the seconds of processor time of this process and of the compilers that it has waited for."""
    return sum(os.times()[:4])


def footprint() -> tuple[int, int, int]:
    """Return the numbers of files in the working directory, of child processes and of sockets of this process."""
    sockets = 0
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            sockets += str(entry.readlink()).startswith("socket:")
    children = 0
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            children += len((task / "children").read_text().split())
    return sum(1 for _ in Path().rglob("*")), children, sockets
