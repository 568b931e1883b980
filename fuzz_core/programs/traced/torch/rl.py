"""Reinforcement learning on a small corridor: an actor-critic with discrete steps, and soft Q-learning beside it."""

import copy
import math

import torch
import torch.distributions as D
import torch.nn as nn
import torch.nn.functional as F

CELLS, ACTIONS, HORIZON = 6, 3, 8


class ActorCritic(nn.Module):
    """One trunk, a policy over discrete actions, a Gaussian over the effort and a value."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(CELLS, width), nn.Tanh())
        self.policy = nn.Linear(width, ACTIONS)
        self.effort = nn.Linear(width, 2)
        self.value = nn.Linear(width, 1)
        nn.init.orthogonal_(self.policy.weight, gain=0.01)

    def forward(self, state: torch.Tensor) -> tuple[D.Categorical, D.Normal, torch.Tensor]:
        x = self.trunk(state)
        mean, spread = self.effort(x).unbind(-1)
        return D.Categorical(logits=self.policy(x)), D.Normal(mean, F.softplus(spread) + 0.1), self.value(x).squeeze(-1)


def observe(position: torch.Tensor) -> torch.Tensor:
    return F.one_hot(position, CELLS).to(torch.float32)


def move(position: torch.Tensor, action: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Steps left, stays or steps right; the reward is 1 at the right end and -0.1 elsewhere."""
    position = torch.clamp(position + action - 1, 0, CELLS - 1)
    return position, torch.where(position == CELLS - 1, 1.0, -0.1)


def rollout(agent: ActorCritic, count: int) -> dict[str, torch.Tensor]:
    """Plays `count` corridors side by side; every entry has the shape (HORIZON, count)."""
    position = torch.zeros(count, dtype=torch.long)
    steps = []
    for _ in range(HORIZON):
        with torch.no_grad():
            policy, effort, _ = agent(observe(position))
        action, push = policy.sample(), effort.rsample()
        following, reward = move(position, action)
        steps.append((position, action, push, reward - 0.01 * push.square(), policy.log_prob(action), following))
        position = following
    names = ("position", "action", "push", "reward", "log_prob", "following")
    return {name: torch.stack(column) for name, column in zip(names, zip(*steps, strict=True), strict=True)}


def discounted(rewards: torch.Tensor, gamma: float = 0.9) -> torch.Tensor:
    """Returns from each step on: a reversed cumulative sum of rewards that decay with time."""
    weights = gamma ** torch.arange(len(rewards), dtype=rewards.dtype).unsqueeze(1)
    return torch.flip(torch.cumsum(torch.flip(rewards * weights, [0]), dim=0), dims=(0,)) / weights


def policy_loss(agent: ActorCritic, played: dict[str, torch.Tensor]) -> torch.Tensor:
    """The clipped surrogate with a value loss and an entropy bonus."""
    policy, effort, value = agent(observe(played["position"]))
    returns = discounted(played["reward"])
    deviation, mean = torch.std_mean(returns - value.detach(), dim=None, correction=1)
    advantage = (returns - value.detach() - mean) / deviation.clamp(min=1e-3)
    ratio = torch.exp(policy.log_prob(played["action"]) - played["log_prob"])
    surrogate = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
    drift = D.kl_divergence(effort, D.Normal(torch.tensor(0.0), torch.tensor(1.0))).mean()
    return F.mse_loss(value, returns) - surrogate - 0.01 * policy.entropy().mean() + 0.01 * drift


def q_loss(net: nn.Module, target: nn.Module, played: dict[str, torch.Tensor], temperature: float) -> torch.Tensor:
    """The soft Bellman error of the actions that were taken."""
    taken = torch.gather(net(observe(played["position"])), dim=-1, index=played["action"].unsqueeze(-1)).squeeze(-1)
    with torch.no_grad():
        later = temperature * torch.logsumexp(target(observe(played["following"])) / temperature, dim=-1)
    return F.huber_loss(taken, played["reward"] + 0.9 * later, delta=1.0)


def main() -> None:
    torch.manual_seed(0)
    agent, q_net = ActorCritic(), nn.Linear(CELLS, ACTIONS)
    q_target = copy.deepcopy(q_net).requires_grad_(False)
    optimizer = torch.optim.Adam([{"params": agent.parameters()}, {"params": q_net.parameters(), "lr": 0.05}], lr=0.01)
    for _ in range(2):
        played = rollout(agent, 4)
        loss = policy_loss(agent, played) + q_loss(q_net, q_target, played, temperature=0.5)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(q_target.parameters(), q_net.parameters(), strict=True):
                slow.lerp_(fast, 0.1)
        assert math.isfinite(loss.item())
    chances = F.softmax(q_net(torch.eye(CELLS)), dim=1)
    greedy = torch.multinomial(chances, num_samples=2, replacement=False)
    assert greedy.shape == (CELLS, 2) and torch.isclose(chances.sum(), torch.tensor(float(CELLS)))


if __name__ == "__main__":
    main()
