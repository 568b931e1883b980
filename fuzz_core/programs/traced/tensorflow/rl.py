"""Reinforcement learning on a small corridor: an actor-critic with discrete steps, and soft Q-learning beside it."""

import math

import tensorflow as tf

CELLS, ACTIONS, HORIZON = 6, 3, 8
layers = tf.keras.layers


class ActorCritic(tf.keras.Model):
    """One trunk, a policy over discrete actions, a Gaussian over the effort and a value."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.trunk = layers.Dense(width, activation=tf.keras.activations.tanh)
        self.policy = layers.Dense(ACTIONS, kernel_initializer=tf.keras.initializers.VarianceScaling(0.01, "fan_avg"))
        self.effort = layers.Dense(2, bias_initializer="zeros")
        self.value = layers.Dense(1, kernel_initializer="lecun_uniform")

    def call(self, state: tf.Tensor) -> tuple[tf.Tensor, ...]:
        x = self.trunk(state)
        mean, spread = tf.unstack(self.effort(x), num=2, axis=-1)
        return self.policy(x), mean, tf.math.softplus(spread) + 0.1, tf.squeeze(self.value(x), axis=[-1])


def observe(position: tf.Tensor) -> tf.Tensor:
    return tf.one_hot(indices=position, depth=CELLS, axis=-1)


def log_prob(logits: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
    return tf.negative(tf.nn.sparse_softmax_cross_entropy_with_logits(action, logits))


def move(position: tf.Tensor, action: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Steps left, stays or steps right; the reward is 1 at the right end and -0.1 elsewhere."""
    position = tf.clip_by_value(position + action - 1, 0, CELLS - 1)
    return position, tf.where(tf.math.equal(position, CELLS - 1), x=1.0, y=-0.1)


def rollout(agent: ActorCritic, count: int) -> dict[str, tf.Tensor]:
    """Plays `count` corridors side by side; every entry has the shape (HORIZON, count)."""
    position = tf.zeros([count], tf.int32)
    names = ("position", "action", "reward", "log_prob", "following")
    steps = {name: [] for name in names}
    for _ in range(HORIZON):
        logits, mean, spread, _ = agent(observe(position))
        action = tf.squeeze(tf.random.categorical(logits, num_samples=1, dtype=tf.int32), axis=1)
        push = mean + spread * tf.random.normal(tf.shape(mean))
        following, reward = move(position, action)
        rows = (position, action, reward - 0.01 * tf.square(push), log_prob(logits, action), following)
        for name, row in zip(names, rows, strict=True):
            steps[name].append(row)
        position = following
    return {name: tf.stop_gradient(tf.stack(rows, axis=0)) for name, rows in steps.items()}


def discounted(rewards: tf.Tensor, gamma: float = 0.9) -> tf.Tensor:
    """Returns from each step on: a reversed cumulative sum of rewards that decay with time."""
    weights = tf.math.cumprod(tf.fill([rewards.shape[0], 1], gamma), axis=0, exclusive=True)
    return tf.math.cumsum(rewards * weights, axis=0, reverse=True) / weights


def policy_loss(agent: ActorCritic, played: dict[str, tf.Tensor]) -> tf.Tensor:
    """The clipped surrogate with a value loss and an entropy bonus."""
    logits, mean, spread, value = agent(observe(played["position"]))
    returns = discounted(played["reward"])
    centre, variance = tf.nn.moments(returns - tf.stop_gradient(value), axes=[0, 1], keepdims=False)
    advantage = tf.math.xdivy(returns - tf.stop_gradient(value) - centre, tf.sqrt(variance + 1e-6))
    ratio = tf.exp(log_prob(logits, played["action"]) - played["log_prob"])
    surrogate = tf.reduce_mean(tf.minimum(ratio * advantage, tf.clip_by_value(ratio, 0.8, 1.2) * advantage))
    chances = tf.nn.softmax(logits, axis=-1)
    entropy = -tf.reduce_sum(tf.math.xlogy(chances, chances), axis=-1)
    drift = 0.5 * (tf.square(mean) + tf.square(spread) - 1.0) - tf.math.log(spread)
    error = tf.reduce_mean(tf.math.squared_difference(value, returns))
    return error - surrogate - 0.01 * tf.reduce_mean(entropy) + 0.01 * tf.reduce_mean(drift)


def q_loss(net: layers.Layer, target: layers.Layer, played: dict[str, tf.Tensor], temperature: float) -> tf.Tensor:
    """The soft Bellman error of the actions that were taken."""
    chosen = tf.gather(net(observe(played["position"])), played["action"], axis=-1, batch_dims=2)
    later = temperature * tf.reduce_logsumexp(target(observe(played["following"])) / temperature, axis=-1)
    goal = tf.stop_gradient(played["reward"] + 0.9 * later)
    return tf.keras.losses.Huber(delta=1.0, reduction="sum")(goal, chosen)


def main() -> None:
    tf.random.set_seed(0)
    agent, q_net, q_target = ActorCritic(), layers.Dense(ACTIONS), layers.Dense(ACTIONS, trainable=False)
    for layer in (agent, q_net, q_target):
        layer(tf.eye(CELLS))
    q_target.set_weights(q_net.get_weights())
    optimizer = tf.keras.optimizers.Adam(tf.keras.optimizers.schedules.InverseTimeDecay(0.01, 1, 0.5), ema_momentum=0.9)
    variables = [*agent.trainable_variables, *q_net.trainable_variables]
    for _ in range(2):
        played = rollout(agent, 4)
        with tf.GradientTape() as tape:
            loss = policy_loss(agent, played) + q_loss(q_net, q_target, played, temperature=0.5)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        for slow, fast in zip(q_target.variables, q_net.variables, strict=True):
            slow.assign(0.9 * slow.value + 0.1 * fast.value)
        assert math.isfinite(float(loss))
    chances = tf.nn.softmax(q_net(tf.eye(num_rows=CELLS, dtype=tf.float32)))
    drawn = tf.random.stateless_categorical(tf.math.log(chances), num_samples=2, seed=[1, 2])
    entropy = tf.math.reduce_sum(tf.math.multiply_no_nan(tf.math.log(chances), chances), 1)
    assert drawn.shape == (CELLS, 2) and bool(tf.reduce_all(entropy <= 0.0))


if __name__ == "__main__":
    main()
