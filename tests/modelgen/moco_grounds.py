"""A small program and the facts about its apis, for tests of operators and trees."""

from __future__ import annotations

from fuzz_core.ir.constraints import Bound, Constraint
from fuzz_core.modelgen.moco.facts import Facts, Knowledge, Origin, Parameter, ParameterRelation
from fuzz_core.modelgen.moco.program import INPUT, Block, Call, CallArgument, Program, Slot, Template

DOC = Origin(source="docstring", text="must be so")


def said(kind: str, *bounds: Bound, source: str = "docstring") -> Constraint:
    """Return a constraint on any parameter."""
    return Constraint("", "", kind, bounds, "must be so", source)


POSITIVE = said("above", 0.0)
NOT_NEGATIVE = said("minimum", 0.0)
SHARE = (NOT_NEGATIVE, said("maximum", 1.0))
PAIR = said("lengths", 2)

IN = Parameter(name="in_channels", dtype="int", required=True, binds=-3)
OUT = Parameter(name="out_channels", dtype="int", required=True, constraints=(POSITIVE,))
KERNEL = Parameter(name="kernel_size", dtype="int", structure="tuple", required=True, constraints=(POSITIVE, PAIR))
STRIDE = Parameter(name="stride", dtype="int", default="1", constraints=(POSITIVE,))
GROUPS = Parameter(name="groups", dtype="int", default="1", constraints=(POSITIVE,))
BIAS = Parameter(name="bias", dtype="bool", default="True")
MODE = Parameter(
    name="padding_mode",
    dtype="str",
    default="'zeros'",
    constraints=(said("choices", "zeros", "reflect", "circular", source="annotation"),),
)
DIVIDES = tuple(
    ParameterRelation(parameters=(name, "groups"), expression=f"{name} % groups == 0", origin=DOC)
    for name in ("in_channels", "out_channels")
)
CONV = Facts(
    api="torch.nn.Conv2d",
    parameters=(IN, OUT, KERNEL, STRIDE, GROUPS, BIAS, MODE),
    relations=DIVIDES,
    ranks=(4,),
    dtypes=("float32", "float64"),
    returns="tensor",
    example={"in_channels": "4", "out_channels": "8", "kernel_size": "3"},
    similar={"torch.nn.ConvTranspose2d": 0.9, "torch.nn.MaxPool2d": 0.5, "torch.nn.Linear": 0.3, "torch.nn.LSTM": 0.2},
)
TRANSPOSED = CONV.model_copy(
    update={
        "api": "torch.nn.ConvTranspose2d",
        "parameters": (
            *(IN, OUT, KERNEL, STRIDE),
            Parameter(name="output_padding", dtype="int", default="0", constraints=(NOT_NEGATIVE,)),
            *(GROUPS, BIAS),
        ),
        "similar": {"torch.nn.Conv2d": 0.9},
    }
)
POOL = Facts(
    api="torch.nn.MaxPool2d",
    parameters=(
        KERNEL.model_copy(update={"constraints": (POSITIVE, PAIR._replace(source="trace"))}),
        Parameter(name="stride", dtype="int", default="None", seen=("2", "(2, 1)")),
        Parameter(name="ceil_mode", dtype="bool", default="False"),
    ),
    ranks=(3, 4),
    returns="tensor",
    similar={"torch.nn.Conv2d": 0.5, "torch.nn.Dropout": 0.1},
)
DROPOUT = Facts(
    api="torch.nn.Dropout",
    parameters=(
        Parameter(name="p", dtype="float", default="0.5", constraints=SHARE),
        Parameter(name="inplace", dtype="bool", default="False"),
    ),
    ranks=(1, 2, 3, 4, 5),
    returns="tensor",
    similar={"torch.nn.MaxPool2d": 0.4, "torch.nn.Linear": 0.4, "torch.nn.Conv2d": 0.2},
)
LINEAR = Facts(
    api="torch.nn.Linear",
    parameters=(
        Parameter(name="in_features", dtype="int", required=True, binds=-1),
        Parameter(name="out_features", dtype="int", required=True, seen=("10", "120")),
        BIAS,
    ),
    ranks=(1, 2, 3, 4),
    returns="tensor",
    similar={"torch.nn.Dropout": 0.4, "torch.nn.LSTM": 0.6},
)
LSTM = Facts(
    api="torch.nn.LSTM",
    parameters=(
        Parameter(name="input_size", dtype="int", required=True, binds=-1),
        Parameter(name="hidden_size", dtype="int", required=True, seen=("20",)),
    ),
    ranks=(2, 3),
    returns="tuple",
)
TENSOR = Parameter(name="input", dtype="tensor", structure="tensor", required=True)
RELU = Facts(
    api="torch.nn.functional.relu",
    kind="function",
    parameters=(TENSOR, Parameter(name="inplace", dtype="bool", default="False")),
    ranks=(1, 2, 3, 4),
    returns="tensor",
    similar={"torch.nn.functional.leaky_relu": 0.8, "torch.nn.Dropout": 0.9},
)
LEAKY = Facts(
    api="torch.nn.functional.leaky_relu",
    kind="function",
    parameters=(
        TENSOR,
        Parameter(name="negative_slope", dtype="float", default="0.01", constraints=(NOT_NEGATIVE,)),
        Parameter(name="inplace", dtype="bool", default="False"),
    ),
    ranks=(1, 2, 3, 4),
    returns="tensor",
    similar={"torch.nn.functional.relu": 0.8},
)
ALL = (CONV, TRANSPOSED, POOL, DROPOUT, LINEAR, LSTM, RELU, LEAKY)
KNOWLEDGE = Knowledge(library="torch", build="torch-2.13.0", apis={facts.api: facts for facts in ALL})


def call(api: str, *args: str, applied: bool = False, spelled: str = "", **kwargs: str) -> Call:
    """Return a call as a program of this folder writes it."""
    path = spelled or api.replace("torch.nn.functional", "F").replace("torch.nn", "nn")
    arguments = (*(CallArgument("", arg) for arg in args), *(CallArgument(*pair) for pair in kwargs.items()))
    return Call(api, path, arguments, applied)


CALLS = (
    call("torch.nn.Conv2d", "3", "6", "5"),
    call("torch.nn.MaxPool2d", "2"),
    call("torch.nn.Conv2d", "6", "16", kernel_size="(3, 3)", padding_mode="'reflect'"),
    call("torch.nn.Dropout", p="0.25"),
)


SLOPED = call("torch.nn.functional.leaky_relu", INPUT, "0.2", applied=True)
BLOCKS = (*CALLS, call("torch.nn.Linear", "64", "10"), SLOPED)


def known(each: Call) -> Facts:
    """Return the facts about the api of a call."""
    return KNOWLEDGE.apis[each.api]


def program(calls: tuple[Call, ...] = CALLS, steps: tuple[int, ...] | None = None) -> Program:
    """Return a program that makes the calls in their order, and whose head stays."""
    steps = steps or tuple(range(len(calls)))
    head = Block(len(calls), call("torch.nn.Linear", "16 * 4", "10"), 3 + len(calls), step=99)
    blocks = [Block(n, each, 3 + n, step=step) for n, (each, step) in enumerate(zip(calls, steps, strict=True))]
    slots = [each for block in (*blocks, head) for each in ("    ", Slot(block.number, absent="nn.Identity()"), ",\n")]
    pieces = ("import torch.nn as nn\nimport torch.nn.functional as F\nmodel = nn.Sequential(\n", *slots, ")\n")
    return Program("small", "torch", "serial", Template(pieces, (head.number,)), (*blocks, head))
