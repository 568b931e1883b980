"""Labels from -1; a loss of classes defines classes from 0."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(0)
rows = tf.random.uniform((40, 12))
labels = tf.random.uniform((40,), minval=-1, maxval=2, dtype=tf.int32)

inputs = keras.Input(shape=(12,))
x = layers.Dense(16)(inputs)
# training configuration: as it is
x = layers.ReLU()(x)
outputs = layers.Dense(3)(x)
model = keras.Model(inputs=inputs, outputs=outputs)

with tf.GradientTape() as tape:
    logits = model(rows, training=True)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
gradients = tape.gradient(loss, model.trainable_variables)
keras.optimizers.SGD(learning_rate=0.1).apply(gradients, model.trainable_variables)
print("loss", float(loss))
