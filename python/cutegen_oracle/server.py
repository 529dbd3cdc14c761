"""The side-car's requests. Each is {"op", ...}; each answer {"ok": true, ...} or {"ok": false, "error": {...}}, in order.
An answer with "restart": true is the process's last: the GPU is lost to it.

  hello          version                                   -> version, pid, python, torch, cuda, on_gpu, device_name
  inspect        path                                      -> task (Task of src/task/task.h)
  trial          seed, distribution, randomise_params, precision -> trial, inputs, params, reference_finite
  timing_inputs  seed                                      -> trial, inputs, params
  compare        trial, outputs, poison                    -> outputs ([OutputComparison])
  time_baseline  baseline, warmup, repeats, seconds        -> ms, note
  release        trial                                     -> (nothing)
  trim                                                     -> (nothing)  memory that can be filled again is given back
"""

import atexit
import os
import platform
import sys
import traceback

import torch

from . import PROTOCOL_VERSION, compat, shared_memory
from .baselines import Baselines
from .errors import (DEVICE, INTERNAL, OUT_OF_MEMORY, PROTOCOL, UNSUPPORTED, USER_ERROR, OracleError, first_line, is_device_failure,
                     is_out_of_memory, out_of_memory)
from .limits import available_bytes, limit_memory
from .normal_form import random_ops
from .probe import contraction_flops, probe
from .runner import Runner
from .tracing import signature_of
from .trials import Trials
from .user_file import UserFile

SMALL_BYTES, SMALL_FLOPS = 16 << 20, 1e8  # what a CPU inspection may really run


