import math
import unittest

from support import POISON, ServerTest, module, torch

from cutegen_oracle import accuracy
from cutegen_oracle.accuracy import Truth, poisoned, ulp
from cutegen_oracle.patterns import describe_wrong


class Ulps(unittest.TestCase):
    def test_spacing_at_each_magnitude(self):
        x = torch.tensor([0.0, 1e-320, 2.0**-126, 0.75, 1.0, 1.5, 2.0, 2.0**127], dtype=torch.float64)
        expected = [2.0**-149] * 3 + [2.0**-24, 2.0**-23, 2.0**-23, 2.0**-22, 2.0**104]
        self.assertEqual(ulp(x, torch.float32).tolist(), expected)
        self.assertEqual(ulp(x[4:5], torch.bfloat16).item(), 2.0**-7)
        self.assertEqual(ulp(x[4:5], torch.float16).item(), 2.0**-10)
        self.assertEqual(ulp(x[4:5], torch.float64).item(), 2.0**-52)
        self.assertEqual(ulp(x[4:5], torch.int64).item(), 0.0)


class Errors(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.exact = torch.randn(6, 50, dtype=torch.float64)
        self.reference = self.exact.float()
        self.chunk = accuracy.CHUNK
        accuracy.CHUNK = 64  # so that several chunks and a partial one take part

    def tearDown(self):
        accuracy.CHUNK = self.chunk

    def test_against_a_plain_computation(self):
        truth = Truth(self.exact, self.reference, None)
        output = self.reference + 0.01 * torch.randn(6, 50)
        found = truth.compare(output, POISON)
        error = (output.double() - self.exact).abs()
        rms = self.exact.norm().item() / math.sqrt(300)
        self.assertAlmostEqual(found["norm_error"], error.norm().item(), places=12)
        self.assertAlmostEqual(found["norm_truth"], self.exact.norm().item(), places=12)
        self.assertAlmostEqual(found["max_error"], error.max().item() / rms, places=12)
        self.assertAlmostEqual(found["norm_reference"], (self.reference.double() - self.exact).norm().item(), places=15)
        self.assertAlmostEqual(found["floor_norm"], 4 * ulp(self.exact.abs(), torch.float32).norm().item(), places=15)
        self.assertEqual(found["worst_index"], [int(error.argmax()) // 50, int(error.argmax()) % 50])
        self.assertEqual(found["worst_truth"], self.exact.reshape(-1)[error.argmax()].item())
        self.assertFalse(found["suite_allclose"])
        self.assertFalse(found["bit_equal_reference"])

    def test_the_reference_itself(self):
        found = Truth(self.exact, self.reference, None).compare(self.reference.clone(), POISON)
        self.assertEqual(found["norm_error"], found["norm_reference"])
        self.assertEqual(found["max_error"], found["max_reference"])
        self.assertTrue(found["suite_allclose"] and found["bit_equal_reference"])
        self.assertEqual(found["pattern"], [])

    def test_the_magnitude_is_the_scale(self):
        magnitude = torch.full((6, 50), 100.0, dtype=torch.float64)
        found = Truth(self.exact, self.reference, magnitude).compare(self.reference + 1.0, POISON)
        self.assertAlmostEqual(found["max_error"], 0.01, places=6)

    def test_a_second_reference_counts_where_it_is_worse(self):
        truth = Truth(self.exact, self.reference, None)
        before = truth.norm_reference
        truth.also_reference(self.exact.float())
        self.assertEqual(truth.norm_reference, before)
        truth.also_reference(self.reference + 0.5)
        self.assertGreater(truth.norm_reference, 8.0)

    def test_nan_and_infinity_fail_closed(self):
        output = self.reference.clone()
        output[1, 2], output[2, 3] = math.nan, -math.inf
        found = Truth(self.exact, self.reference, None).compare(output, POISON)
        self.assertEqual(found["nonfinite_mismatches"], 2)
        self.assertEqual(found["worst_index"], [1, 2])
        self.assertEqual(found["worst_value"], "nan")
        self.assertFalse(found["suite_allclose"])

    def test_equal_infinities_agree(self):
        exact, reference = self.exact.clone(), self.reference.clone()
        exact[0, 0] = reference[0, 0] = math.inf
        truth = Truth(exact, reference, None)
        self.assertTrue(truth.finite)
        self.assertEqual(truth.compare(reference.clone(), POISON)["nonfinite_mismatches"], 0)
        other = reference.clone()
        other[0, 0] = -math.inf
        self.assertEqual(truth.compare(other, POISON)["nonfinite_mismatches"], 1)

    def test_a_reference_that_overflows_or_is_nan_is_not_finite(self):
        overflowed = self.reference.clone()
        overflowed[3, 3] = math.inf
        self.assertFalse(Truth(self.exact, overflowed, None).finite)
        nan = self.exact.clone()
        nan[3, 3] = math.nan
        self.assertFalse(Truth(nan, nan.float(), None).finite)

    def test_wrong_shape_or_dtype_is_not_compared(self):
        truth = Truth(self.exact, self.reference, None)
        self.assertFalse(truth.compare(self.reference.t().contiguous(), POISON)["shape_ok"])
        self.assertFalse(truth.compare(self.reference.double(), POISON)["shape_ok"])

    def test_all_zero_truth_still_sees_errors(self):
        zero = torch.zeros(10, dtype=torch.float64)
        found = Truth(zero, zero.float(), None).compare(torch.full((10,), 1e-3), POISON)
        self.assertAlmostEqual(found["max_error"], 1e-3)
        self.assertEqual(found["pattern"], ["all elements"])

    def test_integer_outputs_are_exact(self):
        exact = torch.arange(12)
        output = exact.clone()
        output[7] += 1
        found = Truth(exact, exact.clone(), None).compare(output, POISON)
        self.assertEqual((found["norm_error"], found["floor_norm"], found["norm_reference"]), (1.0, 0.0, 0.0))
        self.assertEqual(found["pattern"][1], "only element 7 of 12")

    def test_norms_do_not_overflow(self):
        big = torch.full((100,), 1e200, dtype=torch.float64)
        self.assertAlmostEqual(Truth(big, big.clone(), None).norm_truth / 1e201, 1.0)

    def test_an_empty_output(self):
        empty = torch.zeros(0, 4, dtype=torch.float64)
        found = Truth(empty, empty.float(), None).compare(empty.float(), POISON)
        self.assertEqual((found["elements"], found["norm_error"], found["shape_ok"]), (0, 0.0, True))


class Poison(unittest.TestCase):
    def test_is_found_in_every_element_size(self):
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8,
                      torch.bool):
            words = torch.full((8,), POISON, dtype=torch.int32)
            values = words.view(torch.uint8).view(dtype) if dtype != torch.bool else words.view(torch.uint8)
            self.assertTrue(bool(poisoned(values, 0, POISON).all()), dtype)
            size = values.element_size()
            if size < 4:
                odd = poisoned(values[1:], 0, POISON)  # misaligned against the pattern
                self.assertFalse(bool(odd.all()), dtype)
                self.assertTrue(bool(poisoned(values[1:], 1, POISON).all()), dtype)

    def test_a_legitimate_equal_value_is_not_counted(self):
        reference = torch.full((4,), POISON, dtype=torch.int32)
        found = Truth(reference.clone(), reference, None).compare(reference.clone(), POISON)
        self.assertEqual(found["poison_left"], 0)


class Patterns(unittest.TestCase):
    def sentences(self, shape, *where):
        wrong = torch.zeros(shape, dtype=torch.bool)
        for index in where:
            wrong[index] = True
        return describe_wrong(wrong.reshape(-1), list(shape))[1:]

    def test_sentences(self):
        every = slice(None)
        self.assertEqual(self.sentences((64, 64), (every, slice(0, None, 8))), ["every 8th column"])
        self.assertEqual(self.sentences((64, 64), (every, slice(3, None, 16))), ["every 16th column, from 3"])
        self.assertEqual(self.sentences((64, 64), (slice(48, None), every)), ["rows >= 48 (of 64)"])
        self.assertEqual(self.sentences((64, 63), (every, slice(60, None))), ["only the last 3 elements of each row"])
        self.assertEqual(self.sentences((64, 64), (slice(0, 16), every)), ["rows < 16 (of 64)"])
        self.assertEqual(self.sentences((64, 64), (5, 7)), ["only row 5 of 64", "only column 7 of 64"])
        self.assertEqual(self.sentences((4, 8, 64), (2, every, every)), ["only axis 0 2 of 4"])
        self.assertEqual(self.sentences((4, 128), *[(every, slice(b + 8, b + 16)) for b in range(0, 128, 16)]), ["columns 8 to 15 of every 16"])
        self.assertEqual(self.sentences((100,), (slice(96, None),)), ["elements >= 96 (of 100)"])

    def test_all_and_none(self):
        self.assertEqual(describe_wrong(torch.ones(6, dtype=torch.bool), [2, 3]), ["all elements"])
        self.assertEqual(describe_wrong(torch.zeros(6, dtype=torch.bool), [2, 3]), [])


class ThroughTheServer(ServerTest):
    def test_a_planted_error_in_the_second_output_only(self):
        self.load(module("return x + 1, {'y': x * 2}", "[torch.rand(16, 64)]"))
        trial = self.trial()
        x = torch.rand(1)  # so that the RNG is elsewhere
        first, second = (t.reference.clone().view(16, 64) for t in trial.truths)
        second[:, ::4] += x + 1
        good, bad = self.compare(trial, first, second)
        self.assertEqual(good["pattern"], [])
        self.assertIn("every 4th column", bad["pattern"])

    def test_unknown_trials_are_refused(self):
        self.load(module("return x", "[torch.rand(4)]"))
        error = self.refused("compare", trial=77, outputs=[], poison=POISON)
        self.assertEqual(error["message"], "there is no trial 77 with references")

    def test_the_number_of_outputs_must_agree(self):
        self.load(module("return x + 1", "[torch.rand(4)]"))
        error = self.refused("compare", trial=self.trial().number, outputs=[], poison=POISON)
        self.assertEqual(error["message"], "0 outputs were sent, the task has 1")


if __name__ == "__main__":
    unittest.main()
