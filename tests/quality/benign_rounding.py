"""Known rounding traps: correct calls whose results move with rounding; no call may be reported."""

from __future__ import annotations

from cases import Case, c, case, k, u

TORCH: tuple[Case, ...] = (
    case("a large power overflows on the way to a norm", "torch.norm", c(578.0), p=59),
    case("a large power overflows on the way to a norm", "torch.norm", c(578.0, dtype="float64"), p=59),
    case("a large power overflows on the way to a norm", "torch.linalg.vector_norm", u(3, high=578.0), 59),
    case("a negative power underflows on the way to a norm", "torch.norm", u(4, low=90.0, high=99.0), p=-30),
    case("catastrophic cancellation", "torch.sub", u(8, low=1e7, high=1e7 + 4), u(8, low=1e7, high=1e7 + 4, key=9)),
    case("catastrophic cancellation", "torch.diff", u(16, low=1e7, high=1e7 + 8)),
    case("variance beside a large mean", "torch.var", u(32, low=1e4, high=1e4 + 1), 0),
    case("variance beside a large mean", "torch.std", u(4, 8, low=4096.0, high=4097.0, dtype="float16"), 1),
    case("variance beside a large mean", "torch.nn.functional.layer_norm", u(3, 8, low=5e4, high=5e4 + 1), (8,)),
    case("logsumexp of extremes", "torch.logsumexp", k(-88, 88, 87.5, -1e4, 1e4, 3), 0),
    case("logsumexp of extremes", "torch.logaddexp", k(300, -300, 88), k(-300, 300, 88.5)),
    case("softmax of huge logits", "torch.softmax", k(1e4, 1e4 - 1, -1e4, 9999.5), 0),
    case("softmax of huge logits", "torch.log_softmax", u(2, 16, low=-1e5, high=1e5), 1),
    case("power near overflow", "torch.pow", u(6, low=1.0, high=9.5), 39.0),
    case("power near underflow", "torch.pow", u(6, low=0.1, high=0.2), 40.0),
    case("power of a number near one", "torch.pow", u(6, low=0.99999, high=1.00001), 1e6),
    case("order of summation in half precision", "torch.cumsum", u(512, dtype="float16"), 0),
    case("order of summation in half precision", "torch.cumprod", u(64, low=0.9, high=1.1, dtype="bfloat16"), 0),
    case("order of summation in a product of matrices", "torch.matmul", u(64, 256, low=-1), u(256, 8, low=-1, key=9)),
    case(
        "cancellation in a product of matrices", "torch.matmul", u(8, 64, low=-1e4, high=1e4), u(64, 8, low=-1, key=9)
    ),
    case("order of summation that cancels", "torch.cumsum", u(1000, low=-1e5, high=1e5), 0),
    case("single precision in a gamma function", "torch.lgamma", u(8, low=1e4, high=1e5)),
    case("single precision in a gamma function", "torch.lgamma", u(8, low=-3.001, high=-2.999)),
    case("single precision in a gamma function", "torch.digamma", u(8, low=1.46, high=1.4633)),
    case(
        "single precision in a gamma function", "torch.special.gammainc", u(6, low=60, high=90), u(6, low=60, high=90)
    ),
    case("second derivative near zero", "torch.tanh", u(4, low=9.0, high=12.0, requires_grad=True)),
    case("second derivative near zero", "torch.nn.functional.gelu", u(4, low=6.0, high=9.0, requires_grad=True)),
    case("second derivative near zero", "torch.norm", u(4, low=1e5, high=9e5, requires_grad=True)),
    case("second derivative near zero", "torch.atan2", u(4, low=1e5, high=9e5), u(4, low=1e-2, high=1.0)),
    case(
        "second derivative of a difference of large numbers", "torch.var", u(6, low=8e5, high=9e5, requires_grad=True)
    ),
    case("second derivative of a large power", "torch.norm", c(578.0, requires_grad=True), p=59),
    case("second derivative of a large power", "torch.linalg.vector_norm", u(3, low=400, high=578.0), 59),
    case("argument reduction of a sine", "torch.cos", u(8, low=1e5, high=2e6)),
    case("rounding in a Fourier transform of integers", "torch.fft.hfftn", u(4098, high=2, dtype="int64")),
    case(
        "rounding in a Fourier transform of integers",
        "torch.fft.ifftn",
        u(51, 1, 1, 31, 2, low=-(2**40), high=2**40, dtype="int64"),
    ),
    case("exponent whose rounding is a factor", "torch.logspace", 2**24, k(-1, dtype="int64", shape=()), 2),
    case("exponent that single precision does not hold", "torch.logspace", 2**24 + 1, k(1, dtype="int64", shape=()), 2),
    case("nearly equal tiny numbers", "torch.aminmax", k(4.3e-19, 3.6e-19, 3.0e-19, requires_grad=True)),
    case("exp close to one", "torch.expm1", u(8, low=1e-7, high=1e-5)),
    case("logarithm close to one", "torch.log", u(8, low=0.999999, high=1.000001)),
    case(
        "distance of close points",
        "torch.cdist",
        u(32, 4, low=1e3, high=1e3 + 1),
        u(32, 4, low=1e3, high=1e3 + 1, key=9),
    ),
    case("cosine of nearly parallel vectors", "torch.nn.functional.cosine_similarity", c(1e-5, 2, 8), c(1e-5, 2, 8)),
    case(
        "determinant of a nearly singular matrix", "torch.linalg.det", k(1, 2, 3, 4, 5, 6, 7, 8, 9.00001, shape=(3, 3))
    ),
    case("solution of a nearly singular system", "torch.linalg.solve", k(1, 1, 1, 1.00001, shape=(2, 2)), u(2)),
    case("singular to its own precision", "torch.linalg.inv_ex", k(*range(1, 10), shape=(3, 3))),
    case("singular to its own precision", "torch.linalg.solve_ex", k(*range(1, 10), shape=(3, 3)), u(3, 2)),
    case("singular to its own precision", "torch.linalg.cond", k(1, 2, 2, 4.0000005, shape=(2, 2))),
    case(
        "a Hilbert matrix", "torch.linalg.inv", k(*[1 / (i + j + 1) for i in range(5) for j in range(5)], shape=(5, 5))
    ),
    case("rounding of a quotient decides", "torch.fmod", u(8, low=1e3, high=1e4), c(0.3, 8)),
    case("order of summation of squares", "torch.cov", u(3, 64, low=1e3, high=1e3 + 1)),
    case("order of summation of squares", "torch.corrcoef", u(3, 64, low=1e3, high=1e3 + 1)),
    case("rounding in a Fourier transform", "torch.fft.fft", u(64, low=-1e4, high=1e4)),
    case("rounding in interpolation", "torch.nn.functional.interpolate", u(1, 1, 7, 7), 5, mode="bicubic"),
    case("polygamma near a pole", "torch.polygamma", 2, u(4, low=-2.0001, high=-1.9999)),
    case("zeta near its pole", "torch.special.zeta", u(4, low=1.00001, high=1.001), u(4, low=1.0, high=2.0)),
    case("Bessel function of a large number", "torch.special.bessel_j0", u(8, low=1e4, high=1e6)),
    case("inverse of the error function near one", "torch.erfinv", u(8, low=0.99999, high=0.9999999)),
)

