"""Quantisation-aware training of a small network, then integer and low-precision inference with the same weights."""

import math

import tensorflow as tf

HIGH = 127
quantization = tf.quantization


class FakeQuantDense(tf.keras.layers.Layer):
    """A dense layer whose weight is rounded per output channel and whose input is rounded per tensor."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.units = units

    def build(self, shape: tuple) -> None:
        self.kernel = self.add_weight(shape=(shape[-1], self.units), initializer="glorot_uniform")
        self.bias = self.add_weight(shape=(self.units,), initializer="zeros")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        bound = tf.maximum(tf.reduce_max(tf.abs(tf.stop_gradient(self.kernel)), axis=0), 1e-3)
        kernel = quantization.fake_quant_with_min_max_vars_per_channel(
            self.kernel, min=-bound, max=bound, num_bits=8, narrow_range=True
        )
        low, high = tf.minimum(tf.reduce_min(x), 0.0), tf.maximum(tf.reduce_max(x), 1e-3)
        rounded = quantization.fake_quant_with_min_max_vars(x, low, high, num_bits=8)
        return tf.nn.bias_add(tf.matmul(rounded, kernel), self.bias, data_format="N..C")


class LearnedStep(tf.keras.layers.Layer):
    """Rounds activations to four bits with a step size that is learned, by a straight-through estimator."""

    def build(self, shape: tuple) -> None:
        self.step = self.add_weight(shape=(), initializer=tf.keras.initializers.Constant(0.2), name="step")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        scaled = tf.clip_by_value(x / self.step, 0.0, 15.0)
        return (scaled + tf.stop_gradient(tf.round(scaled) - scaled)) * self.step


def make_network(width: int = 8) -> tf.keras.Sequential:
    return tf.keras.Sequential(
        [tf.keras.Input((4,)), FakeQuantDense(width), tf.keras.layers.ReLU(6.0), LearnedStep(), FakeQuantDense(2)]
    )


def integer_dense(x: tf.Tensor, layer: FakeQuantDense) -> tf.Tensor:
    """The layer in integers: 8-bit operands, 32-bit products, one float scale at the end."""
    low, high = tf.reduce_min(x), tf.reduce_max(x)
    bound = tf.reduce_max(tf.abs(tf.convert_to_tensor(layer.kernel)))
    kernel, _, _ = quantization.quantize(layer.kernel, -bound, bound, T=tf.qint8, mode="SCALED", narrow_range=True)
    data, _, _ = quantization.quantize(x, low, high, tf.quint8, mode="MIN_FIRST", round_mode="HALF_AWAY_FROM_ZERO")
    restored = quantization.dequantize(data, low, high, mode="MIN_FIRST")
    codes = tf.cast(tf.round(restored / (high - low) * 255), tf.int32)
    product = tf.matmul(codes, tf.cast(tf.bitcast(kernel, tf.int8), tf.int32))
    return tf.cast(product, tf.float32) * ((high - low) / 255 * bound / HIGH) + layer.bias


def rounding_error(x: tf.Tensor) -> tf.Tensor:
    """The mean error of rounding to eight bits and back, per tensor and per channel."""
    whole = quantization.quantize_and_dequantize_v2(x, -3.0, 3.0, signed_input=True, num_bits=8, range_given=True)
    rows = quantization.quantize_and_dequantize_v2(x, input_min=0.0, input_max=0.0, num_bits=6, axis=0)
    fixed = quantization.fake_quant_with_min_max_args(x, min=-2, max=2, num_bits=4, narrow_range=False)
    return tf.stack([tf.reduce_mean(tf.abs(x - other)) for other in (whole, rows, fixed)])


def pack_nibbles(codes: tf.Tensor) -> tf.Tensor:
    """Two 4-bit codes in one byte, and a check that they come back out."""
    even, odd = codes[..., ::2], codes[..., 1::2]
    packed = tf.bitwise.bitwise_or(even, tf.bitwise.left_shift(odd, tf.constant(4, tf.uint8)))
    low = tf.bitwise.bitwise_and(packed, tf.constant(0x0F, dtype=tf.uint8))
    opened = tf.reshape(tf.stack([low, tf.bitwise.right_shift(packed, tf.cast(4, tf.uint8))], axis=-1), codes.shape)
    tf.debugging.assert_equal(opened, codes, message="codes do not survive packing")
    return packed


def low_precision(x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """The largest error of a product in bfloat16 and in float16 arithmetic."""
    exact = tf.matmul(tf.cast(x, tf.float64), tf.cast(kernel, tf.float64))
    brief = [tf.matmul(tf.cast(x, kind), tf.cast(kernel, kind)) for kind in (tf.bfloat16, tf.half)]
    return tf.reduce_max([tf.norm(exact - tf.cast(other, tf.float64), ord=math.inf) for other in brief])


def main() -> None:
    tf.keras.utils.set_random_seed(0)
    inputs = tf.random.normal((8, 4), dtype=tf.float32)
    labels = tf.cast(tf.reduce_prod(inputs, axis=1) > 0, tf.int64)
    model = make_network()
    optimizer = tf.keras.optimizers.LossScaleOptimizer(tf.keras.optimizers.Adam(0.01), initial_scale=8.0)
    criterion = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=None)
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = criterion(labels, model(inputs))
            scaled = optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        assert math.isfinite(float(loss))
    hidden = tf.nn.relu6(integer_dense(inputs, model.layers[0]))
    codes = tf.saturate_cast(tf.floor(hidden / 6.0 * 15.0), dtype=tf.uint8)
    assert pack_nibbles(codes).shape == (8, 4) and bool(tf.reduce_all(tf.math.is_finite(rounding_error(inputs))))
    assert float(low_precision(inputs, tf.convert_to_tensor(model.layers[0].kernel))) < 1.0


if __name__ == "__main__":
    main()
