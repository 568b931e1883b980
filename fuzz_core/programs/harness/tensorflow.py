"""Training of a TensorFlow program: its `model` learns 100 samples and prints its loss on 20."""

optimizer = keras.optimizers.SGD(learning_rate=0.01)
with tf.GradientTape() as tape:
    loss = criterion(targets[:100], model(samples[:100], training=True))
gradients = tape.gradient(loss, model.trainable_variables)
optimizer.apply_gradients(zip(gradients, model.trainable_variables))

loss = criterion(targets[100:], model(samples[100:], training=False))
print("loss", float(loss))
