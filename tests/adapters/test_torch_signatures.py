"""Signatures of PyTorch's apis, and what a refusal says of this machine, asked of the real library."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import fuzz_core

pytestmark = pytest.mark.real


def printed(python: Path, script: str) -> str:
    """Return what a script prints in the library's interpreter, with the adapter at hand."""
    start = (
        "import torch\nfrom fuzz_core.adapters.base import adapter_of\nadapter = adapter_of('torch')\nadapter.load()\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(fuzz_core.__file__).parents[1])}
    done = subprocess.run([python, "-c", start + script], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("api", ["torch.nn.AdaptiveLogSoftmaxWithLoss", "torch.ao.nn.quantized.LayerNorm"])
def test_a_class_gets_no_other_device_than_the_cpu(torch_python: Path, api: str) -> None:
    script = f"""
[entry] = [each for each in adapter.listed() if each.api.name == {api!r}]
print([each.choices for form in adapter.signatures(entry) for each in form.parameters if each.name == "device"])
"""
    assert printed(torch_python, script) == "[(Ref(kind='device', name='cpu'),)]"


@pytest.mark.parametrize(
    ("call", "lack"),
    [
        # The refusal of a device's name lists all devices.
        ("torch.zeros(2, device='x')", ""),
        ("raise AssertionError('Torch not compiled with CUDA enabled')", "needs a CUDA device"),
        ("torch.eig(torch.eye(2))", "was removed from the library: only its name is left"),
        ("torch.ao.nn.quantized.LeakyReLU(1.0, 0)(torch.rand(2))", ""),
    ],
)
def test_what_a_refusal_says_of_the_machine(torch_python: Path, call: str, lack: str) -> None:
    script = f"""
try:
    {call}
except Exception as error:
    print(repr(adapter.missing_requirement(f"{{type(error).__name__}}: {{error}}")))
"""
    assert printed(torch_python, script) == repr(lack)
