"""The user's module on its device: real parameters, and runs of forward in the arithmetics that the truth needs."""

import contextlib

import torch

from . import compat
from .accuracy import Truth
from .distributions import draw, randomised
from .dtypes import spec
from .errors import INTERNAL, USER_ERROR, OracleError
from .modes import Float64, HalfStorage, RoundedOperands, to_double
from .shared_memory import make_arena
from .tracing import Call
from .trees import flatten
from .user_file import seed_everything

FORWARD_SEED = 1234567  # of the RNG state in which every forward runs, so that dropout repeats


class Runner:
    """Owns the real module. Tensors of a call: `params` in Task order, `inputs` flattened."""

    def __init__(self, user, signature, device):
        self.user, self.signature, self.device = user, signature, device
        with torch.no_grad():
            model = self.on_device(lambda: user.make_model())
            model.to(device)
            arguments = self.on_device(lambda: user.make_inputs(0))
            self.call = Call(user, model, arguments)
            self.kinds = [slot.kind for slot, _ in self.call.state]
            params = [t.to(device).contiguous() for _, t in self.call.params()]
            if [spec(n, p) for (n, _), p in zip(self.call.params(), params)] != signature.params:
                raise OracleError(USER_ERROR, f"{user.name}.py: Model has other parameters each time that it is constructed")
            self.arena, self.params, self.shared_params = make_arena(signature.params, device)
            for mine, value in zip(self.params, params):
                mine.copy_(value)
            for (slot, aliases), mine in zip(self.call.state, self.params):
                for place in [slot] + aliases:  # the module's own storage is let go of
                    place.put(torch.nn.Parameter(mine, requires_grad=False) if place.kind == "param" else mine)
        self.writes_params = signature.graph is None or any(kind == "param" for kind, _ in signature.mutated)
        self.writes_inputs = signature.graph is None or any(kind == "input" for kind, _ in signature.mutated)

    def on_device(self, make):
        """The user's factories put their tensors on the device; where that fails (a CPU generator, say) on the CPU."""
        try:
            with compat.default_device(self.device):
                return make()
        except OracleError as error:
            if self.device.type == "cpu" or error.code != USER_ERROR:
                raise
            return make()

    # Inputs and parameters ----------------------------------------------------------------------------------------

    def fill_inputs(self, tensors, seed, distribution="as_given"):
        """get_inputs() under a seed, drawn as `distribution`, into `tensors`."""
        arguments = self.on_device(lambda: self.user.make_inputs(seed))
        names = self.user.argument_names(len(arguments))
        leaves = [leaf for name, argument in zip(names, arguments) for leaf in flatten(argument, name)]
        given = [(name, leaf) for name, leaf in leaves if isinstance(leaf, torch.Tensor)]
        if [spec(name, leaf) for name, leaf in given] != self.signature.inputs:
            raise OracleError(USER_ERROR, f"{self.user.name}.py: get_inputs() returns other shapes or dtypes under seed {seed} than before")
        for i, (mine, (_, value)) in enumerate(zip(tensors, given)):
            mine.copy_(draw(distribution, value.detach().to(self.device), seed * 1000003 % 2**31 + i))

    def fill_randomised(self, tensors, seed):
        for i, (mine, value, one, kind) in enumerate(zip(tensors, self.params, self.signature.params, self.kinds)):
            mine.copy_(randomised(one["name"], kind, value, seed * 7919 % 2**31 + i))

    # Runs ---------------------------------------------------------------------------------------------------------

    def forward(self, params, inputs, seed=FORWARD_SEED):
        """The user's forward; what it writes to (running statistics, in-place inputs) is a copy."""
        params = [p.clone() if kind != "param" or self.writes_params else p for p, kind in zip(params, self.kinds)]
        if self.writes_inputs:
            inputs = [x.clone() for x in inputs]
        seed_everything(seed)
        with torch.no_grad():
            outputs = self.call.run(params, inputs)
        found = [spec(name, tensor) for name, tensor in zip(self.call.output_names, outputs)]
        return outputs, found

    def reference(self, params, inputs, precision):
        """(the reference run's outputs, outputs of runs that PyTorch's flags allow just as well)."""
        flags = {"match": compat.tf32_flags(), "fp32": (False, False), "half": (False, False), "tf32": (True, True)}
        matmul, convolution = allowed = flags[precision]
        with compat.tf32(matmul, convolution):
            with HalfStorage() if precision == "half" else contextlib.nullcontext():
                outputs, found = self.forward(params, inputs)
        if found != self.signature.outputs:
            raise OracleError(USER_ERROR, f"{self.user.name}.py: forward's outputs are {found}, but {self.signature.outputs} were traced")
        if not any(allowed) or not self.may_contract():
            return outputs, []
        mode = RoundedOperands(matmul, convolution)
        with compat.tf32(False, False), mode:
            rounded, _ = self.forward(params, inputs)
        return outputs, [rounded] if mode.fired else []

    def may_contract(self):
        graph = self.signature.graph
        return graph is None or any(node["op"] in ("convolution", "mm", "addmm", "bmm", "baddbmm") for node in graph["nodes"])

    def truth(self, params, inputs):
        """float64 outputs and the magnitude beside each, or None."""
        mode = Float64(magnitudes=True)
        with compat.tf32(False, False), compat.default_dtype(torch.float64):
            params, inputs = [to_double(p) for p in params], [to_double(x) for x in inputs]
            with mode:
                outputs, _ = self.forward(params, inputs)
        return outputs, [mode.magnitudes.of(output) for output in outputs]

    def truths(self, params, inputs, precision):
        """A Truth for each output."""
        outputs, others = self.reference(params, inputs, precision)
        exact, magnitudes = self.truth(params, inputs)
        result = []
        for i, (reference, truth, size) in enumerate(zip(outputs, exact, magnitudes)):
            if truth.shape != reference.shape:
                raise OracleError(INTERNAL, f"the float64 run gives output {i} another shape")
            result.append(Truth(truth, reference, size))
            for other in others:
                result[-1].also_reference(other[i])
        return result

    @contextlib.contextmanager
    def state_restored(self):
        """Undoes what calls of the module itself write to: running statistics."""
        written = [p for p, kind in zip(self.params, self.kinds) if kind != "param" or self.writes_params]
        before = [p.clone() for p in written]
        try:
            yield
        finally:
            for mine, value in zip(written, before):
                mine.copy_(value)

    def settle(self):
        """Finishes what was started, so that other processes may read it, and hands memory that torch holds but does not use
        back to the driver: the candidate's process needs it."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        if self.device.type == "cuda" and torch.cuda.memory_reserved() - torch.cuda.memory_allocated() > 1 << 30:
            torch.cuda.empty_cache()
