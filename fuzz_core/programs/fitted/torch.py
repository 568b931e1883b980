"""Layer for programs of PyTorch whose input does not fit a layer. Programs get the text below this docstring."""

import math

import torch


class Fitted(torch.nn.Module):
    """A layer, or a function with settings, whose inputs are made of the activation; its first result is added."""

    def __init__(self, layer, *inputs, **settings):
        super().__init__()
        self.layer = layer
        self.inputs = inputs
        self.settings = settings

    def forward(self, x, *others, **settings):
        found = self.layer(*[self.make_input(x, each) for each in self.inputs], **self.settings)
        while isinstance(found, (list, tuple)):
            found = found[0]
        return x + self.resized(found, x.shape).to(x.dtype)

    def make_input(self, x, kind):
        """Numbers from 0 to 1 of a shape and a dtype, float32 for the default one; of integers 0 and 1, 0 first."""
        if isinstance(kind, list):
            return [self.make_input(x, each) for each in kind]
        shape, dtype = kind[0], getattr(torch, kind[1])
        numbers = self.resized(torch.sigmoid(x.to(torch.get_default_dtype())), shape)
        if dtype == torch.float32:
            return numbers
        return numbers.to(dtype) if dtype.is_floating_point else (numbers > numbers.flatten()[0]).to(dtype)

    def resized(self, x, shape):
        """Its elements in order, from the first one again where they are not enough."""
        size = math.prod(shape)
        return x.flatten().repeat(size // x.numel() + 1)[:size].reshape(shape)