TENSORFLOW: tuple[Case, ...] = (
    case(
        "catastrophic cancellation", "tf.math.subtract", u(8, low=1e7, high=1e7 + 4), u(8, low=1e7, high=1e7 + 4, key=9)
    ),
    case("variance beside a large mean", "tf.math.reduce_variance", u(32, low=1e4, high=1e4 + 1)),
    case("variance beside a large mean", "tf.nn.moments", u(32, low=1e4, high=1e4 + 1), [0]),
    case("logsumexp of extremes", "tf.math.reduce_logsumexp", k(-88, 88, 87.5, -1e4, 1e4, 3)),
    case("softmax of huge logits", "tf.nn.softmax", k(1e4, 1e4 - 1, -1e4, 9999.5)),
    case("softmax of huge logits", "tf.nn.log_softmax", u(2, 16, low=-1e5, high=1e5)),
    case("power near overflow", "tf.math.pow", u(6, low=1.0, high=9.5), c(39.0)),
    case("power near underflow", "tf.math.pow", u(6, low=0.1, high=0.2), c(40.0)),
    case("power of a number near one", "tf.math.pow", u(6, low=0.99999, high=1.00001), c(1e6)),
    case("order of summation in half precision", "tf.math.cumsum", u(512, dtype="float16")),
    case("order of summation in half precision", "tf.math.cumprod", u(64, low=0.9, high=1.1, dtype="float16")),
    case("order of summation that cancels", "tf.math.cumsum", u(1000, low=-1e5, high=1e5)),
    case(
        "cancellation in a product of matrices",
        "tf.linalg.matmul",
        u(8, 64, low=-1e4, high=1e4),
        u(64, 8, low=-1, key=9),
    ),
    case("a large power overflows on the way to a norm", "tf.norm", c(578.0, 1), ord=59),
    case("a large power overflows on the way to a norm", "tf.norm", u(3, high=578.0), ord=59),
    case("single precision in a gamma function", "tf.math.lgamma", u(8, low=1e4, high=1e5)),
    case("single precision in a gamma function", "tf.math.lgamma", u(8, low=-3.001, high=-2.999)),
    case("single precision in a gamma function", "tf.math.digamma", u(8, low=1.46, high=1.4633)),
    case("single precision in a gamma function", "tf.math.igamma", u(6, low=60, high=90), u(6, low=60, high=90)),
    case("derivative near zero", "tf.math.tanh", u(4, low=9.0, high=12.0)),
    case("derivative near zero", "tf.nn.gelu", u(4, low=6.0, high=9.0)),
    case("argument reduction of a sine", "tf.math.cos", u(8, low=1e5, high=2e6)),
    case(
        "distance of close points",
        "tf.math.squared_difference",
        u(8, low=1e4, high=1e4 + 1),
        u(8, low=1e4, high=1e4 + 1),
    ),
    case("determinant of a nearly singular matrix", "tf.linalg.det", k(1, 2, 3, 4, 5, 6, 7, 8, 9.00001, shape=(3, 3))),
    case("solution of a nearly singular system", "tf.linalg.solve", k(1, 1, 1, 1.00001, shape=(2, 2)), u(2, 1)),
    case("rounding in a Fourier transform", "tf.signal.rfft", u(64, low=-1e4, high=1e4)),
    case("polygamma near a pole", "tf.math.polygamma", c(2.0), u(4, low=-2.0001, high=-1.9999)),
    case("zeta near its pole", "tf.math.zeta", u(4, low=1.00001, high=1.001), u(4, low=1.0, high=2.0)),
    case("inverse of the error function near one", "tf.math.erfinv", u(8, low=0.99999, high=0.9999999)),
    case(
        "normalisation beside a large mean", "tf.keras.layers.LayerNormalization", then=[u(3, 8, low=5e4, high=5e4 + 1)]
    ),
)
