import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bson import ObjectId, encode
from bson.int64 import Int64
from hypothesis import given
from hypothesis import strategies as st

from bench.__main__ import main
from bench.freefuzz import collections, read_dump, value_of
from fuzz_core.ir import codec
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.errors import Undescribable, UserError
from fuzz_core.ir.values import NONE, Invocation, Map, Prim, Ref, Seq, Slice, Tensor, Then, prim
from fuzz_core.store import SeedRecord, Store, TargetRecord, open_store

FLOATS = {"shape": [2, 3], "dtype": "torch.float32"}
TENSOR = Tensor("float32", (2, 3))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "state.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with open_store(path) as opened:
        opened.save_target(TargetRecord("torch-1", "torch==1", "torch", "1", "/python", {"summary": "torch 1"}))
        yield opened


def write(directory: Path, api: str, *documents: dict[str, Any]) -> None:
    body = b"".join(encode({"_id": ObjectId(), **document}) for document in documents)
    (directory / f"{api}.bson").write_bytes(body)


def read(directory: Path) -> tuple[list[Invocation], Counter[tuple[str, str]]]:
    unmapped: Counter[tuple[str, str]] = Counter()
    return list(read_dump(directory, unmapped)), unmapped


class DescribeReadDump:
    def test_a_function_with_positions_and_keywords(self, tmp_path: Path) -> None:
        write(
            tmp_path, "torch.add", {"parameter:0": FLOATS, "parameter:1": 3.5, "alpha": 2, "output_signature": FLOATS}
        )
        found = Invocation("torch.add", (TENSOR, prim(3.5)), (("alpha", prim(2)),))
        assert read(tmp_path) == ([found], Counter())

    def test_positions_are_ordered_by_number(self, tmp_path: Path) -> None:
        write(tmp_path, "torch.f", {f"parameter:{n}": n for n in (10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)})
        ((found,), _) = read(tmp_path)
        assert found.args == tuple(prim(n) for n in range(11))

    def test_a_class_is_constructed_and_its_instance_called(self, tmp_path: Path) -> None:
        document = {"parameter:0": 16, "parameter:1": [1, 3], "bias": True, "input_signature": [FLOATS]}
        write(tmp_path, "torch.nn.Conv2d", {**document, "output_signature": FLOATS})
        args = (prim(16), Seq("list", (prim(1), prim(3))))
        found = Invocation("torch.nn.Conv2d", args, (("bias", prim(True)),), Then("__call__", (TENSOR,)))
        assert read(tmp_path) == ([found], Counter())

    def test_a_method_gets_its_receiver_first(self, tmp_path: Path) -> None:
        write(tmp_path, "torch.Tensor.add", {"parameter:0": 20, "_input_tensor": FLOATS})
        assert read(tmp_path)[0] == [Invocation("torch.Tensor.add", (TENSOR, prim(20)))]

    def test_tensorflow_with_labelled_values_and_inputs(self, tmp_path: Path) -> None:
        inputs = {"Label": "list", "value": [{"Label": "KerasTensor", "shape": [None, 4], "dtype": "float64"}]}
        units = {"Label": "raw", "value": "4"}
        initializer = {"type": "tf_object", "value": "Zeros"}
        document = {"parameter:0": units, "bias_initializer": initializer, "input_signature": inputs}
        write(tmp_path, "tf.keras.layers.Dense", document)
        kwargs = (("bias_initializer", Invocation("tf.keras.initializers.Zeros")),)
        then = Then("__call__", (Tensor("float64", (1, 4)),))
        assert read(tmp_path) == ([Invocation("tf.keras.layers.Dense", (prim(4),), kwargs, then)], Counter())

    def test_a_lost_dtype_is_told_by_the_output(self, tmp_path: Path) -> None:
        lost = {"parameter:0": 5, "dtype": "torchdtype"}
        write(tmp_path, "torch.arange", {**lost, "output_signature": {"shape": [5], "dtype": "torch.int64"}}, lost)
        found, unmapped = read(tmp_path)
        assert found == [Invocation("torch.arange", (prim(5),), (("dtype", Ref("dtype", "int64")),))]
        assert unmapped == {("torch.arange", "value lost: torchdtype"): 1}

    def test_what_cannot_be_mapped_is_counted_by_api_and_reason(self, tmp_path: Path) -> None:
        lost = {"parameter:0": FLOATS, "memory_format": "torchmemory_format"}
        write(tmp_path, "torch.clone", lost, lost, {"parameter:0": FLOATS}, {"parameter:1": 3}, {"*size": 3})
        found, unmapped = read(tmp_path)
        assert found == [Invocation("torch.clone", (TENSOR,))]
        assert unmapped == {
            ("torch.clone", "value lost: torchmemory_format"): 2,
            ("torch.clone", "positions with a gap"): 1,
            ("torch.clone", "no keyword: *size"): 1,
        }

    def test_collections_that_hold_no_calls_are_left_alone(self, tmp_path: Path) -> None:
        write(tmp_path, "signature", {"api": "torch.add", "args": ["input"]})
        write(tmp_path, "torch.add", {"parameter:0": 1})
        assert [file.name for file in collections(tmp_path)] == ["torch.add.bson"]

    @pytest.mark.parametrize(
        "broken", [b"\x05", b"\xff\xff\xff\x7f\x00", b"\x0c\x00\x00\x00\x99a\x00\x00\x00\x00\x00\x00"]
    )
    def test_a_broken_file_is_counted_and_the_others_are_read(self, tmp_path: Path, broken: bytes) -> None:
        write(tmp_path, "torch.abs", {"parameter:0": 1})
        with (tmp_path / "torch.abs.bson").open("ab") as file:
            file.write(broken)
        write(tmp_path, "torch.add", {"parameter:0": 2})
        found, unmapped = read(tmp_path)
        assert found == [Invocation("torch.abs", (prim(1),)), Invocation("torch.add", (prim(2),))]
        ((where, count),) = unmapped.items()
        assert where[0] == "torch.abs" and where[1].startswith("broken BSON: ") and count == 1

    def test_a_missing_directory_is_a_clear_error(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="there is no directory"):
            read(tmp_path / "missing")

    def test_a_directory_above_the_dump_names_the_one_below(self, tmp_path: Path) -> None:
        (tmp_path / "freefuzz-torch").mkdir()
        write(tmp_path / "freefuzz-torch", "torch.add", {"parameter:0": 1})
        with pytest.raises(UserError, match="holds no FreeFuzz collection") as error:
            read(tmp_path)
        assert str(tmp_path / "freefuzz-torch") in error.value.remedy

    def test_the_script_saves_the_calls_of_known_apis(
        self, tmp_path: Path, path: Path, store: Store, capsys: pytest.CaptureFixture[str]
    ) -> None:
        write(tmp_path, "torch.add", *({"input": FLOATS, "other": n} for n in (1, 2, 2)), {"parameter:1": 3})
        write(tmp_path, "torch.sub", {"input": FLOATS, "other": 1})
        (key,) = [target.key for target in store.targets()]
        store.save_apis(key, [Api("torch.add", "function")])
        store.close()
        state = ["--state", str(path.parent)]
        out = tmp_path / "figures.json"
        with pytest.raises(SystemExit, match="0"):
            main(["freefuzz", str(tmp_path), "--target", key, *state, "--json", str(out)])
        assert json.loads(out.read_text())["rows"] == [{"new invocations": 2, "not imported": 2}]
        with pytest.raises(SystemExit, match="2"):
            main(["freefuzz", str(tmp_path), "--target", "torch-9", *state])
        assert "no target 'torch-9'" in capsys.readouterr().err

    def test_the_store_takes_them(self, tmp_path: Path, store: Store) -> None:
        write(tmp_path, "torch.add", *({"input": FLOATS, "other": n} for n in (1, 2, 2)))
        (key,) = [target.key for target in store.targets()]
        seed = SeedRecord("d", "freefuzz", "torch.add", "ok")
        assert store.save_trace(key, seed, ((call, "ok") for call in read_dump(tmp_path, Counter())), {}, {}) == 2
        assert sorted(store.argument_space(key)["other"]["int"]["torch.add"]) == [1, 2]


