import os
import unittest

from support import POISON, ServerTest, module, torch

from cutegen_oracle import shared_memory
from cutegen_oracle.distributions import DISTRIBUTIONS, draw, randomised
from cutegen_oracle.shared_memory import Opened, ShmArena, make_arena


class Distributions(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.x = torch.rand(64, 65) - 0.25

    def test_each_has_its_own_mark(self):
        x = self.x
        drawn = {name: draw(name, x, 7) for name in DISTRIBUTIONS}
        self.assertTrue(torch.equal(drawn["as_given"], x))
        self.assertTrue(torch.equal(drawn["times3"], x * 3))
        self.assertTrue(torch.equal(drawn["times001"], x * 0.01))
        self.assertTrue(torch.equal(drawn["negated"], -x))
        self.assertTrue(torch.equal(drawn["sign_symmetric"].abs(), x.abs()))
        self.assertLess(abs((drawn["sign_symmetric"] > 0).float().mean().item() - 0.5), 0.05)
        ratio = (drawn["wide_exponent"] / x).log2()
        self.assertEqual((ratio.min().item(), ratio.max().item()), (-12.0, 12.0))
        self.assertLessEqual(len(drawn["ties"].unique()), 5)
        self.assertGreaterEqual(len(drawn["ties"].unique()), 2)
        self.assertTrue(set(drawn["ties"].unique().tolist()) <= set(x.reshape(-1).tolist()))
        self.assertEqual(drawn["small_integers"].unique().tolist(), [float(i) for i in range(-4, 5)])

    def test_equal_seeds_agree_and_others_do_not(self):
        for name in ("sign_symmetric", "wide_exponent", "ties", "small_integers"):
            self.assertTrue(torch.equal(draw(name, self.x, 7), draw(name, self.x, 7)))
            self.assertFalse(torch.equal(draw(name, self.x, 7), draw(name, self.x, 8)))

    def test_integers_and_bools_stay_and_dtypes_too(self):
        index, half = torch.arange(5), torch.rand(5).half()
        for name in DISTRIBUTIONS:
            self.assertTrue(torch.equal(draw(name, index, 1), index))
            self.assertEqual(draw(name, half, 1).dtype, torch.float16)

    def test_parameters_leave_their_identity_values_and_keep_their_size(self):
        ones = randomised("bn.weight", "param", torch.ones(1000), 1)
        self.assertTrue(0.5 <= ones.min().item() < 0.6 and 1.4 < ones.max().item() <= 1.5)
        zeros = randomised("bn.bias", "param", torch.zeros(1000), 1)
        self.assertAlmostEqual(zeros.std().item(), 0.1, delta=0.02)
        weight = torch.randn(1000) * 0.02 + 3
        drawn = randomised("l.weight", "param", weight, 1)
        self.assertAlmostEqual(drawn.std().item(), 0.02, delta=0.003)
        self.assertAlmostEqual(drawn.mean().item(), 3, delta=0.01)
        self.assertGreater(randomised("bn.running_var", "buffer", torch.ones(1000), 1).min().item(), 0.4)
        mask = torch.tril(torch.ones(4, 4))
        self.assertTrue(torch.equal(randomised("mask", "buffer", mask, 1), mask))


class SharedMemory(unittest.TestCase):
    SPECS = [{"name": "a", "dtype": "bfloat16", "shape": [3, 5]}, {"name": "b", "dtype": "bool", "shape": [7]},
             {"name": "s", "dtype": "float64", "shape": []}, {"name": "e", "dtype": "float32", "shape": [0, 4]}]

    def test_another_process_sees_the_values(self):
        arena, tensors, shared = make_arena(self.SPECS, torch.device("cpu"))
        child = os.fork()
        if child == 0:
            opened = Opened(shared, torch.device("cpu"))
            opened.tensor(0).fill_(1.5)
            opened.tensor(1)[2] = True
            opened.tensor(2).fill_(-3.25)
            os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertTrue(bool((tensors[0] == 1.5).all()))
        self.assertEqual(tensors[1].tolist(), [False, False, True, False, False, False, False])
        self.assertEqual(tensors[2].item(), -3.25)
        self.assertEqual(list(tensors[3].shape), [0, 4])
        self.assertTrue(all(one["offset"] % 256 == 0 for one in shared))
        self.assertTrue(os.path.exists("/dev/shm" + arena.handle))
        arena.close()
        self.assertFalse(os.path.exists("/dev/shm" + arena.handle))
        self.assertTrue(bool((tensors[0] == 1.5).all()))  # still mapped

    def test_names_and_sizes_are_checked(self):
        with self.assertRaisesRegex(Exception, "is not the name of a shared memory object"):
            ShmArena.open("/../etc/passwd")
        with self.assertRaisesRegex(Exception, "cannot open shared memory /cutegen-none: No such file or directory"):
            ShmArena.open("/cutegen-none")

    def test_more_than_there_is_room_for(self):
        with self.assertRaisesRegex(Exception, "out of memory while sharing"):
            ShmArena.create(1 << 50)
        self.assertFalse([n for n in os.listdir("/dev/shm") if n.startswith(f"cutegen-{os.getpid()}-")])

    def test_stale_objects_go_and_live_ones_stay(self):
        dead, dead_device = "/dev/shm/cutegen-999999998-5", "/dev/shm/cutegen-999999998-virtual-5"
        alive = f"/dev/shm/cutegen-{os.getppid()}-999999"
        for path in (dead, dead_device, alive):
            with open(path, "w", encoding="ascii"):
                pass
        shared_memory.remove_stale()
        self.assertFalse(os.path.exists(dead))
        self.assertFalse(os.path.exists(dead_device))
        self.assertTrue(os.path.exists(alive))
        os.unlink(alive)


class Trials(ServerTest):
    RELU = module("return torch.relu(x)", "[torch.randn(8, 16)]")

    def test_a_trial_is_reused_and_depends_on_all_of_its_spec(self):
        self.load(self.RELU)
        first = self.trial(seed=1)
        self.assertIs(self.trial(seed=1), first)
        others = {self.trial(seed=2).number, self.trial(seed=1, distribution="times3").number, self.trial(seed=1, randomise=True).number,
                  self.trial(seed=1, precision="fp32").number, first.number}
        self.assertEqual(len(others), 5)

    def test_inputs_repeat_under_a_seed_even_after_eviction(self):
        self.load(self.RELU)
        first = self.trial(seed=9)
        values = first.truths[0].truth.clone()
        self.server.trials.drop(first)
        again = self.trial(seed=9)
        self.assertEqual(again.number, first.number)
        self.assertTrue(torch.equal(again.truths[0].truth, values))

    def test_old_trials_go_when_memory_is_short(self):
        self.load(self.RELU)
        self.server.started()
        self.server.trials.budget = 20000
        numbers = [self.trial(seed=s).number for s in range(30)]
        self.assertLessEqual(self.server.trials.held(), 20000)
        self.assertIn(numbers[-1], self.server.trials.by_number)
        self.assertNotIn(numbers[0], self.server.trials.by_number)
        output = torch.zeros(8, 16)  # an evicted trial is computed again for a comparison
        found = self.ask("trial", seed=0, distribution="as_given", randomise_params=False, precision="match")
        self.assertEqual(found["trial"], numbers[0])
        self.assertGreater(self.compare(self.server.trials.by_number[numbers[0]], output)[0]["norm_error"], 1)

    def test_released_trials_go_first(self):
        self.load(self.RELU)
        kept, released = self.trial(seed=1), self.trial(seed=2)
        self.ask("release", trial=released.number)
        self.ask("release", trial=12345)  # unknown: ignored
        self.assertTrue(self.server.trials.evict_one())
        self.assertIn(kept.number, self.server.trials.by_number)
        self.assertNotIn(released.number, self.server.trials.by_number)

    def test_trimming_gives_all_memory_back_and_forgets_no_trial(self):
        self.load(self.RELU)
        trial = self.trial(seed=4)
        expected = trial.truths[0].truth.float()
        self.ask("trim")
        self.assertEqual(self.server.trials.held(), 0)
        self.ask("trial", seed=4, distribution="as_given", randomise_params=False, precision="match")
        self.assertEqual(self.compare(self.server.trials.by_number[trial.number], expected)[0]["norm_error"], 0)

    def test_exported_inputs_are_what_forward_saw(self):
        self.load(module("return x * 2", "[torch.rand(4, 6).t()]"))
        answer = self.ask("trial", seed=3, distribution="as_given", randomise_params=False, precision="match")
        shared = Opened(answer["inputs"], torch.device("cpu")).tensor(0)
        torch.manual_seed(3)
        self.assertTrue(torch.equal(shared, torch.rand(4, 6).t()))
        self.assertTrue(torch.equal(self.server.trials.by_number[answer["trial"]].truths[0].reference.view(6, 4), shared * 2))

    def test_nothing_that_forward_writes_to_leaks_into_the_next_run(self):
        self.load(module("self.calls.add_(1)\nx.mul_(2)\nreturn x + self.calls", "[torch.rand(4)]", "self.register_buffer('calls', torch.zeros(()))"))
        trial = self.trial(seed=1)
        self.ask("time_baseline", baseline="eager", warmup=1, repeats=3, seconds=5.0)
        self.assertEqual(self.server.runner.params[0].item(), 0.0)
        opened = Opened(trial.shared_inputs, torch.device("cpu")).tensor(0)
        self.assertTrue(torch.equal(trial.truths[0].reference, opened * 2 + 1))

    def test_batch_norm_statistics_are_restored(self):
        self.load(module("return self.bn(x)", "[torch.rand(8, 4)]", "self.bn = nn.BatchNorm1d(4)"))
        self.trial(seed=1)
        self.ask("time_baseline", baseline="eager", warmup=1, repeats=2, seconds=5.0)
        by_name = dict(zip([p["name"] for p in self.server.signature.params], self.server.runner.params))
        self.assertEqual(by_name["bn.running_mean"].tolist(), [0.0] * 4)
        self.assertEqual(by_name["bn.num_batches_tracked"].item(), 0)

    def test_a_distribution_on_which_the_reference_is_not_finite_is_said(self):
        self.load(module("return torch.log(x)", "[torch.rand(64) + 0.1]"))
        ask = dict(seed=1, randomise_params=False, precision="match")
        self.assertTrue(self.ask("trial", distribution="as_given", **ask)["reference_finite"])
        self.assertFalse(self.ask("trial", distribution="negated", **ask)["reference_finite"])

    def test_a_distribution_that_the_module_refuses_is_dropped(self):
        self.load(module("if bool((x < 0).any()):\n    raise ValueError('x must not be negative')\nreturn torch.sqrt(x)", "[torch.rand(64)]"))
        ask = dict(seed=1, randomise_params=False, precision="match")
        self.assertTrue(self.ask("trial", distribution="as_given", **ask)["reference_finite"])
        answer = self.ask("trial", distribution="negated", **ask)
        self.assertFalse(answer["reference_finite"])
        error = self.refused("compare", trial=answer["trial"], outputs=[], poison=POISON)
        self.assertIn("the module does not accept its inputs", error["message"])

    def test_a_baseline_that_takes_too_long_is_a_note(self):
        self.load(module("import time\ntime.sleep(0.5)\nreturn x", "[torch.rand(1 << 23)]"))
        answer = self.ask("time_baseline", baseline="eager", warmup=1, repeats=3, seconds=0.2)
        self.assertEqual((answer["ms"], answer["note"]), ([], "eager took longer than 0.2 s"))

    def test_dropout_is_stochastic_but_its_reference_repeats(self):
        task = self.load(module("return self.d(x)", "[torch.rand(64) + 1]", "self.d = nn.Dropout(0.5)"))
        self.assertTrue(task["stochastic"])
        truth = self.trial().truths[0]
        self.assertLess(truth.max_reference, 1e-6)  # the float64 run drops the same elements
        self.assertIn(0.0, truth.truth.tolist())

    def test_memory_that_runs_out_is_an_answer(self):
        self.load(module("return x.repeat(1 << 20)[:4] * 2", "[torch.rand(1 << 20)]"))
        error = self.refused("trial", seed=1, distribution="as_given", randomise_params=False, precision="match")
        self.assertEqual(error["code"], "out_of_memory")
        self.assertEqual(error["message"], "out of memory while in forward (tried to allocate 4398046511104 bytes)")
        self.load(self.RELU)
        self.assertTrue(self.trial().truths)

    def test_timing_inputs_have_no_references(self):
        self.load(self.RELU)
        answer = self.ask("timing_inputs", seed=4)
        self.assertEqual(len(answer["inputs"]), 1)
        self.assertIn("no trial", self.refused("compare", trial=answer["trial"], outputs=[], poison=POISON)["message"])


if __name__ == "__main__":
    unittest.main()
