"""Search without a library: values have the types of a signature, refusals lead on, and a seed decides every draft."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from fuzz_core.ir.codec import decode_invocation, encode
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.signatures import ApiSignature, SignatureParameter
from fuzz_core.ir.values import Invocation, Map, Prim, Ref, Seq, Tensor, Value, prim
from fuzz_core.synthesis.draft import Cast, Maker
from fuzz_core.synthesis.drawer import Drawer
from fuzz_core.synthesis.forms import other_form
from fuzz_core.synthesis.refusals import FILE, class_of, hints
from fuzz_core.synthesis.search import Search

TYPES = {"tensor": Tensor, "int": Prim, "float": Prim, "bool": Prim, "str": Prim, "dtype": Ref, "shape": Seq}
names = st.text("abcdef", min_size=1, max_size=6)
parameters = st.builds(
    SignatureParameter,
    name=names,
    kind=st.sampled_from(sorted(TYPES)),
    required=st.booleans(),
    positional=st.booleans(),
    many=st.sampled_from(["", "", "N", "*"]),
    group=st.sampled_from(["", "T"]),
    dtypes=st.sampled_from([(), ("float32", "int64"), ("float32",)]),
    choices=st.just(()),
    least=st.sampled_from([None, 0, 2]),
    text=st.sampled_from(["", "A 3-D int32 tensor, 'a' or \"b\", of length 5."]),
)
signatures = st.lists(parameters, max_size=4, unique_by=lambda each: each.name).map(
    lambda made: ApiSignature("lib.api", tuple(made))
)


class Nothing:
    """A source without knowledge."""

    def named(self, rng: Rng, api: str, parameter: SignatureParameter) -> Value | None:
        """No value."""
        return None

    def makers(self, api: str, parameter: SignatureParameter) -> Sequence[Maker]:
        """No call."""
        return ()


def search_of(signature: ApiSignature, seed: int = 1) -> Search:
    return Search([signature], Rng(seed), Nothing(), list(DTYPES))


def tried(search: Search, check: Callable[[Invocation], str], tries: int = 2000) -> tuple[int, Invocation]:
    """Returns the number of the first call without a refusal, and the call."""
    for number in range(tries):
        draft = search.ask()
        refusal = check(draft.invocation())
        if not refusal:
            return number, draft.invocation()
        search.tell(draft, refusal)
    raise AssertionError(f"no call in {tries} tries; classes: {list(search.refused)}")


@settings(max_examples=25, phases=[Phase.explicit, Phase.generate])
@given(signatures, st.integers(0, 2**32))
def test_every_draft_has_the_types_of_its_signature_and_can_be_recorded(signature: ApiSignature, seed: int) -> None:
    search = search_of(signature, seed)
    for _ in range(30):
        draft = search.ask()
        for parameter, value in zip(signature.parameters, draft.values, strict=True):
            assert value is not None or not parameter.required
            values = (
                value.items if parameter.many and parameter.kind != "shape" and isinstance(value, Seq) else (value,)
            )
            assert all(isinstance(each, TYPES[parameter.kind]) for each in values if value is not None)
            if parameter.kind == "tensor":
                tensors = [each for each in values if isinstance(each, Tensor)]
                assert all(each.dtype in (parameter.dtypes or DTYPES) for each in tensors)
        call = draft.invocation()
        assert decode_invocation(encode(call)) == call
        search.tell(draft, f"refused {len(call.kwargs)}")


@settings(max_examples=25, phases=[Phase.explicit, Phase.generate])
@given(signatures, st.integers(0, 2**32))
def test_a_seed_decides_every_draft(signature: ApiSignature, seed: int) -> None:
    first, second = search_of(signature, seed), search_of(signature, seed)
    for number in range(20):
        drafts = first.ask(), second.ask()
        assert drafts[0].invocation() == drafts[1].invocation()
        for search, draft in zip((first, second), drafts, strict=True):
            search.tell(draft, f"check {number % 3} of `abc` failed: must be a matrix")


def test_a_dtype_that_only_a_cast_makes_is_named_by_the_cast_or_as_it_is() -> None:
    signature = ApiSignature("lib.f", (SignatureParameter("dtype", "dtype", dtypes=("quick", "sparse")),))
    casts = {"quick": Cast("float32", "lib.to", (Ref("name", "lib.quick"),)), "sparse": Cast("float32", "lib.sparse")}
    search = Search([signature], Rng(1), Nothing(), list(DTYPES), casts)
    drawn = {value for _ in range(40) for value in search.ask().values}
    assert drawn >= {Ref("name", "lib.quick"), Ref("dtype", "sparse")}


def test_lists_of_one_length_have_one_length() -> None:
    signature = ApiSignature(
        "lib.api", (SignatureParameter("a", "tensor", many="N"), SignatureParameter("b", "int", many="N"))
    )
    search = search_of(signature)
    for _ in range(50):
        first, second = search.drawer.fresh(signature).values
        assert isinstance(first, Seq) and isinstance(second, Seq) and len(first.items) == len(second.items)


def test_refusals_lead_to_a_valid_call() -> None:
    """Each of these checks comes to light when the one before holds; blind draws meet all of them once in millions."""
    names = ("images", "filters", "strides", "padding")
    signature = ApiSignature(
        "lib.convolve",
        (
            SignatureParameter(names[0], "tensor"),
            SignatureParameter(names[1], "tensor"),
            SignatureParameter(names[2], "int", many="*"),
            SignatureParameter(names[3], "str"),
        ),
    )

    def check(call: Invocation) -> str:
        given = dict(call.kwargs)
        images, filters, strides, padding = (given[name] for name in names)
        assert isinstance(images, Tensor) and isinstance(filters, Tensor) and isinstance(strides, Seq)
        if images.dtype != "bfloat16":
            return f"images: expected bfloat16 but got {images.dtype}"
        if len(images.shape) != 5:
            return f"images must be a 5-D tensor, got shape {list(images.shape)}"
        if filters.shape[:1] != (7,):
            return f"filters must have 7 rows, got {list(filters.shape)}"
        if filters.shape[-1] != images.shape[-1]:
            return f"depth of filters must match images: {filters.shape[-1]} and {images.shape[-1]}"
        if len(strides.items) != 3:
            return f"strides: expected a list of 3 integers, got {len(strides.items)}"
        return "" if padding == prim("reflect") else "padding must be 'reflect'"

    for seed in range(5):
        assert tried(search_of(signature, seed), check)[1].api == "lib.convolve"


@pytest.mark.parametrize(
    ("message", "part", "value"),
    [
        ("box_index must be 1-D[1,8,2]", "ranks", (1,)),
        ("f() got torch.Size([2, 3]) and (4,) for g(2)", "shapes", ((2, 3), (4,))),
        ("input must be a scalar", "ranks", (0,)),
        ("x must have rank 3", "ranks", (3,)),
        ("expected float tensor but got DT_INT64", "dtypes", ("float32", "int64")),
        ("ratio must be 1, 2, 4, or 8, got 0", "numbers", (1, 2, 4, 8, 0)),
        ("mode must be 'same' or \"valid\"", "texts", ("same", "valid")),
        ("NotFoundError: a,b; No such file or directory", "texts", (FILE,)),
        ("AttributeError: 'list' object has no attribute 'shape'", "no_tensor", "list"),
        ("AttributeError: 'list' object has no attribute 'call'", "no_tensor", ""),
        ("the value of Box_Index is odd", "arguments", ("box_index",)),
    ],
)
def test_what_a_refusal_says(message: str, part: str, value: tuple[object, ...]) -> None:
    assert getattr(hints(message, ("box_index", "image")), part) == value


def test_numbers_and_texts_do_not_make_a_refusal_new() -> None:
    assert class_of("x has 3 rows, not [1, 2] 'a'") == class_of("x has 14 rows, not [5] 'bcd'")
    assert class_of("x must be float32, not int64") == class_of("x must be float64, not uint8")
    assert class_of("x has 3 rows") != class_of("x has 3 columns")
    assert class_of("x must be rank 4 but is rank 0") != class_of("x must be rank 3 but is rank 0")


def test_a_refusal_of_a_call_that_makes_an_argument_is_no_step() -> None:
    search = search_of(ApiSignature("lib.use", (SignatureParameter("x", "tensor"),)))
    draft = search.ask()
    draft.values[0] = Invocation("lib.make")
    search.tell(draft, "make: wrong argument")
    assert not search.refused
    search.tell(draft, "use: wrong argument")
    assert len(search.refused) == 1


@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("TypeError: f() takes 1 positional argument but 2 were given", ["x", "mode"]),
        ("TypeError: Base.f() takes no arguments (1 given)", ["x", "mode"]),
        (
            "TypeError: g() missing 2 required positional arguments: 'scale' and 'zero'",
            ["x", "y", "mode", "scale", "zero"],
        ),
        ("TypeError: g() missing 1 required keyword-only argument: 'scale'", ["x", "y", "mode", "scale"]),
        ("TypeError: f() got an unexpected keyword argument 'mode'", ["x", "y"]),
        ("ValueError: x and y must have one shape", None),
    ],
)
def test_a_refusal_of_the_arguments_leads_to_another_form(message: str, names: list[str] | None) -> None:
    positional = (SignatureParameter(name, positional=True) for name in "xy")
    form = other_form(ApiSignature("lib.f", (*positional, SignatureParameter("mode"))), f"{message}")
    assert (None if form is None else [each.name for each in form.parameters]) == names


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("TypeError: f(): argument 'y' (position 1) must be Tensor, not int", "tensor"),
        ("TypeError: y must be a torch.dtype (got Tensor)", "dtype"),
        ("TypeError: f(): argument 'y' must be tuple of ints, not list", "shape"),
        ("TypeError: Expected int for argument 'y' not <tf.Tensor: shape=(4, 2)>.", "int"),
        ("TypeError: Expected list for 'y' argument to 'f' Op, not <tf.Tensor: shape=(4, 2)>.", "shape"),
        ("TypeError: Expected DataType for argument 'y' not <DTypePolicy 'mixed'>.", "dtype"),
        ("ValueError: `y` should have an integer value. Received: y=[[1.0]]", "int"),
        ("ValueError: Argument `y` must be a callable. Received y=3", "function"),
        ("ValueError: `y` should be a tuple or list of two floats. Received: 1", "shape"),
        ("TypeError: Cannot interpret '2' as a data type", "any"),
        # The signature of a function of C has other names than its refusals.
        ("TypeError: dtype must be a torch.dtype (got Tensor)", "dtype"),
        ("TypeError: x must be a torch.dtype (got Tensor)", "any"),
        ("ValueError: y must be positive", "any"),
    ],
)
def test_a_refusal_that_asks_for_a_type_gives_the_argument_this_type(message: str, kind: str) -> None:
    signature = ApiSignature("lib.f", (SignatureParameter("x", "tensor"), SignatureParameter("y")))
    assert (other_form(signature, message) or signature).parameters[1].kind == kind


def test_an_attribute_is_no_tensor_although_its_description_speaks_of_tensors() -> None:
    signature = ApiSignature("lib.f", (SignatureParameter("y", "tensor", many="*", text="A list of tensors"),))
    for message, wanted in {
        "TypeError: Expected int for argument 'y' not <tf.Tensor: shape=(4, 2)>.": ("int", ""),
        "TypeError: y must be float": ("tensor", "*"),
    }.items():
        [found] = (other_form(signature, message) or signature).parameters
        assert (found.kind, found.many) == wanted


def test_an_argument_for_a_type_gets_a_dtype_where_a_value_is_none() -> None:
    signature = ApiSignature("lib.f", tuple(SignatureParameter(name) for name in ("x", "type1", "type2")))
    for kinds in (["any", "dtype", "any"], ["any", "dtype", "dtype"]):
        form = other_form(signature, "TypeError: Cannot interpret '[[1.0]\n [2.0]]' as a data type")
        assert form is not None and [each.kind for each in form.parameters] == kinds
        signature = form


def test_arguments_that_were_left_out_are_drawn_where_none_is_refused() -> None:
    def check(call: Invocation) -> str:
        missing = sorted({*"abcdefgh"} - dict(call.kwargs).keys())
        return f"AttributeError: 'NoneType' object has no attribute '{missing[0]}'" if missing else ""

    signature = ApiSignature("lib.f", tuple(SignatureParameter(name, required=False) for name in "abcdefgh"))
    assert max(tried(search_of(signature, seed), check)[0] for seed in range(9)) < 60


def test_an_object_for_a_dictionary_is_its_value() -> None:
    drawer = Drawer(Rng(3), Variables(), list(DTYPES))
    drawn = {}
    for text in ("A dict of names and variables.", "A mapping of names to variables", "The variable."):
        signature = ApiSignature("lib.f", (SignatureParameter("x", text=text),))
        values = [drawer.fresh(signature).values[0] for _ in range(60)]
        drawn[text] = {type(each) for each in values} & {Map, Invocation}
    assert [*drawn.values()] == [{Map}, {Map}, {Invocation}]


def test_a_tensor_becomes_a_list_of_tensors_where_one_is_demanded() -> None:
    signature = ApiSignature("lib.f", (SignatureParameter("x", "tensor"), SignatureParameter("y", "tensor")))
    form = other_form(signature, "TypeError: Expected list for 'y' argument to 'f' Op, not <tf.Tensor: shape=(4, 2)>.")
    assert form is not None
    assert [(each.kind, each.many) for each in form.parameters] == [("tensor", ""), ("tensor", "*")]
    sizes = ApiSignature("lib.f", (SignatureParameter("y", "shape"),))
    assert other_form(sizes, "ValueError: y must be a list of 2 sizes") is None


def test_a_refused_call_takes_the_form_that_its_refusal_asks_for() -> None:
    """The call keeps its other arguments, so that few tries are enough."""

    def check(call: Invocation) -> str:
        given = dict(call.kwargs)
        for name in "abcdef":
            if not isinstance(each := given[name], Prim) or type(each.value) is not int:
                return f"TypeError: Expected int for argument '{name}' not {each}."
        return ""

    signature = ApiSignature("lib.f", tuple(SignatureParameter(name) for name in "abcdef"))
    assert max(tried(search_of(signature, seed), check)[0] for seed in range(9)) < 30


def test_a_search_gets_past_arguments_that_no_definition_has() -> None:
    def check(call: Invocation) -> str:
        given = dict(call.kwargs)
        if len(call.args) > 1:
            return f"TypeError: f() takes 1 positional argument but {len(call.args)} were given"
        if "scale" not in given:
            return "TypeError: f() missing 1 required positional argument: 'scale'"
        scale = given["scale"]
        return "" if isinstance(scale, Prim) and type(scale.value) is int else "TypeError: scale must be int"

    several = tuple(SignatureParameter(name, positional=True) for name in "xyz")
    number, _ = tried(search_of(ApiSignature("lib.f", several)), check)
    assert number < 100


class Variables(Nothing):
    """A source that makes variables of tensors."""

    def makers(self, api: str, parameter: SignatureParameter) -> Sequence[Maker]:
        """One call, which the search varies."""
        made = SignatureParameter("value", "tensor", positional=True, group="T")
        return [Maker(Invocation("lib.Variable", (Tensor("float32", (7, 7)),)), ApiSignature("lib.Variable", (made,)))]


@pytest.mark.parametrize("seed", range(5))
def test_variables_of_one_shape_and_dtype_are_found(seed: int) -> None:
    def check(call: Invocation) -> str:
        given = dict(call.kwargs)
        held = [each.args[0] for name in ("var", "m", "v") if isinstance(each := given[name], Invocation)]
        tensors = [each for each in (*held, given["grad"]) if isinstance(each, Tensor)]
        if len({each.shape for each in tensors}) > 1:
            return "ValueError: shapes must be equal"
        return "" if len({each.dtype for each in tensors}) == 1 else "TypeError: dtypes must be equal"

    objects = tuple(SignatureParameter(name, "object", dtypes=("resource",)) for name in ("var", "m", "v"))
    grad = SignatureParameter("grad", "tensor", group="T")
    search = Search([ApiSignature("lib.apply", (*objects, grad))], Rng(seed), Variables(), list(DTYPES))
    assert tried(search, check)[0] < 100
