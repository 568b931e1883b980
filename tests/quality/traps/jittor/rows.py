"""Rows of numbers in three classes, by one sequence of layers."""

import jittor as jt
from jittor import nn

jt.set_global_seed(0)
rows = jt.rand(40, 12)
labels = jt.randint(0, 3, (40,))

model = nn.Sequential(
    nn.Linear(12, 16),
    # The layer takes another rank than arrives.
    # misfit: nn.Conv2d(16, 8, 3)
    # The result has one dimension less: the layers accept it and the loss does not.
    # training configuration: nn.Flatten(0)
    # The library refuses the layer when it is made.
    # refused: nn.Dropout(1.5)
    # Random: two runs drop different elements.
    # ok: nn.Dropout(0.5)
    nn.Linear(16, 8),
    nn.Linear(8, 3),
)

loss = nn.CrossEntropyLoss()(model(rows), labels)
jt.optim.SGD(model.parameters(), lr=0.1).step(loss)
print("loss", loss.item())
