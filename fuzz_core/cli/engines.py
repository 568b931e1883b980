"""The options of each engine by the settings of the command line, with `--paper` those of its paper."""

from __future__ import annotations

from typing import Any

from fuzz_core.campaign.fuzz import FuzzOptions
from fuzz_core.campaign.gandalf.figures import GandalfOptions
from fuzz_core.campaign.moco.plot import MocoOptions
from fuzz_core.campaign.papers import PAPERS, FreeFuzzSettings, GandalfSettings, MocoSettings
from fuzz_core.cli.settings import Settings
from fuzz_core.ir.errors import UserError
from fuzz_core.mutation.contract import OWN_KINDS


def check_paper(settings: Settings) -> None:
    """Raise UserError for `--paper` with an engine without one, and with a setting that the paper decides."""
    if not settings.paper:
        return
    if settings.engine not in PAPERS:
        raise UserError(
            f"--paper: the engine {settings.engine!r} follows no paper",
            "add --engine freefuzz, --engine moco or --engine gandalf",
        )
    paper = PAPERS[settings.engine]
    for name, allowed in paper.fixed.items():
        value = getattr(settings, name)
        if name in settings.model_fields_set and value not in allowed:
            raise UserError(
                f"--paper: {name} is {value!r}, which {paper.title} does not have",
                f"leave out {name}, or --paper; the paper has {', '.join(map(str, allowed))}",
            )


def calls_options(settings: Settings) -> FuzzOptions:
    """Return how single calls are fuzzed."""
    does: FreeFuzzSettings = _does("freefuzz", settings)
    return FuzzOptions(
        tests=settings.tests_count,
        patterns=settings.api,
        disabled=[*settings.disable, *([] if does.further_rules else OWN_KINDS)],
        oracles=does.oracles if settings.paper else settings.oracles,
        timeout=settings.timeout,
        schedule=does.schedule if settings.paper else settings.schedule,
        grow=does.corpus and settings.grow,
        few=does.few_mutations,
        devices=not does.further_modes,
        sweep=does.sweep,
        search=does.search,
    )


def trees_options(settings: Settings, seed: int) -> MocoOptions:
    """Return how model programs are fuzzed.

    Args:
        seed: of the random streams.
    """
    does: MocoSettings = _does("moco", settings)
    return MocoOptions(
        nodes=settings.tests_count,
        seed=seed,
        oracles=does.oracles if settings.paper else settings.oracles,
        timeout=settings.timeout,
        growth=does.growth,
        assembled_negatives=does.assembled_negatives,
        model_ranges=does.model_ranges,
        weighed_blocks=does.weighed_blocks,
        further_modes=does.further_modes,
    )


def graphs_options(settings: Settings) -> GandalfOptions:
    """Return how graphs are made and compared."""
    does: GandalfSettings = _does("gandalf", settings)
    beta, gamma, delta = settings.reward
    return GandalfOptions(
        graphs=settings.tests_count,
        domains=settings.domain,
        models=settings.models,
        growth=does.growth,
        guidance=settings.guidance if "guidance" in settings.model_fields_set else does.guidance,
        beta=beta,
        gamma=gamma,
        delta=delta,
        kept_guidance=does.kept_guidance,
        rewarded_selections=does.rewarded_selections,
        between_libraries=does.between_libraries,
        added_operators=does.added_operators,
        further_checks=does.further_checks,
    )


def _does(engine: str, settings: Settings) -> Any:
    paper = PAPERS[engine]
    return paper.published if settings.paper else paper.own
