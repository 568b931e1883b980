"""The figures as text for people."""

from __future__ import annotations

from typing import Any

MEGABYTE = 1 << 20


def table(found: dict[str, Any]) -> str:
    """Everything that was measured, medians of repeated runs."""
    at = found["machine"]
    lines = [
        f"{at['processor']}, {at['cores']} cores, {at['memory']} GB; {at['system']}, Python {at['python']}; "
        f"load before: {at['load']}"
    ]
    for subject in found["subjects"]:
        lines += ["", *_subject(subject)]
    return "\n".join(lines)


def _subject(subject: dict[str, Any]) -> list[str]:
    one = subject["one"]
    lines = [
        subject["target"],
        f"{subject['apis']} apis, {subject['invocations']} invocations; crash oracle; {one['repeats']} runs "
        f"of {one['seconds']:.0f} s; worker {'on a core of its own' if one['pinned'] else 'not pinned'}",
        *_rows(one),
    ]
    if "two" in subject:
        two = subject["two"]
        lines.append(_row("two workers", f"{two['rate']:,.0f}/s, {two['times_one']:.2f} times one"))
    return lines + (_profile(subject["profile"]) if "profile" in subject else [])


def _rows(one: dict[str, Any]) -> list[str]:
    return [
        _row("tests, one worker", f"{one['rate']:,.0f}/s"),
        _row("unique of those made", f"{one['unique']:.1%}"),
        _row("valid of those executed", f"{one['valid']:.1%}"),
        _row("unique valid tests", f"{one['unique_valid_rate']:,.0f}/s"),
        _row("time inside the library", f"{one['inside']:.1%}"),
        _row("time outside leases", f"{one['lost']:.1%} (restarts, hangs, limits)"),
        _row("processes", f"{one['restarts']:.0f} forked in {one['forking']:.1f} s; {one['deaths']:.0f} died"),
        _row("hangs", f"{one['hangs']:.0f}, {one['hanging']:.1f} s"),
        _row("start-up", f"{one['start_up']:.1f} s"),
        _row("peak memory, worker", f"{one['worker_memory'] / MEGABYTE:,.0f} MB"),
        _row("peak memory, controller", f"{one['controller_memory'] / MEGABYTE:,.0f} MB"),
    ]


def _profile(profile: dict[str, Any]) -> list[str]:
    """Microseconds per executed test, with the clocks' own cost in them."""
    counts, seconds = profile["counts"], profile["seconds"]
    tests = max(sum(count for kind, count in counts.items() if kind != "duplicate"), 1)
    total = sum(seconds.values()) or 1.0
    lines = ["profile (a run by itself, clocked):"]
    for part, spent in sorted(seconds.items(), key=lambda item: -item[1]):
        lines.append(_row(f"  {part}", f"{spent / total:6.1%}  {spent / tests * 1e6:7.1f} µs per test"))
    return lines


def _row(name: str, value: str) -> str:
    return f"{name:26} {value}"
