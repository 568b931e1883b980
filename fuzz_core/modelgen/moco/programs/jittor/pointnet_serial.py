"""PointNet on stock prices, 20 days of 6 figures, as sequences of layers that a function connects."""

import jittor as jt
from jittor import nn

TRAINING, TESTING, BATCH, CLASSES = 100, 20, 100, 2
# 64 makes the model as wide as the published one.
WIDTH = 8

jt.set_global_seed(0)
days = jt.randn(TRAINING + TESTING, 6, 20)
labels = jt.randint(0, CLASSES, (TRAINING + TESTING,))

points = nn.Sequential(
    nn.Conv1d(6, WIDTH, 1),
    nn.BatchNorm1d(WIDTH),
    nn.ReLU(),
    nn.Conv1d(WIDTH, 2 * WIDTH, 1),
    nn.BatchNorm1d(2 * WIDTH),
    nn.ReLU(),
    nn.Conv1d(2 * WIDTH, 32 * WIDTH, 1),
    nn.BatchNorm1d(32 * WIDTH),
)
tail = nn.Sequential(
    nn.Linear(32 * WIDTH, 16 * WIDTH),
    nn.BatchNorm1d(16 * WIDTH),
    nn.ReLU(),
    nn.Linear(16 * WIDTH, 8 * WIDTH),
    nn.ReLU(),
    nn.Dropout(0.3),
    nn.Flatten(),
    nn.Linear(8 * WIDTH, CLASSES),
)
parts = nn.ModuleList([points, tail])


def model(x: jt.Var) -> jt.Var:
    """From days (n, 6, 20) to logits."""
    x = points(x)
    x = jt.max(x, dim=2)
    return tail(x)


criterion = nn.CrossEntropyLoss()
optimizer = jt.optim.Adam(parts.parameters(), lr=1e-3)
parts.train()
for start in range(0, TRAINING, BATCH):
    loss = criterion(model(days[start : start + BATCH]), labels[start : start + BATCH])
    optimizer.step(loss)

parts.eval()
with jt.no_grad():
    loss = criterion(model(days[TRAINING:]), labels[TRAINING:])
print("loss", loss.item())
