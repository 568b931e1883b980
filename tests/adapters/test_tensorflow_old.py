"""The adapter on TensorFlow 2.12, whose Keras 2 has other names: the adapter must work with Keras 2 and Keras 3."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from fuzz_core.targets.record import list_targets

ROOT = Path(__file__).parent.parent.parent
SCRIPT = """
import json

from fuzz_core.adapters.tensorflow.adapter import TensorFlowAdapter

adapter = TensorFlowAdapter()
tf = adapter.load()
adapter.prepare()
adapter.reset(1)
models = adapter.models()
again = models.streams()
layer = tf.keras.layers.Dense(2)
layer(tf.ones((1, 3)))
again()
models.forget()
found = {
    "version": tf.__version__,
    "symbolic": isinstance(tf.keras.Input((3,)), models.symbolic),
    "eager": isinstance(tf.ones(3), models.symbolic),
    "weights": len([each for each in layer.weights if isinstance(each, models.weights)]),
    "layer": issubclass(tf.keras.layers.Dense, models.layer),
}
print(json.dumps(found))
"""


@pytest.fixture(scope="session")
def old_tensorflow_python() -> Path:
    """An interpreter with TensorFlow 2.12. The test does not download a second TensorFlow."""
    targets = [each for each in list_targets() if each.library == "tensorflow" and each.version.startswith("2.12.")]
    if not targets:
        pytest.skip("no TensorFlow 2.12 here: `nightfuzz pull tensorflow-cpu==2.12.0`")
    return Path(targets[0].python)


@pytest.mark.parametrize(("python", "version"), [("old_tensorflow_python", "2.12"), ("tensorflow_python", "2.2")])
def test_the_adapter_runs_models_of_both(python: str, version: str, request: pytest.FixtureRequest) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    interpreter = request.getfixturevalue(python)
    done = subprocess.run([interpreter, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.pop("version").startswith(version)
    assert found == {"symbolic": True, "eager": False, "weights": 2, "layer": True}
