import struct
import unittest

from support import ServerTest, module, torch

from cutegen_oracle import compat
from cutegen_oracle.magnitude import Magnitudes
from cutegen_oracle.modes import Float64, HalfStorage, RoundedOperands, round_mantissa


def tf32_by_hand(value):
    """Nearest float32 with ten mantissa bits, ties to even, one value at a time."""
    word, = struct.unpack("<I", struct.pack("<f", value))
    low, high = word & ~0x1FFF, (word & ~0x1FFF) + 0x2000
    as_float = [struct.unpack("<f", struct.pack("<I", w))[0] for w in (low, high)]
    below, above = abs(value - as_float[0]), abs(as_float[1] - value)
    even = low if not low >> 13 & 1 else high
    return as_float[0] if below < above else as_float[1] if above < below else struct.unpack("<f", struct.pack("<I", even))[0]


class Rounding(unittest.TestCase):
    def test_agrees_with_rounding_by_hand(self):
        torch.manual_seed(0)
        x = torch.cat([torch.randn(500) * 10.0**e for e in (-20, 0, 20)] + [torch.tensor([1 + 2.0**-11, 1 + 3 * 2.0**-11, -1 - 2.0**-11, 0.0])])
        self.assertEqual(round_mantissa(x, 10).tolist(), [tf32_by_hand(v) for v in x.tolist()])

    def test_non_finite_values_stay(self):
        x = torch.tensor([float("inf"), float("-inf"), float("nan")])
        self.assertEqual(str(round_mantissa(x, 10).tolist()), "[inf, -inf, nan]")

    def test_only_allowed_contractions_round(self):
        x, w = torch.randn(8, 8), torch.randn(8, 8)
        with RoundedOperands(matmul=False, convolution=True) as mode:
            self.assertTrue(torch.equal(x @ w, (x @ w)))
        self.assertFalse(mode.fired)
        with RoundedOperands(matmul=True, convolution=False) as mode:
            rounded = x @ w
        self.assertTrue(mode.fired)
        self.assertTrue(torch.equal(rounded, round_mantissa(x, 10) @ round_mantissa(w, 10)))

    def test_linear_rounds_its_operands_not_its_bias(self):
        layer, x = torch.nn.Linear(8, 8), torch.randn(4, 8)
        with torch.no_grad(), RoundedOperands(matmul=True, convolution=False):
            found = layer(x)
        expected = torch.addmm(layer.bias, round_mantissa(x, 10), round_mantissa(layer.weight.data, 10).t())
        self.assertTrue(torch.equal(found, expected))

    def test_half_storage(self):
        x = torch.tensor([1.0 + 2.0**-11, 3.0])
        with HalfStorage():
            y = x * 1.0
        self.assertEqual(y.tolist(), [1.0, 3.0])
        self.assertEqual(y.dtype, torch.float32)


class DoubleRuns(unittest.TestCase):
    def test_casts_factories_and_constants_are_double(self):
        with compat.default_dtype(torch.float64), Float64():
            x = torch.rand(4, dtype=torch.float64)
            y = x.float() * torch.ones(4, dtype=torch.float32) + torch.tensor(0.1)
            z = x.half()
        self.assertEqual((y.dtype, z.dtype), (torch.float64, torch.float64))
        self.assertTrue(torch.equal(y, x + 0.1))
        self.assertTrue(torch.equal(z, x))

    def test_random_draws_are_those_of_the_float_run(self):
        for draw in (lambda x: torch.nn.functional.dropout(x, 0.5), torch.rand_like, lambda x: torch.randn(4, 6) + x, torch.bernoulli):
            x = torch.full((4, 6), 0.5)
            torch.manual_seed(3)
            plain = draw(x)
            torch.manual_seed(3)
            with compat.default_dtype(torch.float64), Float64():
                exact = draw(x.double())
            self.assertEqual(exact.dtype, torch.float64)
            self.assertLess((exact - plain.double()).abs().max().item(), 1e-6)

    def test_softmax_with_half_to_float(self):
        with Float64():
            y = torch.softmax(torch.rand(4, 5).half(), dim=1, dtype=torch.float32)
        self.assertEqual(y.dtype, torch.float64)
        self.assertTrue(torch.allclose(y.sum(dim=1), torch.ones(4, dtype=torch.float64)))


