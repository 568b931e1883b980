"""The table of rules: a new rule is a class in a file and a line here."""

from __future__ import annotations

from collections.abc import Collection

from fuzz_core.adapters.dialect import load_plugin
from fuzz_core.ir.errors import UserError
from fuzz_core.mutation.contract import KINDS, Mutator

_HERE = "fuzz_core.mutation.rules"

MUTATORS: dict[str, str] = {
    "Tensor Dim Mutation": f"{_HERE}.types:TensorDimMutation",
    "Tensor Dtype Mutation": f"{_HERE}.types:TensorDtypeMutation",
    "Primitive Mutation": f"{_HERE}.types:PrimitiveMutation",
    "Tuple Mutation": f"{_HERE}.types:TupleMutation",
    "List Mutation": f"{_HERE}.types:ListMutation",
    "Random Tensor Shape": f"{_HERE}.randoms:RandomTensorShape",
    "Random Tensor Value": f"{_HERE}.randoms:RandomTensorValue",
    "Random Primitive": f"{_HERE}.randoms:RandomPrimitive",
    "Random Tuple": f"{_HERE}.randoms:RandomTuple",
    "Random List": f"{_HERE}.randoms:RandomList",
    "Database Tensor Shape": f"{_HERE}.database:DatabaseTensorShape",
    "Database Tensor Value": f"{_HERE}.database:DatabaseTensorValue",
    "Database Primitive": f"{_HERE}.database:DatabasePrimitive",
    "Database Tuple": f"{_HERE}.database:DatabaseTuple",
    "Database List": f"{_HERE}.database:DatabaseList",
    "Boundary Integer": f"{_HERE}.boundaries:BoundaryInteger",
    "Neighbour Integer": f"{_HERE}.boundaries:NeighbourInteger",
    "Boundary Float": f"{_HERE}.boundaries:BoundaryFloat",
    "Boundary Complex": f"{_HERE}.boundaries:BoundaryComplex",
    "Redrawn Contents": f"{_HERE}.contents:RedrawnContents",
    "NaN Contents": f"{_HERE}.contents:NanContents",
    "Infinity Contents": f"{_HERE}.contents:InfinityContents",
    "Denormal Contents": f"{_HERE}.contents:DenormalContents",
    "Negative Contents": f"{_HERE}.contents:NegativeContents",
    "Zero Contents": f"{_HERE}.contents:ZeroContents",
    "One Contents": f"{_HERE}.contents:OneContents",
    "Minus One Contents": f"{_HERE}.contents:MinusOneContents",
    "Large Index Contents": f"{_HERE}.contents:LargeIndexContents",
    "Extreme Contents": f"{_HERE}.contents:ExtremeContents",
    "Empty Dimension": f"{_HERE}.dimensions:EmptyDimension",
    "Unit Dimension": f"{_HERE}.dimensions:UnitDimension",
    "Resized Dimension": f"{_HERE}.dimensions:ResizedDimension",
    "Scalar Tensor": f"{_HERE}.dimensions:ScalarTensor",
    "Transposed Strides": f"{_HERE}.layout:TransposedStrides",
    "Step Strides": f"{_HERE}.layout:StepStrides",
    "Expanded Strides": f"{_HERE}.layout:ExpandedStrides",
    "Overlapping Strides": f"{_HERE}.layout:OverlappingStrides",
    "Requires Grad": f"{_HERE}.options:RequiresGrad",
    "None for Optional": f"{_HERE}.options:NoneForOptional",
    "Other Dtype": f"{_HERE}.options:OtherDtype",
    "Damaged String": f"{_HERE}.options:DamagedString",
    "String from Elsewhere": f"{_HERE}.options:StringFromElsewhere",
    "Same Type Elsewhere": f"{_HERE}.options:SameTypeElsewhere",
    "Other Type Elsewhere": f"{_HERE}.options:OtherTypeElsewhere",
    "Drop Element": f"{_HERE}.lengths:DropElement",
    "Duplicate Element": f"{_HERE}.lengths:DuplicateElement",
    "Append Element": f"{_HERE}.lengths:AppendElement",
    "Empty Sequence": f"{_HERE}.lengths:EmptySequence",
    "Nested Argument": f"{_HERE}.nested:NestedArgument",
    "Nested Element": f"{_HERE}.nested:NestedElement",
    "Nested Entry": f"{_HERE}.nested:NestedEntry",
    "Slice Part": f"{_HERE}.nested:SlicePart",
}

# Rules for the call under test as a whole, which is no argument of anything.
CALL_MUTATORS: dict[str, str] = {
    "Mixed Dtypes": f"{_HERE}.calls:MixedDtypes",
    "Joint Dtype": f"{_HERE}.calls:JointDtype",
    "Joint Dimension": f"{_HERE}.calls:JointDimension",
    "Drop Argument": f"{_HERE}.calls:DropArgument",
}

# What has no meaning for a library whose tensors know neither strides nor requires_grad.
STRIDED_ONLY = ("Transposed Strides", "Step Strides", "Expanded Strides", "Overlapping Strides", "Requires Grad")


def load_mutators(table: dict[str, str], off: Collection[str] = ()) -> list[Mutator]:
    """The rules of a table, in its order, without those that are off by name or by kind."""
    loaded: list[Mutator] = [load_plugin(table, name, "mutator")() for name in table]
    return [mutator for mutator in loaded if mutator.name not in off and mutator.kind not in off]


def check_off(off: Collection[str]) -> None:
    """Raises UserError where `off` holds what is neither a rule nor a kind."""
    known = {*KINDS, *MUTATORS, *CALL_MUTATORS}
    for name in off:
        if name not in known:
            raise UserError(f"unknown mutation rule {name!r}", f"choose a kind ({', '.join(KINDS)}) or a rule's name")
