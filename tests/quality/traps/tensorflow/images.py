"""Images with an average over all positions: two branches are joined, and the output layer takes images of any size."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(0)
images = tf.random.uniform((8, 8, 8, 1))

inputs = keras.Input(shape=(8, 8, 1))
x = layers.Conv2D(4, 3, padding="same")(inputs)
# A kernel that is larger than the image.
# misfit: layers.Conv2D(4, 11)
# The layer is valid by itself, but not for the next layer: rows instead of images, several results instead of one.
# misfit: layers.Flatten()
# misfit: layers.ConvLSTM1D(4, 3, return_state=True)
# misfit: layers.GRU(4, return_sequences=True)
# Activations that grow beyond all memory.
# resources: layers.UpSampling2D(100000)
x = layers.BatchNormalization()(x)
# Branches that do not fit each other.
# misfit: layers.MaxPooling2D(2)
left = layers.Conv2D(4, 3, padding="same")(x)
x = layers.Concatenate()([left, x])
outputs = layers.Conv2D(3, 1)(x)
model = keras.Model(inputs=inputs, outputs=outputs)

optimizer = keras.optimizers.SGD(learning_rate=0.1)
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(model(images, training=True) ** 2)
optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
print("loss", float(loss))
