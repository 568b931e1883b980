"""Rows of numbers in three classes, by one sequence of layers."""

import jittor as jt
from jittor import nn

jt.set_global_seed(0)
rows = jt.rand(40, 12)
labels = jt.randint(0, 3, (40,))

model = nn.Sequential(
    nn.Linear(12, 16),
    # Of another rank than what arrives.
    # misfit: nn.Conv2d(16, 8, 3)
    # One dimension less, which the layers let pass and the loss does not.
    # training configuration: nn.Flatten(0)
    # Refused when it is made.
    # refused: nn.Dropout(1.5)
    # Random, so that no two runs lose the same.
    # ok: nn.Dropout(0.5)
    nn.Linear(16, 8),
    nn.Linear(8, 3),
)

loss = nn.CrossEntropyLoss()(model(rows), labels)
jt.optim.SGD(model.parameters(), lr=0.1).step(loss)
print("loss", loss.item())
