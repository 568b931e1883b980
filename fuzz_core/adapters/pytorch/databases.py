"""Seeds from PyTorch's own test databases in its wheel: OpInfo and ModuleInfo samples, error inputs too."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from fuzz_core.adapters.pytorch.contents import Contents

_OPINFO = """
import itertools
import torch
from torch.testing._internal.common_methods_invocations import op_db

WANTED = {dtypes}
for op in [o for o in op_db if (o.name, o.variant_test_name) == {key!r}]:
    variants = [op.op, op.method_variant, op.inplace_variant, op.operator_variant, *(a.op for a in op.aliases)]
    supported = op.supported_dtypes("cpu")
    for dtype in [d for d in WANTED if d in supported]:
        differentiable = dtype.is_floating_point and op.supports_autograd
        samples = op.sample_inputs("cpu", dtype, requires_grad=differentiable)
        for sample in itertools.islice(samples, WANTED[dtype]):
            for variant in filter(None, variants):
                try:
                    variant(sample.input, *sample.args, **sample.kwargs)
                except Exception:
                    pass
    if op.error_inputs_func is not None:
        for error in op.error_inputs("cpu"):
            sample = error.sample_input
            try:
                op.op(sample.input, *sample.args, **sample.kwargs)
            except Exception:
                pass
"""

_MODULEINFO = """
import torch
from torch.testing._internal.common_modules import module_db

for info in [m for m in module_db if m.name == {name!r}]:
    for training in (True, False):
        for sample in info.module_inputs_func(info, "cpu", torch.float32, True, training):
            build, forward = sample.constructor_input, sample.forward_input
            try:
                module = info.module_cls(*build.args, **build.kwargs)
                if forward is not None:
                    module(*forward.args, **forward.kwargs)
            except Exception:
                pass
"""
# A program is a seed, and a seed is told by its text: so this says what the entry that it runs is made of.
_CONTENT = "# made from {content}\n"
# Samples per dtype: further ones of another dtype repeat shapes that mutation reaches by itself.
_DTYPES = "{torch.float32: 64, torch.complex64: 16, torch.int64: 16, torch.bool: 16, torch.bfloat16: 16}"


def programs() -> list[tuple[str, str]]:
    """(name, code) per database entry; empty where the wheel's test package or its needs are missing."""
    try:
        from torch.testing._internal.common_methods_invocations import op_db
        from torch.testing._internal.common_modules import module_db
    except ImportError:
        return []
    operators: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
    modules: defaultdict[str, list[Any]] = defaultdict(list)
    for op in op_db:
        entry = op.name, op.variant_test_name
        operators[entry] += [op.sample_inputs_func, op.error_inputs_func, *sorted(map(str, op.dtypes))]
    for info in module_db:
        modules[info.name].append(info.module_inputs_func)
    contents = Contents()
    return [
        (_title(key), _OPINFO.format(key=key, dtypes=_DTYPES) + _CONTENT.format(content=contents.digest(parts)))
        for key, parts in sorted(operators.items())
    ] + [
        (f"ModuleInfo {name}", _MODULEINFO.format(name=name) + _CONTENT.format(content=contents.digest(parts)))
        for name, parts in sorted(modules.items())
    ]


def _title(key: tuple[str, str]) -> str:
    name, variant = key
    return f"OpInfo {name}.{variant}" if variant else f"OpInfo {name}"
