"""Checks around model programs: the last use of the model again, and the losses in both precisions."""

from __future__ import annotations

from fuzz_core.adapters.dialect import TELL, TOLD, Around

# Texts around model programs: the last use of a model is kept, or the program is run in both precisions. `{layer}` is
# the class of all layers. `{doubles}` is a statement that makes the precision `sys.argv[1]` the default. `{noting}` are
# statements that print the numbers that the program trains by, for programs that print no losses.
_LAST_USE = """{imports}

inside, uses, called = [], [], {layer}.__call__

def noting(layer, *args, **kwargs):
    inside.append(layer)
    try:
        return called(layer, *args, **kwargs)
    finally:
        if inside[0] is layer:
            # A layer with others in it is a model.
            uses[:] = [(layer, args, kwargs)] if len(inside) > 1 else uses
            inside.clear()

{layer}.__call__ = noting
"""
_AGAIN = """
{layer}.__call__ = called
[(model, args, kwargs)] = uses
"""
_TWICE = """import math, re, subprocess, sys
{imports}

def losses(precision):
    said = subprocess.run([sys.executable, __file__, precision], capture_output=True, text=True).stdout
    printed = re.findall(r"^loss:?[ \\t]+(\\S+)[ \\t]*$", said, re.MULTILINE)
    return list(map(float, printed or re.findall(r"^trained by (\\S+)$", said, re.MULTILINE)))

if len(sys.argv) < 2:
    single, double = losses("float32"), losses("float64")
    lost = not all(map(math.isfinite, single)) and all(map(math.isfinite, double))
    assert not (lost and double), f"{single}, in double precision {double}"
    sys.exit()
{doubles}
{noting}
"""


def last_use(imports: str, layer: str, check: str, kind: str = "wrong-result") -> Around:
    """Return a check of the last use of a program's model: `model(*args, **kwargs)`."""
    before, after = (text.replace("{imports}", imports).replace("{layer}", layer) for text in (_LAST_USE, _AGAIN))
    return Around(before, after + check.replace(TOLD, f"{TELL}\n"), kind)


def losses_in_doubles(imports: str, doubles: str, noting: str = "") -> Around:
    """Return a check that a program's losses are finite in single precision if they are finite in double precision."""
    return Around(_TWICE.replace("{imports}", imports).replace("{doubles}", doubles).replace("{noting}", noting))
