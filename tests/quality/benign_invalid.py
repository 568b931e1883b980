"""Calls of PyTorch that look wrong because their input is invalid, or because two functions are no pair."""

from __future__ import annotations

from cases import Case, c, case, k, made, u

from fuzz_core.ir.values import Ref

_CSR = Ref("name", "torch.sparse_csr")
_BROKEN = made(
    "torch.sparse_compressed_tensor",
    k(0, 1, 2, dtype="int64"),
    k(0, 1 << 33, dtype="int64"),
    u(2),
    (2, 2),
    layout=_CSR,
)
_REVERSED = made(
    "torch.sparse_compressed_tensor", k(0, 9, 2, dtype="int64"), k(0, 1, dtype="int64"), u(2), (2, 2), layout=_CSR
)
_NEGATIVE = made("torch.sparse_coo_tensor", k(-(1 << 33), 1, dtype="int64", shape=(1, 2)), u(2), (3,))

CASES: tuple[Case, ...] = (
    case("sparse tensor with an index out of bounds", "torch.Tensor.to_dense", _BROKEN),
    case("sparse tensor with an index out of bounds", "torch.sparse.mm", _BROKEN, u(2, 3)),
    case("sparse tensor with an index out of bounds", "torch.Tensor.to_dense", _NEGATIVE),
    case("sparse tensor with rows that overlap", "torch.matmul", _REVERSED, u(2)),
    case("sparse tensor with rows that overlap", "torch.Tensor.to_sparse_csc", _REVERSED),
    case(
        "a fraction where integers are wanted",
        "torch.Tensor.addmv",
        k(-8, dtype="int64"),
        u(5, 10, low=-7, high=9, dtype="int64"),
        u(10, low=-9, high=9, dtype="int64"),
        beta=-0.97,
        alpha=0.6,
    ),
    case("twins in name alone", "torch.bernoulli", c(1.0, 1)),
    case("twins in name alone", "torch.bernoulli", c(0.0, 2)),
    case("twins in name alone", "torch.bernoulli", c(0.0, 1, dtype="float64")),
    case(
        "factors that no factorisation makes", "torch.linalg.ldl_solve", u(3, 3), k(-2, -2, 3, dtype="int32"), u(3, 2)
    ),
    case("factors that no factorisation makes", "torch.linalg.ldl_solve", u(3, 3), k(3, 3, 1, dtype="int32"), u(3, 2)),
    case("factors that no factorisation makes", "torch.linalg.lu_solve", u(3, 3), k(2, 1, 1, dtype="int32"), u(3, 2)),
    case("no spectrum of real numbers", "torch.fft.irfft", u(4, low=-1, dtype="complex64")),
    case("no spectrum of real numbers", "torch.fft.irfft2", u(3, 4, low=-1, dtype="complex64")),
    case("no spectrum of real numbers", "torch.fft.hfft", u(4, low=-1, dtype="complex64")),
    case(
        "no logarithms of probabilities",
        "torch.nn.functional.ctc_loss",
        u(4, 1, 3),
        k(1, 2, dtype="int64", shape=(1, 2)),
        k(4, dtype="int64"),
        k(2, dtype="int64"),
    ),
    case("no Cholesky factor", "torch.cholesky_solve", u(3, 2), u(3, 3, low=-1)),
    case("no reflectors", "torch.linalg.householder_product", u(3, 3, low=-1), u(3, key=8)),
    case("no LU factor", "torch.lu_unpack", u(3, 3, low=-1), k(3, 3, 1, dtype="int32")),
)