MAPPED = [
    (None, NONE),
    (True, prim(True)),
    (Int64(2**40), Prim("int", 2**40)),
    (1.5, prim(1.5)),
    (b"raw", Prim("bytes", b"raw")),
    ("mean", prim("mean")),
    ("i,j->ij", prim("i,j->ij")),
    ("torch.float32", Ref("dtype", "float32")),
    ("tf.dtypes.int64", Ref("dtype", "int64")),
    ("torch.double", Ref("dtype", "float64")),
    ("torch.channels_last", Ref("name", "torch.channels_last")),
    ([1, [2.0]], Seq("list", (prim(1), Seq("list", (prim(2.0),))))),
    (FLOATS, TENSOR),
    ({"shape": [4], "dtype": "int64"}, Tensor("int64", (4,), container="ndarray")),
    ({"shape": [], "dtype": "tf.int32_ref", "type": "variable"}, Tensor("int32", (), container="variable")),
    ({"shape": [3], "dtype": "np.bool", "type": "nparray"}, Tensor("bool", (3,), container="ndarray")),
    ({"value": "float32", "type": "DType"}, Ref("dtype", "float32")),
    ({"Label": "tuple", "value": "[1, 2]"}, Seq("tuple", (prim(1), prim(2)))),
    ({"Label": "raw", "value": '"same"'}, prim("same")),
    ({"Label": "raw", "value": "1+2j"}, prim("1+2j")),
    ({"start": None, "stop": 3, "step": None}, Slice(NONE, prim(3), NONE)),
    ({"key": [1], "type": "free"}, Map((("key", Seq("list", (prim(1),))), ("type", prim("free"))))),
    (
        {
            "Label": "tf_object",
            "class_name": "tensorflow.python.framework.dtypes.DType",
            "to_str": "<dtype: 'uint8'>",
        },
        Ref("dtype", "uint8"),
    ),
]

