"""Whether two results of TensorFlow agree, by its own tolerances, in a process of the real library."""

from __future__ import annotations

import json
import subprocess
from math import inf
from pathlib import Path
from typing import Any

import pytest

import fuzz_core

PROGRAM = """
import json
import numpy as np
import tensorflow as tf
from fuzz_core.adapters.tensorflow.tensors import COMPARER

differences, error = COMPARER.differences, COMPARER.error

one = tf.constant([1.0, 2.0])
nan, far = tf.constant([1.0, float("nan")]), tf.constant([1.0, 2.1])
ragged = tf.ragged.constant([[1.0], [2.0, 3.0]])
sparse = tf.sparse.from_dense(one)
# TensorFlow makes it, and numpy has no array of its shape.
vast = tf.reshape(tf.zeros([0]), [2**56, 0, 2**10])
agree = {
    "itself": (one, one),
    "within": (one, one * (1 + 5e-7)),
    "half": (tf.cast(one, tf.float16), tf.cast(one, tf.float16) * 1.001),
    "nan": (nan, nan),
    "strings": (tf.constant(["a"]), tf.constant(["a"])),
    "nothing": (None, None),
    "what no kernel computes": ((one, 1, True), (one, 2, False)),
    "array and tensor": (one.numpy(), one),
    "ragged": (ragged, ragged + 1e-7),
    "sparse": (sparse, sparse),
    "nested": ({"a": [one, (nan, 3)]}, {"a": [one, (nan, 3)]}),
    "signs of vectors": ((one, far), (one, -far)),
    "objects": (object(), object()),
    "keys of two types": ({1: one, "a": one}, {"a": one, 1: one}),
    "what a traced function does not know": (one.numpy(), None),
    "what a traced function makes a tensor of": ((one, 1), (one, tf.constant(1))),
    "variant": (tf.data.Dataset.range(2), tf.data.Dataset.range(2)),
    "empty": (tf.zeros([0]), tf.zeros([0])),
    "impossible size": (vast, vast),
}
differ = {
    "beyond": (one, far),
    "nan": (one, nan),
    "shape": (one, tf.constant([[1.0, 2.0]])),
    "dtype": (one, tf.cast(one, tf.float64)),
    "integers": (tf.constant([1, 2]), tf.constant([1, 3])),
    "booleans": (tf.constant([True]), tf.constant([False])),
    "strings": (tf.constant(["a"]), tf.constant(["b"])),
    "rows": (ragged, tf.ragged.constant([[1.0, 2.0], [3.0]])),
    "sparse": (sparse, sparse * 2),
    "one sign": (one, -one),
    "count": ([one], [one, one]),
    "list": ((one, one), [one, one]),
    "keys": ({"a": one}, {"b": one}),
    "keys of two types": ({1: one, "a": one}, {1: one, "a": far}),
    "nothing": (one, None),
    "split otherwise": ([one, (one, one)], [(one, one), one]),
}
wide = tf.constant([1.0, 1e300], tf.float64)
finite = {
    "overflow that does not fit": (tf.constant([1.0, np.inf], tf.float32), wide),
    "lost": (tf.constant([1.0, np.inf], tf.float32), tf.constant([1.0, 2.0], tf.float64)),
    "both": (nan, tf.cast(nan, tf.float64)),
    "integers": (tf.constant([1]), tf.constant([1.0], tf.float64)),
}
print(json.dumps({
    "agree": {name: differences(*pair, "values") for name, pair in agree.items()},
    "differ": {name: differences(*pair, "values") for name, pair in differ.items()},
    "finite": {name: differences(*pair, "finite") for name, pair in finite.items()},
    "shape": [differences(one, far, "shape"), differences(one, tf.cast(one, tf.float64), "shape")],
    "gradient": [
        differences([1.0, np.nan, None], [1.0005, np.nan, 2.0], "gradient"),
        differences([1.0, None], [1.1, 3.0], "gradient"),
    ],
    "error": [
        error(tf.cast(one, tf.float64), one), error(tf.constant([1.0, 2.0], tf.float64), one + 2e-6),
        error(tf.constant([1.0], tf.float64), nan[1:]), error(tf.constant([1.0]), tf.constant([[1.0]])),
        error(tf.constant([3]), tf.constant([4])), error(tf.constant([1e38], tf.float64), tf.constant([np.inf])),
        error(tf.constant([2**31 - 1]), tf.constant([-(2**31)])),
        error(tf.constant([1.0, 2.0], tf.float64), tf.cast(one, tf.float16) * 1.001), error(None, None),
    ],
    "dtypes": [
        each.dtype.name for each in COMPARER.arrays((one, [tf.constant(1)], 3, tf.Variable(True))) if each is not None
    ],
}))
"""


@pytest.fixture(scope="module")
def seen(tensorflow_python: Path) -> dict[str, Any]:
    """Results of the program, from one process for all tests: importing the library takes seconds."""
    env = {"PYTHONPATH": str(Path(fuzz_core.__file__).parents[1]), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([tensorflow_python, "-c", PROGRAM], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.real
def test_results_agree_within_the_tolerances_of_the_dtype(seen: dict[str, Any]) -> None:
    assert {name: text for name, text in seen["agree"].items() if text} == {}


@pytest.mark.real
def test_what_differs_is_told(seen: dict[str, Any]) -> None:
    assert [name for name, text in seen["differ"].items() if not text] == []
    assert seen["differ"]["beyond"].startswith("1 of 2 elements differ\nfirst at (1,)")
    assert seen["differ"]["shape"] == "shape is (1, 2), expected (2,)"
    assert seen["differ"]["count"] == "2 results against 1"
    assert seen["differ"]["list"] == "type of result is list, expected tuple"
    assert seen["differ"]["keys"] == "keys is ['b'], expected ['a']"
    assert seen["differ"]["dtype"] == "dtype is float64, expected float32"


@pytest.mark.real
def test_only_numbers_that_would_fit_are_missed(seen: dict[str, Any]) -> None:
    assert {name for name, text in seen["finite"].items() if text} == {"lost"}
    assert seen["finite"]["lost"] == "not finite in 1 of 2 elements"


@pytest.mark.real
def test_shapes_and_gradients_have_rules_of_their_own(seen: dict[str, Any]) -> None:
    assert seen["shape"] == ["", "dtype is float64, expected float32"]
    assert seen["gradient"][0] == ""
    assert seen["gradient"][1].startswith("derivative by tensor 0 is not equal")


@pytest.mark.real
def test_errors_are_in_units_of_the_tolerance(seen: dict[str, Any]) -> None:
    exact, some, *infinite, overflow, saturated, half, nothing = seen["error"]
    assert exact == 0.0
    assert 0.5 < some < 1.5
    assert infinite == [inf, inf, inf]
    assert (overflow, saturated, nothing) == (0.0, 0.0, 0.0)
    assert 0.0 < half < 1.0


@pytest.mark.real
def test_dtypes_of_tensors_and_variables(seen: dict[str, Any]) -> None:
    assert seen["dtypes"] == ["float32", "int32", "bool"]
