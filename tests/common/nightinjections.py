"""Injections of faults into a night: each is called before the report job, and counts when it strikes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from faultproxy import Plan
from nightstage import NightStage

from nightfuzz.bot.state.ref import REF

Injection = Callable[[NightStage], object]


def always(fault: str) -> Injection:
    """Gives every request this fault of the proxy."""

    def inject(stage: NightStage) -> None:
        stage.proxy.plan = Plan(1, {fault: 1_000_000}, density=1.0)

    return inject


def some(fault: str, count: int = 6) -> Injection:
    """Gives a few requests this fault of the proxy."""

    def inject(stage: NightStage) -> None:
        stage.proxy.plan = Plan(3, {fault: count}, density=0.3)

    return inject


def answers(status: int, message: str, verb: str = "", path: str = "", **headers: str) -> Injection:
    """Gives this answer to requests of this verb whose path ends so."""

    def inject(stage: NightStage) -> None:
        told: tuple[int, dict[str, str], Any] = status, headers, {"message": message}

        def instead(asked: str, at: str) -> tuple[int, dict[str, str], Any] | None:
            if verb not in ("", asked) or not at.endswith(path):
                return None
            stage.strike()
            return told

        stage.proxy.instead = instead

    return inject


def dies(verb: str, path: str, has_effect: bool, skip: int = 0) -> Injection:
    """Kills the runner at a request to the API: once GitHub has done it, or before GitHub gets it."""

    def inject(stage: NightStage) -> None:
        hits: list[str] = []

        def is_it(asked: str, at: str) -> bool:
            if asked == verb and at.endswith(path):
                hits.append(at)
            return len(hits) == skip + 1 and asked == verb and at.endswith(path)

        def after(asked: str, at: str) -> bool:
            if is_it(asked, at):
                stage.strike()
                stage.kill()
            return stage.is_dead

        def before(asked: str, at: str) -> tuple[int, dict[str, str], Any] | None:
            if is_it(asked, at):
                stage.strike()
                stage.kill()
            return (502, {}, {}) if stage.is_dead else None

        if has_effect:
            stage.proxy.forwarded = after
        else:
            stage.proxy.instead = before

    return inject


def git_says(what: str, service: str = "", skip: int = 0, most: int = 1_000, kills: bool = False) -> Injection:
    """Gives this answer to requests to git: `cut`, `lose` or a status.

    Args:
        kills: whether the runner dies at the request.
    """

    def inject(stage: NightStage) -> None:
        seen: list[str] = []

        def fault(path: str) -> str:
            if service not in path:
                return ""
            seen.append(path)
            if not skip < len(seen) <= skip + most:
                return ""
            stage.strike()
            if kills:
                stage.kill()
            return what

        stage.git.fault = fault

    return inject


def clock(**turned: int) -> Injection:
    """Sets the runner's clock wrong for this night; it is right again in the next."""

    def inject(stage: NightStage) -> None:
        stage.strike()
        stage.time.now += timedelta(**turned)
        heal = stage.heal

        def healed() -> None:
            heal()
            stage.time.now -= timedelta(**turned)

        stage.heal = healed  # type: ignore[method-assign]

    return inject


def moves(stage: NightStage) -> None:
    """Lets another run write the state at each of our pushes, three times."""
    seen: list[str] = []

    def fault(path: str) -> str:
        if "service=git-receive-pack" in path and len(seen) < 3:
            seen.append(path)
            stage.strike()
            stage.place.store(lambda had: {**(had.files if had else {}), f"theirs-{len(seen)}": b"x"}, "theirs")
        return ""

    stage.git.fault = fault


def second(stage: NightStage) -> None:
    """Starts another report of the same results while ours pushes; it ends before ours goes on."""
    begun: list[int] = []

    def fault(path: str) -> str:
        if "service=git-receive-pack" in path and not begun:
            begun.append(1)
            stage.strike()
            begun.append(stage.report("1").code)
        return ""

    stage.git.fault = fault


def damages(name: str, data: bytes) -> Injection:
    """Damages a file of the kept state."""

    def inject(stage: NightStage) -> None:
        stage.strike()
        stage.place.store(lambda had: {**(had.files if had else {}), name: data}, "damaged")

    return inject


def without(name: str) -> Injection:
    """Deletes a file of the state, as a person would."""

    def mend(stage: NightStage) -> None:
        stage.place.store(lambda had: {key: data for key, data in had.files.items() if key != name} if had else {}, "x")

    return mend


def foreign(stage: NightStage) -> None:
    """Pushes a foreign commit under the name of the ref."""
    stage.strike()
    place = stage.place
    git = place._git
    commit = git.commit({"theirs": b"work"}, "theirs", stage.time.now)
    git.call("push", "--quiet", stage.bare.as_uri(), f"{commit}:{REF}")


def deleted(stage: NightStage) -> None:
    """Deletes the ref, as a person would."""
    place = stage.place
    place._git.call("push", "--quiet", stage.bare.as_uri(), f":{REF}")


def full(variable: str) -> Injection:
    """Fills the disk that holds the runner's file."""

    def inject(stage: NightStage) -> None:
        stage.strike()
        stage.environment[variable] = "/dev/full"

    return inject


def unset(name: str) -> Injection:
    """Removes a variable of the runner."""

    def inject(stage: NightStage) -> None:
        stage.strike()
        stage.environment[name] = ""

    return inject


def both(*injections: Injection) -> Injection:
    """Injects several faults into one night."""

    def inject(stage: NightStage) -> None:
        for each in injections:
            each(stage)

    return inject
