"""Profile of TensorFlow: names that its examples use without importing them, its issue form, facts of a build."""

from __future__ import annotations

from datetime import date

from fuzz_core.adapters.library import Disclosure, Profile, RulePage, assigned, bound

_IMPORTS = """
import tensorflow as tf
import tensorflow
import keras
from keras import Model, Sequential, Input, backend as K, activations, applications, backend, callbacks, constraints
from keras import datasets, distribution, dtype_policies, initializers, layers, losses, metrics, mixed_precision
from keras import models, ops, optimizers, preprocessing, quantizers, regularizers, saving, utils
import tensorflow as tfl
import tensorflow.compat.v1 as v1
from tensorflow.experimental import dtensor
from tensorflow.compiler.tf2xla.python import xla
"""
_STAND_INS = """
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4, activation='softmax')])
optimizer = opt = keras.optimizers.SGD(learning_rate=0.1)
loss_fn = keras.losses.MeanSquaredError()
strategy = tf.distribute.get_strategy()
dataset = ds = tf.data.Dataset.from_tensor_slices((tf.ones([4, 4]), tf.ones([4, 4]))).batch(2)
y_true = tf.one_hot([1, 2], 4)
y_pred = tf.nn.softmax(tf.reshape(tf.range(8.), [2, 4]))
labels = tf.one_hot([1, 2], 4)
logits = tf.reshape(tf.range(8.), [2, 4])
indices = ids = tf.constant([0, 1])
weights = tf.ones([4, 4])
updates = tf.ones([2, 4])
params = tf.reshape(tf.range(16.), [4, 4])
matrix = A = tf.eye(4) + tf.ones([4, 4])
images = tf.ones([2, 8, 8, 3])
image = tf.ones([8, 8, 3])
boxes = tf.constant([[0., 0., 1., 1.], [0., 0., 0.5, 0.5]])
scores = tf.constant([0.9, 0.8])
max_output_size = 2
iou_threshold = 0.5
shape = (2, 4)
scalar = tf.constant(2.)
x_train = y_train = inputs = outputs = features = data = X = Y = tf.ones([2, 4])
x = y = z = a = b = c = t = w = g = input = tensor = values = tf.reshape(tf.range(1., 9.), [2, 4])
"""
_FORM = (
    "Issue type",
    "Have you reproduced the bug with TensorFlow Nightly?",
    "Source",
    "TensorFlow version",
    "Custom code",
    "OS platform and distribution",
    "Mobile device",
    "Python version",
    "Bazel version",
    "GCC/compiler version",
    "CUDA/cuDNN version",
    "GPU model and memory",
    "Current behavior?",
    "Standalone code to reproduce the issue",
    "Relevant log output",
)
_FACTS = """
def describe(tf):
    found = tf.config.list_physical_devices("GPU")
    names = [tf.config.experimental.get_device_details(gpu).get("device_name", gpu.name) for gpu in found]
    cuda = tf.sysconfig.get_build_info().get("cuda_version")
    return {"commit": tf.version.GIT_VERSION, "cuda": cuda, "devices": gpus(names)}

def versions(tf):
    build = tf.sysconfig.get_build_info()
    known = [name + " " + str(build[key]) for name, key in (("CUDA", "cuda_version"), ("cuDNN", "cudnn_version"))
             if build.get(key)]
    return {"cuda": ", ".join(known), "compiler": tf.version.COMPILER_VERSION}
"""
_READ = date(2026, 11, 25)
_SECURITY = RulePage("https://github.com/tensorflow/tensorflow/blob/master/SECURITY.md", _READ)
_FUZZERS = RulePage("https://github.com/tensorflow/tensorflow/issues/98217", _READ)
_TENSORFLOW = Disclosure(
    "tensorflow/tensorflow",
    accepts=True,
    why="a bug that only tf.raw_ops reaches is not typical use; explain more than the output of the fuzzer; always use "
    "the latest version; issues that are filed automatically count as spam",
    sources={
        "accepts": _FUZZERS,
        "why": _FUZZERS,
        "newest_only": _FUZZERS,
        "memory_errors": _SECURITY,
        "refused_apis": _SECURITY,
        "security": _SECURITY,
    },
    newest_only=True,
    refused_apis=("tf.raw_ops.*", "tensorflow.raw_ops.*"),
    security="https://g.co/vulnz",
)
_KERAS_SECURITY = RulePage("https://github.com/keras-team/keras/blob/master/SECURITY.md", _READ)
_KERAS_FORM = RulePage("https://github.com/keras-team/keras/blob/master/.github/ISSUE_TEMPLATE/00-bug-issue.md", _READ)
_KERAS = Disclosure(
    "keras-team/keras",
    accepts=False,
    why="the tracker has no rule about reports of fuzzers: ask there first",
    sources={
        "accepts": _KERAS_FORM,
        "why": _KERAS_FORM,
        "labels": _KERAS_FORM,
        "memory_errors": _KERAS_SECURITY,
        "security": _KERAS_SECURITY,
    },
    labels={"any": ("type:bug",)},
    security="https://github.com/keras-team/keras/security/advisories/new",
)
PROFILE = Profile(
    bound(_IMPORTS),
    assigned(_STAND_INS),
    "tf.constant",
    "tf.ones",
    _FORM,
    {"tf": _TENSORFLOW, "tf.keras": _KERAS, "keras": _KERAS},
    _FACTS,
)
