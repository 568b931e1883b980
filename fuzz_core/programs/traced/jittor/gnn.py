"""Graph networks on a small ring with chords: convolution, attention over neighbours and pooling of the whole graph."""

import math

import jittor as jt
from jittor import nn

NODES, FEATURES, CLASSES = 6, 4, 2


def segment_sum(values: jt.Var, segments: jt.Var, count: int) -> jt.Var:
    """Adds up the rows (rows, features) that have the same segment number."""
    shape = [count, values.shape[1]]
    return values.reindex_reduce("add", shape, ["@e0(i0)", "i1"], extras=[segments])


def segment_softmax(scores: jt.Var, segments: jt.Var, count: int) -> jt.Var:
    """The softmax of scores (rows, 1) among those of the same segment."""
    top = scores.reindex_reduce("maximum", [count, 1], ["@e0(i0)", "i1"], extras=[segments])
    raised = jt.exp(scores - top[segments])
    return raised / segment_sum(raised, segments, count)[segments]


class GraphConv(nn.Module):
    """The mean over neighbours, scaled by degrees, and a linear layer."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs, bias=False)

    def execute(self, x: jt.Var, adjacency: jt.Var) -> jt.Var:
        scale = jt.pow(adjacency.sum(1, keepdims=True), -0.5)
        return nn.matmul(scale * adjacency * scale.transpose(), self.linear(x))


class GraphAttention(nn.Module):
    """Each node gathers from the nodes with an edge to it, by learned weights."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear, self.score = nn.Linear(inputs, outputs), nn.Linear(2 * outputs, 1)

    def execute(self, x: jt.Var, source: jt.Var, target: jt.Var) -> jt.Var:
        x = self.linear(x)
        pairs = jt.concat([x.getitem(source), x[target]], dim=1)
        weights = segment_softmax(nn.leaky_relu(self.score(pairs), 0.2), target, NODES)
        return segment_sum(weights * x[source], target, NODES)


class GraphNet(nn.Module):
    """Convolution, attention, and a class of each node that also sees the whole graph."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.conv, self.attention = GraphConv(FEATURES, width), GraphAttention(width, width)
        self.norm = nn.LayerNorm(width)
        self.pair = nn.Bilinear(width, width, CLASSES)

    def execute(self, x: jt.Var, adjacency: jt.Var, edges: jt.Var) -> jt.Var:
        x = self.norm(nn.relu(self.conv(x, adjacency)))
        x = x + nn.elu(self.attention(x, edges[0], edges[1]))
        whole = jt.max(x, 0, keepdims=True).broadcast(x.shape)
        return self.pair(x, whole)


def make_graph() -> tuple[jt.Var, jt.Var]:
    """A ring with one chord: edges (2, count) in both directions, and the adjacency with loops."""
    around = jt.arange(NODES)
    ring = jt.stack([around, (around + 1) % NODES], dim=0)
    edges = jt.concat([ring, jt.array([[0], [3]])], dim=1)
    edges = jt.concat([edges, jt.flip(edges, 0)], dim=1)
    adjacency = jt.zeros((NODES, NODES))
    adjacency[edges[0], edges[1]] = 1.0
    return edges, adjacency + jt.init.eye((NODES, NODES))


def distances(adjacency: jt.Var) -> jt.Var:
    """Steps between nodes, by powers of the adjacency matrix."""
    reached, steps = jt.init.eye(NODES).bool(), jt.zeros((NODES, NODES), "int32")
    for step in range(1, NODES):
        wider = jt.matmul(reached.float32(), adjacency) > 0
        steps = jt.where(jt.logical_and(wider, jt.logical_not(reached)), jt.full_like(steps, step), steps)
        reached = jt.logical_or(reached, wider)
    return steps


def main() -> None:
    jt.set_global_seed(6)
    edges, adjacency = make_graph()
    labels = (distances(adjacency)[0] > 1).int32()
    features = nn.one_hot(jt.array([0, 1, 2, 3, 0, 1]), FEATURES).float32() + 0.1 * jt.randn(NODES, FEATURES)
    model = GraphNet()
    optimizer = nn.Adam(model.parameters(), lr=0.02)
    for _ in range(3):
        loss = nn.cross_entropy_loss(model(features, adjacency, edges), labels)
        optimizer.step(loss)
        assert math.isfinite(loss.item())
    ones = jt.ones((edges.shape[1], 1))
    degree = jt.zeros((NODES, 1)).scatter_(0, edges[0].unsqueeze(1), ones, reduce="add")
    assert jt.all_equal(degree, adjacency.sum(1, keepdims=True) - 1.0) and degree.sum().item() == edges.shape[1]
    shifted = jt.zeros((NODES, 1))
    shifted.index_add_(0, jt.arange(NODES), degree)
    assert jt.all_equal(shifted, degree)
    gathered = jt.gather(features, 0, edges[0].unsqueeze(1).expand(edges.shape[1], FEATURES))
    assert (gathered - features[edges[0]]).abs().max().item() == 0


if __name__ == "__main__":
    main()
