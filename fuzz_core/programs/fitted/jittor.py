"""Layer for programs of Jittor whose input does not fit a layer. Programs get the text below this docstring."""

import math

import jittor


class Fitted(jittor.Module):
    """A layer, or a function with settings, whose inputs are made of the activation; its first result is added."""

    def __init__(self, layer, *inputs, **settings):
        super().__init__()
        self.layer = layer
        self.inputs = inputs
        self.settings = settings

    def execute(self, x, *others, **settings):
        found = self.layer(*[self.make_input(x, each) for each in self.inputs], **self.settings)
        while isinstance(found, (list, tuple)):
            found = found[0]
        return x + self.resized(found, x.shape).cast(x.dtype)

    def make_input(self, x, kind):
        """Numbers from 0 to 1 of a shape and a dtype; of integers 0 and 1, 0 first."""
        if isinstance(kind, list):
            return [self.make_input(x, each) for each in kind]
        shape, dtype = kind
        numbers = self.resized(jittor.sigmoid(x.float32()), shape)
        return numbers.cast(dtype) if dtype.startswith("float") else (numbers > numbers.reshape(-1)[0]).cast(dtype)

    def resized(self, x, shape):
        """Its elements in order, from the first one again where they are not enough."""
        size = math.prod(shape)
        return x.reshape(-1).repeat(size // x.numel() + 1)[:size].reshape(shape)
