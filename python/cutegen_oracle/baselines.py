"""Times of PyTorch itself: eager and torch.compile, as the user's flags have it and with TF32 allowed."""

import contextlib
import signal
import time

import torch

from . import compat
from .errors import DeadlinePassed, OracleError, first_line
from .runner import FORWARD_SEED
from .shared_memory import make_arena
from .trees import map_tensors, unflatten
from .user_file import seed_everything

MIN_FLUSH_BYTES = 256 << 20
SET_BYTES = 4 << 30  # of rotating input sets together


@contextlib.contextmanager
def time_limit(seconds):
    """Raises DeadlinePassed in the main thread; what runs in C++ is interrupted when it returns to Python."""
    def ring(signum, frame):
        raise DeadlinePassed

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(0.05, seconds))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Baselines:
    def __init__(self, runner):
        self.runner = runner
        self.models = {}   # tf32 or not -> compiled module
        self.sets = []
        self.arenas = []
        self.flush = None

    def input_sets(self):
        """Full argument lists with different contents each: three, or fewer where they are large."""
        if not self.sets:
            size = sum(x.numel() * x.element_size() for x in self.make_set(1))
            for seed in range(2, 2 + min(2, SET_BYTES // max(1, size))):
                self.make_set(seed)
        return self.sets

    def make_set(self, seed):
        runner, call = self.runner, self.runner.call
        arena, tensors, _ = make_arena(runner.signature.inputs, runner.device)
        self.arenas.append(arena)
        runner.fill_inputs(tensors, seed)
        feed = iter(tensors)
        leaves = [next(feed) if isinstance(leaf, torch.Tensor) else leaf for _, leaf in call.leaves]
        self.sets.append(unflatten(call.arguments, iter(leaves)))
        return tensors

    def measure(self, baseline, warmup, repeats, seconds):
        """{"ms": [...], "note": why there are none}."""
        compiled, allow = baseline.startswith("compile"), baseline.endswith("_tf32")
        matmul, convolution = (True, True) if allow else compat.tf32_flags()
        end = time.monotonic() + seconds
        try:
            with compat.tf32(matmul, convolution), torch.no_grad(), self.runner.state_restored(), time_limit(seconds):
                model = self.compiled(allow) if compiled else self.runner.call.model
                sets = self.input_sets()
                seed_everything(FORWARD_SEED)
                for i in range(max(1, warmup) * (len(sets) if compiled else 1)):
                    model(*sets[i % len(sets)])
                self.synchronize()
                return {"ms": self.samples(model, sets, repeats, end), "note": ""}
        except DeadlinePassed:
            return {"ms": [], "note": f"{baseline} took longer than {seconds:g} s"}
        except OracleError:
            raise
        except Exception as error:  # torch.compile may fail in any way; the other baselines still stand
            return {"ms": [], "note": f"{baseline} is not available: {type(error).__name__}: {first_line(error)}"}
        finally:
            self.runner.settle()

    def compiled(self, allow):
        if not hasattr(torch, "compile"):
            raise RuntimeError(f"torch {torch.__version__} has no torch.compile")
        if self.runner.device.type == "cpu":
            raise RuntimeError("timing torch.compile needs a GPU")
        if allow not in self.models:  # TF32 is among the states that torch.compile guards on, but a wrapper each is plainer
            self.models[allow] = torch.compile(self.runner.call.model)
        return self.models[allow]

    def samples(self, model, sets, repeats, end):
        timer = self.time_on_gpu if self.runner.device.type == "cuda" else self.time_on_cpu
        result = []
        for i in range(repeats):
            if result and time.monotonic() > end - 0.2:
                break
            arguments = sets[i % len(sets)]
            if self.runner.writes_inputs:
                arguments = map_tensors(arguments, torch.Tensor.clone)
            result.append(timer(model, arguments))
        return result

    def time_on_gpu(self, model, arguments):
        """Device time of one call after the L2 was overwritten; the flush hides the launch overhead of the first kernel."""
        if self.flush is None:
            l2 = getattr(torch.cuda.get_device_properties(self.runner.device), "L2_cache_size", 0)
            self.flush = torch.empty(max(2 * l2, MIN_FLUSH_BYTES), dtype=torch.uint8, device=self.runner.device)
        begin, finish = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        self.flush.zero_()
        begin.record()
        model(*arguments)
        finish.record()
        finish.synchronize()
        return begin.elapsed_time(finish)

    def time_on_cpu(self, model, arguments):
        begin = time.perf_counter()
        model(*arguments)
        return (time.perf_counter() - begin) * 1e3

    def synchronize(self):
        if self.runner.device.type == "cuda":
            torch.cuda.synchronize()

    def close(self):
        for arena in self.arenas:
            arena.close()
        self.arenas, self.sets, self.flush = [], [], None