class MagnitudesOfSums(unittest.TestCase):
    def of(self, function, *inputs):
        with torch.no_grad(), compat.default_dtype(torch.float64), Float64(magnitudes=True) as mode:
            result = function(*inputs)
            return result, mode.magnitudes.of(result)

    def test_sums_and_contractions(self):
        torch.manual_seed(1)
        x, w, b = (torch.randn(s, dtype=torch.float64) for s in ((4, 6), (6, 5), (5,)))
        for function, expected in ((lambda: x.sum(1), x.abs().sum(1)), (lambda: x.mean(), x.abs().mean()), (lambda: x @ w, x.abs() @ w.abs()),
                                   (lambda: torch.addmm(b, x, w), b.abs() + x.abs() @ w.abs()), (lambda: x.cumsum(1), x.abs().cumsum(1))):
            _, size = self.of(function)
            self.assertTrue(torch.allclose(size, expected))

    def test_convolution_with_bias(self):
        x, layer = torch.randn(1, 2, 5, 5, dtype=torch.float64), torch.nn.Conv2d(2, 3, 3).double()
        _, size = self.of(layer, x)
        expected = torch.nn.functional.conv2d(x.abs(), layer.weight.abs(), layer.bias.abs())
        self.assertTrue(torch.allclose(size, expected))

    def test_follows_the_epilogue(self):
        x, w = torch.randn(4, 6, dtype=torch.float64), torch.randn(6, 5, dtype=torch.float64)
        _, size = self.of(lambda: torch.relu((x @ w) * -2.0 + 1.0).t().unsqueeze(0))
        self.assertTrue(torch.allclose(size, ((x.abs() @ w.abs()) * 2.0 + 1.0).t().unsqueeze(0)))

    def test_in_place_epilogues_keep_it(self):
        x, w = torch.randn(4, 6, dtype=torch.float64), torch.randn(6, 5, dtype=torch.float64)
        _, size = self.of(lambda: torch.relu_(x @ w))
        self.assertTrue(torch.allclose(size, x.abs() @ w.abs()))

    def test_ends_at_what_it_does_not_know(self):
        x = torch.randn(4, 6, dtype=torch.float64)
        self.assertIsNone(self.of(lambda: torch.softmax(x @ x.t(), 1))[1])
        self.assertIsNone(self.of(lambda: x * 2)[1])

    def test_forgets_dead_tensors(self):
        sizes = Magnitudes()
        x = torch.randn(3, dtype=torch.float64)
        sizes.observe("sum", torch.ops.aten.sum.default, (x,), {}, x.sum())
        key = next(iter(sizes.known))
        self.assertIsNone(sizes.known[key][0]())


class Precisions(ServerTest):
    CONV = module("return self.c(x)", "[torch.randn(1, 8, 12, 12)]", "self.c = nn.Conv2d(8, 8, 3)")
    GEMM = module("return self.l(x)", "[torch.randn(16, 64)]", "self.l = nn.Linear(64, 32)")

    def errors(self, text):
        self.load(text)
        return {p: self.trial(precision=p).truths[0].norm_reference / self.trial(precision=p).truths[0].norm_truth
                for p in ("match", "fp32", "tf32", "half")}

    def test_match_allows_tf32_where_pytorch_does(self):
        conv, gemm = self.errors(self.CONV), self.errors(self.GEMM)
        self.assertGreater(conv["match"], 1e-5)  # cuDNN may use TF32 by default
        self.assertLess(gemm["match"], 1e-6)     # cuBLAS may not
        for error in (conv, gemm):
            self.assertLess(error["fp32"], 1e-6)
            self.assertTrue(1e-5 < error["tf32"] < 1e-3)
            self.assertTrue(1e-5 < error["half"] < 2e-3)

    def test_the_users_flags_count(self):
        flags = "torch.backends.cuda.matmul.allow_tf32 = True\ntorch.backends.cudnn.allow_tf32 = False\n"
        errors = self.errors(self.GEMM + flags)
        task = self.server.task()
        self.assertGreater(errors["match"], 1e-5)
        self.assertEqual((task["tf32_matmul"], task["tf32_conv"]), (True, False))

    def test_flags_of_one_file_do_not_reach_the_next(self):
        self.load(self.GEMM + "torch.backends.cuda.matmul.allow_tf32 = True\ntorch.set_default_dtype(torch.float64)\n")
        task = self.load(self.GEMM)
        self.assertFalse(task["tf32_matmul"])
        self.assertEqual(task["inputs"][0]["dtype"], "float32")


if __name__ == "__main__":
    unittest.main()
