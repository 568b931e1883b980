"""Reinforcement learning on a small corridor: an actor-critic with discrete steps, and Q-learning beside it."""

import copy
import math

import jittor as jt
from jittor import distributions, init, nn

CELLS, ACTIONS, HORIZON = 5, 3, 4


class ActorCritic(nn.Module):
    """One trunk, a policy over discrete actions and a value."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(CELLS, width), nn.Tanh())
        self.policy, self.value = nn.Linear(width, ACTIONS), nn.Linear(width, 1)
        init.trunc_normal_(self.policy.weight, mean=0.0, std=0.02, a=-0.04, b=0.04)

    def execute(self, state: jt.Var) -> tuple[jt.Var, jt.Var]:
        x = self.trunk(state)
        return self.policy(x), self.value(x).squeeze(-1)


def observe(position: jt.Var) -> jt.Var:
    return nn.one_hot(position, CELLS).float32()


def move(position: jt.Var, action: jt.Var) -> tuple[jt.Var, jt.Var]:
    """Steps left, stays or steps right; the reward is 1 at the right end and -0.1 elsewhere."""
    position = jt.clamp(position + action - 1, 0, CELLS - 1)
    return position, jt.ternary(position == CELLS - 1, jt.full(position.shape, 1.0), jt.full(position.shape, -0.1))


def rollout(agent: ActorCritic, count: int) -> dict[str, jt.Var]:
    """Plays several corridors at once; everything is (HORIZON, count) but the states."""
    position, seen = jt.zeros((count,), dtype="int32"), {"state": [], "action": [], "reward": []}
    with jt.no_grad():
        for _ in range(HORIZON):
            logits, _ = agent(observe(position))
            action = distributions.Categorical(probs=nn.softmax(logits, dim=-1)).sample().int32()
            seen["state"].append(observe(position))
            position, reward = move(position, jt.clamp(action, 0, ACTIONS - 1))
            seen["action"].append(action)
            seen["reward"].append(reward)
    return {name: jt.stack(values, dim=0) for name, values in seen.items()}


def returns(reward: jt.Var, discount: float) -> jt.Var:
    """Discounted sums of all later rewards, by sums in reversed order."""
    weight = jt.pow(jt.full((reward.shape[0], 1), discount), jt.arange(reward.shape[0]).float32().unsqueeze(1))
    return jt.flip(jt.cumsum(jt.flip(reward * weight, 0), dim=0), 0) / weight


def policy_loss(agent: ActorCritic, played: dict[str, jt.Var]) -> jt.Var:
    """The clipped surrogate of the policy, the error of the value and a bonus for undecided policies."""
    logits, value = agent(played["state"].reshape(-1, CELLS))
    chances = nn.log_softmax(logits, dim=1)
    chosen = chances.gather(1, played["action"].reshape(-1, 1)).squeeze(1)
    gain = returns(played["reward"], 0.9).reshape(-1)
    advantage = (gain - value).detach()
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
    ratio = jt.exp(chosen - chosen.detach())
    surrogate = jt.minimum(ratio * advantage, jt.clamp(ratio, 0.8, 1.2) * advantage)
    entropy = -(chances.exp() * chances).sum(1).mean()
    return nn.smooth_l1_loss(gain, value) - surrogate.mean() - 0.01 * entropy


def q_loss(q_net: nn.Module, q_target: nn.Module, played: dict[str, jt.Var]) -> jt.Var:
    """The error of the best value one step later, with the slow copy's estimate."""
    state, later = played["state"][:-1], played["state"][1:]
    values = q_net(state.reshape(-1, CELLS)).gather(1, played["action"][:-1].reshape(-1, 1)).squeeze(1)
    best = q_target(later.reshape(-1, CELLS)).max(1)
    return nn.mse_loss(values, (played["reward"][:-1].reshape(-1) + 0.9 * best).detach())


def main() -> None:
    jt.set_global_seed(10)
    agent = ActorCritic()
    q_net = nn.Sequential(nn.Linear(CELLS, 8), nn.ReLU(), nn.Linear(8, ACTIONS))
    q_target = copy.deepcopy(q_net)
    optimizer = jt.optim.Adam(agent.parameters() + q_net.parameters(), lr=0.01)
    schedule = jt.optim.LambdaLR(optimizer, lambda epoch: 0.9**epoch)
    for _ in range(2):
        played = rollout(agent, 4)
        loss = policy_loss(agent, played) + q_loss(q_net, q_target, played)
        optimizer.step(loss)
        schedule.step()
        q_target.load_state_dict(q_net.state_dict())
        assert math.isfinite(loss.item())
    chances = nn.softmax(q_net(jt.init.eye((CELLS, CELLS))), dim=1)
    policy, even = distributions.Categorical(probs=chances), distributions.Categorical(probs=jt.ones((CELLS, ACTIONS)))
    gap = distributions.kl_divergence(policy, even)
    spread = distributions.OneHotCategorical(probs=chances).entropy()
    assert gap.shape == (CELLS,) and bool(jt.isfinite(spread).all()) and abs(chances.sum().item() - CELLS) < 1e-3


if __name__ == "__main__":
    main()