UNMAPPED = [
    ("argparseNamespace", "value lost: argparseNamespace"),
    ("_ioBytesIO", "value lost: _ioBytesIO"),
    ({"shape": None, "dtype": "tf.float32", "type": "tensor"}, "tensor of unknown rank"),
    ({"shape": ["?"], "dtype": "tf.float32", "type": "tensor"}, "tensor of odd shape"),
    ({"shape": [-1], "dtype": "torch.float32"}, "tensor of odd shape"),
    ({"shape": [1], "dtype": "[Tensor,Tensor]"}, "tensor of dtype [Tensor,Tensor]"),
    ({"type": "tf_object"}, "object known by its class alone: tf_object"),
    ({"type": "tf_object", "value": "a.b.VarianceScaling"}, "object known by its class alone: VarianceScaling"),
    ({"type": "other", "value": "<class 'function'>"}, "object known by its class alone: function"),
    ({"Label": "other", "type": "<class 'module'>"}, "object known by its class alone: module"),
    ({"type": "DType", "value": "quaternion"}, "dtype quaternion"),
    ({"Label": "list", "value": "no list"}, "list without items"),
    (ObjectId(), "BSON ObjectId"),
]


class DescribeValueOf:
    @pytest.mark.parametrize(("raw", "value"), MAPPED)
    def test_a_recorded_value_becomes(self, raw: Any, value: Any) -> None:
        assert value_of(raw) == value
        assert codec.decode(codec.encode(value)) == value

    @pytest.mark.parametrize(("raw", "reason"), UNMAPPED)
    def test_what_has_no_description_says_why(self, raw: Any, reason: str) -> None:
        with pytest.raises(Undescribable) as error:
            value_of(raw)
        assert str(error.value) == reason

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
            lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
            max_leaves=20,
        )
    )
    def test_any_data_is_described_or_refused(self, raw: Any) -> None:
        try:
            value = value_of(raw)
        except Undescribable as error:
            assert str(error)
        else:
            assert codec.loads(codec.dumps(value)) == value

    def test_bottomless_nesting_is_refused(self) -> None:
        raw: Any = 1
        for _ in range(100):
            raw = [raw]
        with pytest.raises(Undescribable, match="nested too deeply"):
            value_of(raw)
