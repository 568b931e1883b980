"""What a fuzz learns as it goes: outcome classes, operators, and the corpus that grows from them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import islice
from typing import Any

from fuzz_core.campaign.session import Session
from fuzz_core.ir.codec import decode_test
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.outcome import KINDS
from fuzz_core.store.news import News, Operator
from fuzz_core.worker.corpus import Corpus, Grown

MAX_CLASSES = 400
MAX_MEMBERS = 64
MAX_TEST = 3000
# News is good, findings are what it is for: an api that has shown one fault is five times as likely as others to show
# another, and so are its kin.
CLASS_REWARD = 0.02
OPERATOR_REWARD = 0.1
FINDING_REWARD = 5.0
KIN_REWARD = 1.5
SAVE_SECONDS = 2.0


class Learning:
    """News by api, as workers are told it and as it is on record. grow: whether news joins the corpus."""

    def __init__(self, session: Session, grow: bool) -> None:
        self.session = session
        self.grow = grow
        # Outcome classes in the order in which they were first shown, each with the test that joined the corpus for it.
        self.news: defaultdict[str, dict[str, str | None]] = defaultdict(dict)
        self.classes = 0
        self.members: Counter[str] = Counter()
        self.unsaved: tuple[list[News], list[Operator]] = ([], [])
        self.saved = session.clock()
        target = session.target.key
        self.operators = {(name, dtype) for name, dtype, _ in session.store.operators(target)}
        for known in session.store.news(target):
            self._append(known if grow else known._replace(test=None))

    def take(self, api: str, message: dict[str, Any], timed: bool) -> float:
        """A worker's news of an api: how much of it nobody knew, as a reward. Raises CodecError for what is no news.

        Which tests are watched for operators depends on how long they take: only a `timed` run is rewarded for them.
        """
        match message:
            case {"class": str(shown), "kind": str(kind), "test": test, "operators": list(operators)} if kind in KINDS:
                reward = self._class(api, shown, kind, test)
                return reward + self._operators(api, operators) * timed
        raise CodecError(f"no news: {str(message)[:200]}")

    def _class(self, api: str, shown: str, kind: str, test: Any) -> float:
        if not shown or shown in self.news[api] or len(self.news[api]) >= MAX_CLASSES:
            return 0.0
        case = decode_test(test)
        if case.invocation.api != api:
            raise CodecError(f"news of {case.invocation.api[:100]} from a lease of {api}")
        full = self.members[api] >= MAX_MEMBERS
        body = json.dumps(test)
        # What is refused is refused again, however it is mutated: it is no good start.
        joins = self.grow and kind == "ok" and not full and len(body) <= MAX_TEST
        news = News(api, shown, kind, body if joins else None)
        self._append(news)
        self.unsaved[0].append(news)
        return CLASS_REWARD

    def _append(self, news: News) -> None:
        self.news[news.api][news.outcome_class] = news.test
        self.classes += 1
        self.members[news.api] += news.test is not None

    def _operators(self, api: str, operators: list[Any]) -> float:
        parted = (str(text).rpartition(" ") for text in operators)
        # One by one: a set difference would walk through all that is known.
        fresh = {(name, dtype) for name, _, dtype in parted if (name, dtype) not in self.operators}
        self.operators |= fresh
        self.unsaved[1].extend(Operator(name, dtype, api) for name, dtype in sorted(fresh))
        return OPERATOR_REWARD * len(fresh)

    def known_to(self, api: str, shown: int) -> Sequence[Grown]:
        """The members of the corpus among the first `shown` items of an api's news.

        Decoded when they are asked for, which a death alone does: live, all of them are hundreds of megabytes.
        """
        corpus = Corpus()
        for test in islice(self.news[api].values(), shown):
            if test is not None:
                corpus.add(decode_test(json.loads(test)))
        return corpus.of(api)

    def save(self, at_once: bool = False) -> None:
        """Commits now and then: a kill loses two seconds of news, which the next run sees again."""
        if any(self.unsaved) and (at_once or self.session.clock() - self.saved >= SAVE_SECONDS):
            self.session.store.save_news(self.session.target.key, *self.unsaved)
            self.unsaved = ([], [])
            self.saved = self.session.clock()
