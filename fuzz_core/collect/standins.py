"""Values for names that examples use and do not bind: a `model`, an `optimizer`, a square matrix `A`.

An example of an optimiser says `SGD(model.parameters(), lr=0.1)` and never what `model` is. Any small model makes the
call valid. So such names get a value by convention of their use across a library, and not for single apis. An
expression may use further names of its table.
"""

from __future__ import annotations

from fuzz_core.adapters.dialect import profile_of

_ANY = {
    "true": "True",
    "false": "False",
    "null": "None",
    "batch_size": "2",
    "num_classes": "4",
    "num_epochs": "2",
    "epochs": "2",
    "num_steps": "2",
    "num_layers": "2",
    "num_heads": "2",
    "input_size": "8",
    "hidden_size": "8",
    "embed_dim": "8",
    "learning_rate": "0.1",
    "initial_learning_rate": "0.1",
    "axis": "0",
    "dim": "0",
    "k": "2",
    "n": "3",
    "m": "3",
    "N": "4",
    "i": "0",
    "j": "0",
}


def stand_ins(library: str) -> dict[str, str]:
    """Return the expression for each name that examples of a library use and do not bind."""
    own = profile_of(library)
    return _ANY | dict(own.stand_ins if own else {})
