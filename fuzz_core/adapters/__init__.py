"""Libraries under test: one package each, the only places that import torch, tensorflow or jittor."""
