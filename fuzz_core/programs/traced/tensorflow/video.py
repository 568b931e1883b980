"""A video classifier: three-dimensional convolutions, a convolutional LSTM and the direction of a moving dot."""

import math

import tensorflow as tf

FRAMES, SIZE, DIRECTIONS = 4, 8, 4
layers = tf.keras.layers


def factorised(x: tf.Tensor, width: int) -> tf.Tensor:
    """A spatial and a temporal convolution in place of a full one."""
    x = layers.Conv3D(width, kernel_size=(1, 3, 3), padding="same", use_bias=False)(x)
    x = layers.Conv3D(width, (3, 1, 1), strides=(1, 1, 1), padding="same", groups=2)(x)
    x = layers.BatchNormalization(momentum=0.8, synchronized=False)(x)
    return layers.SpatialDropout3D(0.1)(layers.ELU(alpha=0.8)(x))


def make_classifier(width: int = 4) -> tf.keras.Model:
    """Both kinds of block, pooling over time and space, and a linear head."""
    clips = tf.keras.Input(shape=(FRAMES, SIZE, SIZE, 1))
    x = layers.ZeroPadding3D(padding=(0, 1, 1))(clips)
    x = layers.MaxPooling3D(pool_size=(1, 2, 2))(factorised(x, width))
    x = layers.Cropping3D(cropping=((0, 0), (0, 1), (0, 1)))(factorised(x, width))
    last = layers.ConvLSTM2D(width, kernel_size=3, padding="same", recurrent_activation="sigmoid", dropout=0.1)(x)
    mean = layers.GlobalAveragePooling3D()(layers.AveragePooling3D(2, strides=(1, 2, 2), padding="same")(x))
    peak = layers.GlobalMaxPooling3D(keepdims=False)(x)
    joined = layers.concatenate([layers.GlobalMaxPooling2D()(last), mean, peak], axis=-1)
    return tf.keras.Model(clips, layers.Dense(DIRECTIONS, dtype="float32")(joined))


def make_forecaster(width: int = 4) -> tf.keras.Model:
    """Predicts the clip one step later: shrunk and grown back by a transposed convolution."""
    return tf.keras.Sequential(
        [
            tf.keras.Input((FRAMES, SIZE, SIZE, 1)),
            layers.Conv3D(width, 2, strides=2, padding="valid", activation="log_sigmoid"),
            layers.UpSampling3D(size=(1, 1, 1)),
            layers.Conv3DTranspose(1, kernel_size=2, strides=(2, 2, 2), padding="same", output_padding=None),
            layers.TimeDistributed(layers.Conv2D(1, 3, padding="same")),
            layers.Permute((1, 2, 3, 4)),
        ]
    )


def make_clips(count: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Clips (count, FRAMES, SIZE, SIZE, 1) of a dot that moves up, right, down or left."""
    labels = tf.random.uniform([count], maxval=DIRECTIONS, dtype=tf.int32)
    steps = tf.gather(tf.constant([[-1, 0], [0, 1], [1, 0], [0, -1]]), labels)
    start = tf.random.uniform([count, 1, 2], 0, SIZE, dtype=tf.int32)
    places = tf.math.floormod(start + tf.range(FRAMES)[None, :, None] * steps[:, tf.newaxis], SIZE)
    clip, time = tf.meshgrid(tf.range(count), tf.range(FRAMES), indexing="ij")
    index = tf.concat([tf.stack([clip, time], axis=-1), places], axis=-1)
    return tf.scatter_nd(index, tf.ones([count, FRAMES]), [count, FRAMES, SIZE, SIZE])[..., tf.newaxis], labels


def plain_operations(clips: tf.Tensor) -> list[tf.Tensor]:
    """The same kinds of layer as plain operations, and tools that cut clips into blocks and windows."""
    kernel = tf.random.stateless_normal([2, 2, 2, 1, 3], seed=(1, 2))
    full = tf.nn.conv3d(clips, kernel, strides=[1, 1, 1, 1, 1], padding="VALID")
    back = tf.nn.conv3d_transpose(full, kernel, output_shape=clips.shape, strides=[1, 1, 1, 1, 1], padding="VALID")
    pooled = tf.nn.max_pool3d(back, ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding="SAME")
    mean = tf.nn.avg_pool3d(clips, (1, 1, 2, 2, 1), 2, "VALID", data_format="NDHWC")
    frames = tf.reshape(clips, [-1, SIZE, SIZE, 1])
    blocks = tf.space_to_batch(frames, block_shape=[2, 2], paddings=[[0, 0], [0, 0]])
    tf.debugging.assert_equal(tf.batch_to_space(blocks, block_shape=[2, 2], crops=[[0, 0], [0, 0]]), frames)
    tf.debugging.assert_equal(tf.nn.depth_to_space(tf.nn.space_to_depth(frames, block_size=2), 2), frames)
    grown = tf.nn.atrous_conv2d(frames, kernel[0, :, :, :, :2], rate=2, padding="SAME")
    atrous = tf.nn.convolution(frames, kernel[0], strides=1, padding="SAME", dilations=[2, 2])
    separable = tf.nn.separable_conv2d(frames, kernel[0], tf.ones([1, 1, 3, 2]), [1, 1, 1, 1], padding="SAME")
    return [pooled, mean, grown, atrous, separable, tf.nn.local_response_normalization(separable, depth_radius=1)]


def main() -> None:
    tf.keras.utils.set_random_seed(0)
    clips, labels = make_clips(4)
    model, forecaster = make_classifier(), make_forecaster()
    variables = [*model.trainable_variables, *forecaster.trainable_variables]
    optimizer = tf.keras.optimizers.RMSprop(1e-3, momentum=0.5, epsilon=1e-6)
    for _ in range(2):
        with tf.GradientTape() as tape:
            scores = model(clips, training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores))
            later = tf.roll(clips, shift=-1, axis=1)
            loss += tf.keras.losses.MeanAbsoluteError(name="later")(later, forecaster(clips))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        assert math.isfinite(float(loss))
    chances = tf.keras.activations.softmax(model(clips), axis=-1)
    best = tf.gather(chances, tf.argmax(chances, axis=1), axis=1, batch_dims=1)
    tf.debugging.assert_equal(best, tf.reduce_max(chances, axis=1))
    assert all(bool(tf.reduce_all(tf.math.is_finite(part))) for part in plain_operations(clips))


if __name__ == "__main__":
    main()
