"""Settings of each engine beyond its paper, field by field: the values of the engine and those of `--paper`.

The tables of deviations in `docs/explanation/{freefuzz,moco,gandalf}.md` have a row for each field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fuzz_core.modelgen.gandalf import generation as graphs
from fuzz_core.modelgen.moco.tree import TreeOptions
from fuzz_core.oracles.contract import ORACLES


@dataclass(frozen=True)
class FreeFuzzSettings:
    """The fuzz of single calls, after FreeFuzz (ICSE 2022)."""

    schedule: str = "bandit"  # which api is next; the paper has as many mutants of each
    corpus: bool = True  # whether mutants of what showed something new are made, besides those of traced calls
    further_rules: bool = True  # mutation rules that are not in tables 1 and 2
    few_mutations: bool = True  # whether few arguments are mutated most of the time, and not a uniform number
    further_modes: bool = True  # modes that are not another device or backend
    sweep: bool = True  # whether each argument takes each boundary class of its type first
    search: bool = True  # whether apis are fuzzed whose calls a search has found, and no seed of section 3.1
    oracles: tuple[str, ...] = tuple(ORACLES)  # those of section 3.4: crashes, wrong results and performance


@dataclass(frozen=True)
class MocoSettings:
    """The fuzz of model programs, after MoCo (2024)."""

    extreme_values: int = TreeOptions().times_ev  # extreme values of each block that works, beside the tree
    level_width: int = TreeOptions().widest  # how many nodes of a level go on, 0 for half of each class
    new_apis: float = TreeOptions().fresh  # how much likelier AR takes an api that the tree has not executed
    favoured_apis: float = TreeOptions().favoured  # how much likelier still some of these, others in each tree
    fitted_layers: float = TreeOptions().fitted  # how often a layer that does not fit gets inputs made for it
    same_check: int = TreeOptions().same_check  # how often a tree does the same BC, 0 for no limit
    assembled_negatives: bool = False  # whether a block that is to be refused is put into its program as well
    model_ranges: bool = False  # whether ranges that a language model read in documents take part in BC
    weighed_blocks: bool = False  # whether a block is repeated, to see whether it leaves memory behind
    further_modes: bool = True  # programs compiled, in double precision, and asked for missing gradients
    oracles: tuple[str, ...] = tuple(ORACLES)  # those that say which of the four kinds a bug is

    @property
    def growth(self) -> TreeOptions:
        """How trees grow."""
        return TreeOptions(
            times_ev=self.extreme_values,
            widest=self.level_width,
            fresh=self.new_apis,
            favoured=self.favoured_apis,
            fitted=self.fitted_layers,
            same_check=self.same_check,
        )


@dataclass(frozen=True)
class GandalfSettings:
    """The comparison of models, after Gandalf (TOSEM 2023)."""

    guidance: str = "novelty"  # who chooses operators
    kept_guidance: bool = True  # whether guidance goes on with what the last run has learnt
    rewarded_selections: bool = False  # whether each selection has the reward of equation 3, and not each graph one
    ordered: float = (
        graphs.GraphOptions().ordered
    )  # how often an operator follows by the order, and not by shapes alone
    binding_rules: bool = graphs.GraphOptions().binding  # whether nothing follows that no production rule names
    between_libraries: bool = False  # whether a relation compares one library with the others, too
    added_operators: bool = True  # whether operators stand beside a graph for relations that were asked least
    further_checks: bool = True  # row by row, compiled, trained, and losses of double precision

    @property
    def growth(self) -> graphs.GraphOptions:
        """How graphs grow."""
        return graphs.GraphOptions(ordered=self.ordered, binding=self.binding_rules)


class Paper(NamedTuple):
    """An engine by its own settings and by those of its paper.

    Attributes:
        fixed: user settings that the paper decides, each with the values that it knows; the first is its own.
    """

    title: str
    own: Any
    published: Any
    fixed: Mapping[str, Sequence[Any]]


FREEFUZZ = FreeFuzzSettings(
    schedule="uniform",
    corpus=False,
    further_rules=False,
    few_mutations=False,
    further_modes=False,
    sweep=False,
    search=False,
    oracles=("crash", "differential", "performance"),
)
MOCO = MocoSettings(
    extreme_values=0,
    level_width=0,
    new_apis=1.0,
    favoured_apis=1.0,
    fitted_layers=0.0,
    same_check=0,
    assembled_negatives=True,
    model_ranges=True,
    weighed_blocks=True,
    further_modes=False,
    oracles=("crash", "performance", "bounds", "leak"),
)
GANDALF = GandalfSettings(
    guidance="dqn",
    kept_guidance=False,
    rewarded_selections=True,
    ordered=1.0,
    binding_rules=True,
    between_libraries=True,
    added_operators=False,
    further_checks=False,
)
PAPERS = {
    "freefuzz": Paper(
        "FreeFuzz (ICSE 2022)",
        FreeFuzzSettings(),
        FREEFUZZ,
        {"schedule": [FREEFUZZ.schedule], "grow": [FREEFUZZ.corpus], "oracles": [list(FREEFUZZ.oracles)]},
    ),
    "moco": Paper("MoCo (2024)", MocoSettings(), MOCO, {"oracles": [list(MOCO.oracles)]}),
    "gandalf": Paper(
        "Gandalf (TOSEM 2023)",
        GandalfSettings(),
        GANDALF,
        # Section 5.4 compares DQN with these.
        {"guidance": [GANDALF.guidance, "random", "mcmc", "genetic", "q", "ddqn"]},
    ),
}
