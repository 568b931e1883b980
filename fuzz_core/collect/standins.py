"""Values for names that examples take for granted: a `model`, an `optimizer`, a square matrix `A`.

An example of an optimiser says `SGD(model.parameters(), lr=0.1)` and never what `model` is. Any small model makes it a
valid call, so such names are given one, by convention of their use across a library and not for single apis. An
expression may use other names of its table.
"""

from __future__ import annotations

_ANY = {
    "true": "True",
    "false": "False",
    "null": "None",
    "batch_size": "2",
    "num_classes": "4",
    "num_epochs": "2",
    "epochs": "2",
    "num_steps": "2",
    "num_layers": "2",
    "num_heads": "2",
    "input_size": "8",
    "hidden_size": "8",
    "embed_dim": "8",
    "learning_rate": "0.1",
    "initial_learning_rate": "0.1",
    "axis": "0",
    "dim": "0",
    "k": "2",
    "n": "3",
    "m": "3",
    "N": "4",
    "i": "0",
    "j": "0",
}

_TORCH = {
    "model": "torch.nn.Linear(4, 4)",
    "net": "torch.nn.Linear(4, 4)",
    "network": "torch.nn.Linear(4, 4)",
    "module": "torch.nn.Linear(4, 4)",
    "my_model": "torch.nn.Linear(4, 4)",
    "Net": "lambda: torch.nn.Linear(4, 4)",
    "optimizer": "torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)",
    "opt": "torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)",
    "scheduler": "torch.optim.lr_scheduler.StepLR(optimizer, 2)",
    "loss_fn": "torch.nn.MSELoss()",
    "criterion": "torch.nn.MSELoss()",
    "loss": "torch.rand(4, requires_grad=True).sum()",
    "train": "lambda *args, **kwargs: None",
    "validate": "lambda *args, **kwargs: 0.5",
    "train_batch": "lambda *args, **kwargs: 0.5",
    "data": "[(torch.rand(2, 4), torch.rand(2, 4))]",
    "dataset": "[(torch.rand(2, 4), torch.rand(2, 4))]",
    "data_loader": "[(torch.rand(2, 4), torch.rand(2, 4))]",
    "dataloader": "[(torch.rand(2, 4), torch.rand(2, 4))]",
    "loader": "[(torch.rand(2, 4), torch.rand(2, 4))]",
    "device": "torch.device('cpu')",
    "query": "torch.rand(4, 2, 8)",
    "key": "torch.rand(4, 2, 8)",
    "value": "torch.rand(4, 2, 8)",
    "A": "torch.rand(4, 4) + 4 * torch.eye(4)",
    "B": "torch.rand(4, 4)",
} | dict.fromkeys(("x", "y", "z", "X", "input", "inputs", "output", "target", "labels"), "torch.rand(4, 4)")
_TORCH |= dict.fromkeys(("a", "b", "c", "t", "w", "tensor", "weights"), "torch.rand(4) + 0.5")

_TENSORFLOW = {
    "model": "keras.Sequential([keras.Input((4,)), keras.layers.Dense(4, activation='softmax')])",
    "optimizer": "keras.optimizers.SGD(learning_rate=0.1)",
    "opt": "keras.optimizers.SGD(learning_rate=0.1)",
    "loss_fn": "keras.losses.MeanSquaredError()",
    "strategy": "tf.distribute.get_strategy()",
    "dataset": "tf.data.Dataset.from_tensor_slices((tf.ones([4, 4]), tf.ones([4, 4]))).batch(2)",
    "ds": "tf.data.Dataset.from_tensor_slices((tf.ones([4, 4]), tf.ones([4, 4]))).batch(2)",
    "y_true": "tf.one_hot([1, 2], 4)",
    "y_pred": "tf.nn.softmax(tf.reshape(tf.range(8.), [2, 4]))",
    "labels": "tf.one_hot([1, 2], 4)",
    "logits": "tf.reshape(tf.range(8.), [2, 4])",
    "indices": "tf.constant([0, 1])",
    "ids": "tf.constant([0, 1])",
    "weights": "tf.ones([4, 4])",
    "updates": "tf.ones([2, 4])",
    "params": "tf.reshape(tf.range(16.), [4, 4])",
    "matrix": "tf.eye(4) + tf.ones([4, 4])",
    "A": "tf.eye(4) + tf.ones([4, 4])",
    "images": "tf.ones([2, 8, 8, 3])",
    "image": "tf.ones([8, 8, 3])",
    "boxes": "tf.constant([[0., 0., 1., 1.], [0., 0., 0.5, 0.5]])",
    "scores": "tf.constant([0.9, 0.8])",
    "max_output_size": "2",
    "iou_threshold": "0.5",
    "shape": "(2, 4)",
    "scalar": "tf.constant(2.)",
} | dict.fromkeys(("x_train", "y_train", "inputs", "outputs", "features", "data", "X", "Y"), "tf.ones([2, 4])")
_TENSORFLOW |= dict.fromkeys(
    ("x", "y", "z", "a", "b", "c", "t", "w", "g", "input", "tensor", "values"), "tf.reshape(tf.range(1., 9.), [2, 4])"
)

_JITTOR = {
    "optimizer": "jt.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)",
    "opt": "jt.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)",
    "scheduler": "jt.lr_scheduler.StepLR(optimizer, 2)",
    "loss": "model(jt.rand(2, 4)).sqr().mean()",
    "weight": "jt.rand(4, 4)",
    "index": "jt.array([0, 1])",
    "mask": "jt.rand(4, 4) > 0.5",
    "shape": "(4, 4)",
} | dict.fromkeys(("model", "net", "network", "module", "layer"), "jt.nn.Linear(4, 4)")
_JITTOR |= dict.fromkeys(("Model", "Net"), "lambda: jt.nn.Linear(4, 4)")
_JITTOR |= dict.fromkeys(("loss_fn", "criterion", "critic", "loss_function"), "jt.nn.MSELoss()")
_JITTOR |= dict.fromkeys(("data", "dataset", "dataloader", "train_loader"), "[(jt.rand(2, 4), jt.rand(2, 4))]")
_JITTOR |= dict.fromkeys(("img", "image", "pic"), "Image.new('RGB', (16, 16))")
_JITTOR |= dict.fromkeys(("x", "y", "z", "a", "b", "c", "input", "inputs", "output", "target", "var"), "jt.rand(4, 4)")

_OWN = {"torch": _TORCH, "tensorflow": _TENSORFLOW, "jittor": _JITTOR}


def stand_ins(library: str) -> dict[str, str]:
    """The expression for each name that examples of a library take for granted."""
    return _ANY | _OWN.get(library, {})
