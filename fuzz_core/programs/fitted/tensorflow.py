"""Layer for programs of TensorFlow whose input does not fit a layer. Programs get the text below this docstring."""

import tensorflow as tf


class Fitted(tf.keras.layers.Layer):
    """A layer, or a function with settings, whose inputs are made of the activation; its first result is added."""

    def __init__(self, layer, *inputs, **settings):
        super().__init__()
        self.layer = layer
        self.kinds = inputs
        self.settings = settings

    def build(self, shape):
        with tf.init_scope():
            self.layer(*[self.make_input(tf.zeros([1]), each) for each in self.kinds], **self.settings)

    def call(self, x, *others, training=None, **settings):
        found = self.layer(*[self.make_input(x, each) for each in self.kinds], **self.settings)
        while isinstance(found, (list, tuple)):
            found = found[0]
        if found.dtype == tf.string:
            found = tf.strings.length(found)
        return x + self.resized(tf.cast(found, x.dtype), tf.shape(x))

    def make_input(self, x, kind):
        """Numbers from 0 to 1 of a shape and a dtype; of integers 0 and 1, 0 first, and these as text."""
        if isinstance(kind, list):
            return [self.make_input(x, each) for each in kind]
        shape, dtype = kind
        numbers = self.resized(tf.sigmoid(tf.cast(x, "float32")), shape)
        if tf.as_dtype(dtype).is_floating:
            return tf.cast(numbers, dtype)
        whole = tf.cast(numbers > tf.reshape(numbers, [-1])[0], "int32")
        return tf.strings.as_string(whole) if dtype == "string" else tf.cast(whole, dtype)

    def resized(self, x, shape):
        """Its elements in order, from the first one again where they are not enough."""
        shape = tf.convert_to_tensor(shape, "int32")
        size = tf.reduce_prod(shape)
        flat = tf.reshape(x, [-1])
        return tf.reshape(tf.tile(flat, [size // tf.size(flat) + 1])[:size], shape)
