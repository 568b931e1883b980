"""Libraries under test: one package each, the only places that import torch, tensorflow or jittor.

Modules `nightfuzz_LIBRARY` in the folders of NIGHTFUZZ_PATH are further ones.
"""

import os
import sys

ADAPTERS_VARIABLE = "NIGHTFUZZ_PATH"
sys.path += [each for each in os.environ.get(ADAPTERS_VARIABLE, "").split(os.pathsep) if each not in ("", *sys.path)]