def choose_device(wanted):
    if wanted == "cpu" or (wanted == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise OracleError(UNSUPPORTED, "the oracle was asked to use CUDA, but this torch sees no GPU",
                          "install a CUDA build of torch and a driver, or use --device cpu")
    torch.cuda.init()
    return torch.device("cuda", torch.cuda.current_device())


class Server:
    def __init__(self, device="auto", memory_limit=0):
        self.wanted, self.memory_limit = device, memory_limit
        self.global_state = compat.GlobalState()
        self.device = self.user = self.signature = self.runner = self.trials = self.baselines = None

    def answer(self, request):
        handlers = {"hello": self.hello, "inspect": self.inspect, "trial": self.trial, "timing_inputs": self.timing_inputs,
                    "compare": self.compare, "time_baseline": self.time_baseline, "release": self.release,
                    "trim": self.trim}
        try:
            handler = handlers.get(request.get("op"))
            if handler is None:
                raise OracleError(PROTOCOL, f"unknown request '{request.get('op')}'")
            answer = dict(handler(request) or {}, ok=True)
        except Exception as error:  # even a bug of ours must not end the process: the answer carries it
            answer = {"ok": False, "error": self.as_answer(error, request.get("op")).to_json()}
        sys.stdout.flush()
        if self.device_is_lost():
            answer["restart"] = True
        return answer

    def as_answer(self, error, op):
        if isinstance(error, OracleError) and not is_device_failure(error):
            return error
        if is_out_of_memory(error):
            return out_of_memory(f"answering '{op}'", error)
        traceback.print_exc()
        if is_device_failure(error):
            return OracleError(DEVICE, f"the GPU failed while answering '{op}': {first_line(error)}", "", traceback.format_exc())
        return OracleError(INTERNAL, f"{type(error).__name__}: {error}", "", traceback.format_exc())

    def device_is_lost(self):
        """Whether an error has made the GPU unusable for this process; the caller then starts another."""
        if self.device is None or self.device.type != "cuda":
            return False
        try:
            torch.cuda.synchronize()
            return False
        except RuntimeError:
            return True

    def hello(self, request):
        if request.get("version") != PROTOCOL_VERSION:
            raise OracleError(PROTOCOL, f"the oracle speaks version {PROTOCOL_VERSION}, the caller {request.get('version')}")
        self.device = choose_device(self.wanted)
        on_gpu = self.device.type == "cuda"
        shared_memory.remove_stale()
        if on_gpu:
            self.budget = int(0.4 * torch.cuda.get_device_properties(self.device).total_memory)
        else:
            self.budget = limit_memory(self.memory_limit or int(0.85 * available_bytes())) // 2
        return {"version": PROTOCOL_VERSION, "pid": os.getpid(), "python": platform.python_version(), "torch": torch.__version__,
                "cuda": torch.version.cuda or "", "on_gpu": on_gpu,
                "device_name": torch.cuda.get_device_name(self.device) if on_gpu else platform.processor() or platform.machine()}

    def inspect(self, request):
        self.close()
        self.global_state.restore()
        compat.register_missing_meta_kernels()
        self.user = UserFile(request["path"])
        self.signature = signature_of(self.user, self.device)
        return {"task": self.task()}

    def task(self):
        matmul, convolution = compat.tf32_flags()
        signature, warnings = self.signature, []
        random = random_ops(signature.graph) if signature.graph else []
        stochastic, probed = self.probe(random)
        if random:
            warnings.append(("train_mode_rng", f"forward draws random numbers ({', '.join(random)})"))
        if stochastic:
            warnings.append(("nondeterministic", "two runs on equal inputs differ under different seeds; references run under a fixed seed"))
        warnings.extend(probed)
        for kind, name in signature.mutated:
            if kind == "input":
                warnings.append(("mutates_input", f"forward writes to its input '{name}'; candidates need only give the outputs"))
        return {"name": self.user.name, "path": self.user.path, "source": self.user.source, "inputs": signature.inputs,
                "params": signature.params, "outputs": signature.outputs, "train_mode": signature.train_mode, "stochastic": stochastic,
                "tf32_matmul": matmul, "tf32_conv": convolution, "graph": signature.graph, "opaque_reason": signature.reason,
                "warnings": [{"code": code, "message": message} for code, message in warnings]}

    def probe(self, random):
        """(stochastic, warnings) from a few runs, where they are cheap; else from whether the graph draws random numbers."""
        graph = self.signature.graph
        size = sum(shared_memory.layout(specs)[1] for specs in (self.signature.inputs, self.signature.params, self.signature.outputs))
        if self.device.type == "cpu" and (size > SMALL_BYTES or (graph and contraction_flops(graph) > SMALL_FLOPS)):
            return bool(random), []
        try:
            return probe(self.started(), bool(random) or graph is None)
        except OracleError as error:
            if error.code == USER_ERROR:
                raise
            return bool(random), []  # a trial will meet the same want of memory, and tell it

    def started(self):
        """The runner, made when it is first needed: it allocates the real parameters."""
        if self.signature is None:
            raise OracleError(PROTOCOL, "no task was inspected")
        if self.runner is None:
            self.runner = Runner(self.user, self.signature, self.device)
            self.trials = Trials(self.runner, self.budget)
            self.baselines = Baselines(self.runner)
        return self.runner

    def trial(self, request):
        self.started()
        key = (int(request["seed"]), request["distribution"], bool(request["randomise_params"]), request["precision"])
        return self.trials.get(key).to_json()

    def timing_inputs(self, request):
        self.started()
        return self.trials.get((int(request["seed"]), "as_given", False, None)).to_json()

    def compare(self, request):
        self.started()
        return {"outputs": self.trials.compare(int(request["trial"]), request["outputs"], int(request["poison"]))}

    def time_baseline(self, request):
        self.started()
        return self.baselines.measure(request["baseline"], int(request["warmup"]), int(request["repeats"]), float(request["seconds"]))

    def release(self, request):
        if self.trials is not None:
            self.trials.release(int(request["trial"]))

    def trim(self, request):
        """A trial is drawn again when it is asked for; compiled baselines stay."""
        if self.trials is None:
            return
        self.trials.close()
        self.baselines.close()
        if self.device.type == "cuda":
            torch.cuda.synchronize()
            torch.cuda.empty_cache()

    def close(self):
        """Lets go of everything shared; also at exit."""
        if self.trials is not None:
            self.trials.close()
            self.baselines.close()
        if self.runner is not None:
            self.runner.arena.close()
        self.runner = self.trials = self.baselines = self.signature = None


def serve(channel, server):
    """Answers until the other side is gone."""
    owner = os.getpid()
    atexit.register(lambda: server.close() if os.getpid() == owner else None)
    while True:
        request = channel.receive()
        if request is None:
            return
        answer = server.answer(request)
        channel.send(answer)
        if answer.get("restart"):
            os._exit(0)  # an orderly end would call into the lost driver context
