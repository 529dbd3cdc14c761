"""Shapes, outputs and the op graph of a module, found without allocating its tensors.

Everything runs under FakeTensorMode: parameters and inputs have shapes and strides but no memory. Only a file that fakes cannot
serve (value-dependent Python) is run for real. The trace is tried by make_fx, torch.export and symbolic_trace in turn; a
module that none of them can follow is opaque, with the reason.
"""

import torch
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from .dtypes import spec
from .errors import USER_ERROR, OracleError, first_line, running_user_code
from .module_state import replaced, slots
from .normal_form import Builder, Untraceable
from .trees import flatten, unflatten


class Call:
    """A module with its arguments, fake or real: everything needed to run forward on given tensors."""

    def __init__(self, user, model, arguments):
        self.user, self.model, self.arguments = user, model, arguments
        self.state = slots(model)
        names = user.argument_names(len(arguments))
        self.leaves = [leaf for name, argument in zip(names, arguments) for leaf in flatten(argument, name)]
        self.output_names = []

    def params(self):
        return [(slot.name, slot.get().detach()) for slot, _ in self.state]

    def inputs(self):
        """[(name, tensor)] of the arguments' tensor leaves; numbers, strings and None stay bound into the call."""
        return [(name, leaf) for name, leaf in self.leaves if isinstance(leaf, torch.Tensor)]

    def run(self, params, inputs):
        """forward on these tensors; the flattened list of its output tensors."""
        feed = iter(inputs)
        leaves = [next(feed) if isinstance(leaf, torch.Tensor) else leaf for _, leaf in self.leaves]
        arguments = unflatten(self.arguments, iter(leaves))
        with replaced(self.model, self.state, params):
            with running_user_code(self.user.path, "in forward"):
                result = self.model(*arguments)
        return self.tensors(result)

    def tensors(self, result):
        leaves = flatten(result, "") if not isinstance(result, torch.Tensor) else [("", result)]
        if not leaves:
            raise OracleError(USER_ERROR, f"{self.user.name}.py: forward returned no tensor")
        for name, leaf in leaves:
            if not isinstance(leaf, torch.Tensor):
                where = f" at '{name}'" if name else ""
                said = f"forward returned {type(leaf).__name__}{where}; every output must be a tensor"
                raise OracleError(USER_ERROR, f"{self.user.name}.py: {said}", "return tensors, or lists, tuples and dicts of tensors")
        self.output_names = [f"out{i}" if not name or name.replace(".", "").isdigit() else name for i, (name, _) in enumerate(leaves)]
        return [leaf for _, leaf in leaves]


def fake_call(user, mode):
    """The call under fake tensors; parts that the user's code cannot make under them are made for real and then faked."""
    def attempt(make):
        try:
            with mode:
                return make()
        except OracleError:
            return make()

    model = attempt(user.make_model)
    arguments = attempt(lambda: user.make_inputs(0))
    return Call(user, model, arguments)


def as_fake(mode, tensor):
    return tensor if type(tensor).__name__ == "FakeTensor" else mode.from_tensor(tensor)


def make_fx_trace(call, params, inputs):
    return make_fx(lambda p, x: call.run(p, x), tracing_mode="real")(params, inputs)


def functionalized_trace(call, params, inputs):
    """Writes through views are rewritten by torch; tried only where our own rule cannot follow them."""
    try:
        from torch.func import functionalize
    except ImportError:
        from functorch.experimental import functionalize
    return make_fx(functionalize(lambda p, x: call.run(p, x), remove="mutations"), tracing_mode="real")(params, inputs)


def export_trace(call, params, inputs):
    import torch.export

    class Lifted(torch.nn.Module):
        def forward(self, p, x):
            return call.run(p, x)

    return torch.export.export(Lifted(), (params, inputs)).run_decompositions({}).module()


def symbolic_trace(call, params, inputs):
    """FX's own tracer first, whose graph then runs under make_fx; for modules whose Python confuses make_fx."""
    traced = torch.fx.symbolic_trace(call.model)
    again = Call(call.user, traced, call.arguments)
    by_name = dict(zip([slot.name for slot, _ in call.state], params))
    return make_fx(lambda p, x: again.run([p[name] for name, _ in again.params()], x), tracing_mode="real")(by_name, inputs)


TRACERS = [("make_fx", make_fx_trace), ("make_fx with functionalization", functionalized_trace), ("torch.export", export_trace),
           ("symbolic_trace", symbolic_trace)]


def trace(mode, call, params, inputs, param_specs, input_specs):
    """(graph, names of what the module writes to, reason): graph is None where no tracer succeeds."""
    reason = ""
    for name, tracer in TRACERS:
        try:
            with mode:
                module = tracer(call, params, inputs)
            builder = Builder(module, param_specs, input_specs)
            return builder.build(), builder.mutated, ""
        except Exception as error:  # a tracer may fail in any way; the first one's reason is the most telling
            text = describe(error)
            reason = reason or f"{name}: {text}"
    return None, [], reason


def describe(error):
    if isinstance(error, Untraceable):
        return str(error)
    if isinstance(error, OracleError):
        return error.message
    return f"{type(error).__name__}: {first_line(error)}"


class Signature:
    """What `inspect` learns: specs, graph or reason, what forward writes to."""

    def __init__(self, inputs, params, outputs, graph, mutated, reason, train_mode):
        self.inputs, self.params, self.outputs = inputs, params, outputs
        self.graph, self.mutated, self.reason, self.train_mode = graph, mutated, reason, train_mode


def signature_of(user, device=torch.device("cpu")):
    """The signature; `device` is where the module will really run."""
    with torch.no_grad():
        mode = FakeTensorMode()
        call = fake_call(user, mode)
        param_specs = [spec(name, tensor) for name, tensor in call.params()]
        input_specs = [spec(name, tensor) for name, tensor in call.inputs()]
        first_error = None
        # On the CPU first, wherever it will run: operators are chosen by device, and the graph should not depend on it.
        for place in [torch.device("cpu")] + ([device] if device.type != "cpu" else []):
            with mode:
                params = [as_fake(mode, tensor).to(place) for _, tensor in call.params()]
                inputs = [as_fake(mode, tensor).to(place).contiguous() for _, tensor in call.inputs()]
            try:
                with mode:
                    outputs = call.run(params, inputs)
            except OracleError as error:
                if isinstance(error.__cause__, (NameError, AttributeError, ImportError)) and "Fake" not in error.message:
                    raise  # the user's own mistake: no need to allocate anything to see it again
                first_error = first_error or error
                continue
            outputs = [spec(name, tensor) for name, tensor in zip(call.output_names, outputs)]
            graph, mutated, reason = trace(mode, call, params, inputs, param_specs, input_specs)
            return Signature(input_specs, param_specs, outputs, graph, mutated, reason, call.model.training)
        return run_for_real(user, device, input_specs, param_specs, first_error)


def run_for_real(user, device, input_specs, param_specs, why):
    """forward fails on fakes: either the user's error, which the real run repeats, or Python that needs values."""
    model, arguments = user.make_model(), user.make_inputs(0)
    call = Call(user, model, arguments)
    outputs = call.run([t.to(device) for _, t in call.params()], [t.to(device).contiguous() for _, t in call.inputs()])
    specs = [spec(name, tensor) for name, tensor in zip(call.output_names, outputs)]
    return Signature(input_specs, param_specs, specs, None, [], f"make_fx: {why.message}", model.training)
