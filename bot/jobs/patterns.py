"""The patterns of apis that a run is asked for, checked by the plan job with the builds that the state knows."""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz_core.cli.settings import DEFAULT_FILE
from fuzz_core.ir.errors import UserError
from nightfuzz.bot.action.inputs import Inputs
from nightfuzz.bot.state.place import parts, unpack

if TYPE_CHECKING:
    from fuzz_core.ir.catalogue import Api
    from fuzz_core.store.records import TargetRecord


def check_patterns(inputs: Inputs, workspace: Path, files: Mapping[str, bytes], target: str | None) -> tuple[str, ...]:
    """Check that each pattern matches an api of the target's library.

    The library is not imported.

    Args:
        files: the state, packed. Without a build of the library in it, the fuzz job alone checks the patterns.
        target: the spec of the build to fuzz.

    Returns:
        A note for the summary where no build in the state has such an api, but the target is none of these builds.

    Raises:
        UserError: the target is in the state, and a pattern matches none of its apis.
    """
    patterns, packed = _patterns(inputs, workspace), parts(files)
    if not patterns or not packed or target is None:
        return ()
    # Loaded here: most plans have no pattern, and the plan job's start counts.
    from fuzz_core.campaign.patterns import asked_apis
    from fuzz_core.store.intake import look_over
    from fuzz_core.store.statefile import open_store
    from fuzz_core.targets.spec import parse_spec

    listed: list[tuple[TargetRecord, list[Api]]] = []
    with tempfile.TemporaryDirectory(prefix="nightfuzz-plan-") as name, suppress(UserError):
        # The code that uses the target and the state reports their errors.
        spec, path = parse_spec(target), Path(name) / "state.db"
        unpack(packed, path)
        look_over(path)
        with open_store(path, read_only=True) as store:
            listed = [(each, store.apis(each.key)) for each in store.targets() if each.library == spec.library]
    known = [api for _, apis in listed for api in apis]
    if not known:
        return ()
    exact = [apis for each, apis in listed if apis and spec.version == each.version.partition("+")[0]]
    try:
        asked_apis(exact[-1] if exact else known, patterns)
    except UserError as error:
        if exact:
            raise
        return (f"{error.problem}, according to the state; the fuzz job checks {target} itself ({error.remedy})",)
    return ()


def _patterns(inputs: Inputs, workspace: Path) -> list[str]:
    """Return the patterns of the input `settings`, else those of the settings file, which a pull request may change."""
    if "api" in inputs.settings.options or inputs.mode in ("pr", "bump"):
        return list(inputs.settings.options.get("api", ()))
    found: object = None
    with suppress(OSError, ValueError):
        text = (workspace / (inputs.settings.config or DEFAULT_FILE)).read_text(encoding="utf-8")
        found = tomllib.loads(text).get("api")
    return [str(each) for each in found] if isinstance(found, list) else []
