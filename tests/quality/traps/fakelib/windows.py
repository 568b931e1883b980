"""Windows over two dozen numbers, all of which are wanted in the end."""

import fakelib
import numpy as np

numbers = np.arange(24.0)

x = fakelib.nn.Window(2, stride=1)(numbers)
# ok: as it is
# ok: fakelib.nn.Window(3)
# The window drops half of the numbers.
# training configuration: fakelib.nn.Window(1, stride=2)
# The size is no number, or an unknown name.
# misfit: fakelib.nn.Window("wide")
# syntax: fakelib.nn.Window(missing)
# refused: fakelib.nn.Window(0)
# finding crash: fakelib.nn.Window(1, stride=0)
x = fakelib.nn.Window(1, stride=1)(x)
outputs = fakelib.nn.Window(1, stride=1)(x)
print("loss", float(outputs.reshape(24).sum()))
