"""The contents of a store after a campaign, as JSON data without the parts that differ between runs."""

from __future__ import annotations

import re
from hashlib import blake2b
from pathlib import Path
from typing import Any

from fuzz_core.campaign.plans import make_plan
from fuzz_core.campaign.session import Session
from fuzz_core.ir import codec
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.contract import ORACLES
from fuzz_core.store.store import Store
from fuzz_core.worker.plan import Plan

SHOWN, DRAWN = 2, 60

_VOLATILE = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:\+00:00|Z)?"), "<time>"),
    (re.compile(r"0x[0-9a-f]+"), "<address>"),
    (re.compile(r"(?:/[\w.+-]+)+/(?=[\w.+-]+)"), "<folder>/"),
    (re.compile(r"\b\d+(?:\.\d+)? (?:s|min)\b|(?<=\| )\d+\.\d+(?= \| done)"), "<seconds>"),
)


def recorded(session: Session) -> dict[str, Any]:
    """Returns traced calls, findings and bugs of a session's target, and the figures of its runs."""
    store, key = session.store, session.target.key
    return {
        "traced": traced(session),
        "runs": [[run.seed, run.status, run.summary["tests"], run.summary["apis"]] for run in store.runs(key)],
        "outcomes": [run.summary["outcomes"] for run in store.runs(key)],
        "findings": findings(store, key),
        "bugs": bugs(store, key),
    }


def traced(session: Session) -> list[list[Any]]:
    """Returns for each api its name, the number of its calls and a digest of the calls."""
    apis: dict[str, list[str]] = {}
    for row in session.store.invocations(session.target.key):
        apis.setdefault(row.api, []).append(f"{row.digest} {row.expected} {row.valid} {codec.dumps(row.invocation)}")
    return [[api, len(rows), digest("\n".join(sorted(rows)))] for api, rows in sorted(apis.items())]


def findings(store: Store, key: str) -> list[dict[str, Any]]:
    """Returns the findings of a target, in the order of discovery."""
    return [
        {
            "api": each.api,
            "test": case(each.test),
            "verdict": [steady(part) for part in each.verdict],
            "outcome": outcome(each.outcome),
            # The reason of a confirmed finding says which of its runs were forks; that follows from the further fields.
            "status": [each.status, "" if each.status == "confirmed" else steady(each.reason)],
            "origin": each.origin,
        }
        for each in store.findings(key)
    ]


def bugs(store: Store, key: str) -> list[dict[str, Any]]:
    """Returns the bugs of a target, in the order of their signatures."""
    return [
        {
            "signature": [each.signature_text, each.signature],
            "api": each.api,
            "kind": [each.oracle, each.kind],
            "test": case(each.test),
            "script": each.script.splitlines(),
            "outcome": outcome(each.outcome),
            "shown": [each.hits, each.runs, each.findings, each.minimised, each.status],
            "origin": each.origin,
        }
        for each in sorted(store.bugs(key), key=lambda bug: bug.signature_text)
    ]


def streams(session: Session, file: Path) -> dict[str, Any]:
    """Returns the first mutants of each traced api as they are, and the next mutants as a digest.

    Args:
        session: the session whose target has the traced apis.
        file: path to which the plan is written.
    """
    make_plan(session, file, session.store.bodies(session.target.key), seed=11, oracles=[*ORACLES])
    plan = Plan(file)
    told: dict[str, Any] = {}
    for api, calls in sorted(plan.places.items()):
        drawn = [plan.test(api, len(calls) + number) for number in range(DRAWN)]
        told[api] = [*map(case, drawn[:SHOWN]), digest("\n".join(str(case(test)) for test in drawn[SHOWN:]))]
    return told


def case(test: TestCase) -> list[Any]:
    """Returns seed, rules and a digest of a test case; the call itself stands in scripts."""
    return [test.seed, list(test.rules), digest(codec.dumps(test.invocation) + test.program)]


def outcome(told: Outcome) -> list[Any]:
    """Returns an outcome without seconds and without frames of nightfuzz's own code, whose lines move with any edit."""
    frames = [steady(frame) for frame in told.frames if "/fuzz_core/" not in frame]
    return [told.kind, steady(told.name), steady(told.text), frames]


def steady(text: str) -> str:
    """Returns the text without times, addresses and folders."""
    for pattern, instead in _VOLATILE:
        text = pattern.sub(instead, text)
    return text.encode("utf-8", "backslashreplace").decode()


def digest(text: str) -> str:
    """Returns a short digest of a text."""
    return blake2b(text.encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()
