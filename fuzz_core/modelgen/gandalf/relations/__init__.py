"""The 15 relations of table 4, by number."""

from fuzz_core.modelgen.gandalf.relations import formats, initialisation, settings
from fuzz_core.modelgen.gandalf.relations.contract import Relation

_CLASSES: tuple[type[Relation], ...] = (
    *(initialisation.SameWeights, initialisation.SameKernels, initialisation.SameBiases),
    *(formats.Images, formats.Sequences, formats.DeclaredFormat, formats.Floats, formats.Integers),
    *(settings.Together, settings.Multiplier, settings.Padded, settings.Boxes, settings.Momentum),
    *(settings.Affine, settings.Tracking),
)
RELATIONS: dict[int, Relation] = {each.number: each() for each in _CLASSES}
