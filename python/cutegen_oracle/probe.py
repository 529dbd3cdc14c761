"""What a few runs tell about a task that its graph does not: randomness, outputs that hardly depend on their inputs."""

import torch

from .accuracy import SUITE_TOLERANCE
from .runner import FORWARD_SEED
from .shared_memory import make_arena

CONSTANT = "the outputs are the same for two draws of the inputs"
CONTRACTIONS = {"mm": 0, "addmm": 1, "bmm": 0, "baddbmm": 1}  # op -> the argument whose last axis is summed over


def contraction_flops(graph):
    """2 M N K of the graph's contractions."""
    total = 0
    for node in graph["nodes"]:
        out = 1
        for n in (node["outputs"][0]["shape"] if node["outputs"] else []):
            out *= n
        if node["op"] in CONTRACTIONS:
            ref = node["args"][CONTRACTIONS[node["op"]]]
            total += 2 * out * graph["nodes"][ref["node"]]["outputs"][ref["index"]]["shape"][-1]
        elif node["op"] == "convolution":
            weight = graph["nodes"][node["args"][1]["node"]]["outputs"][node["args"][1]["index"]]["shape"]
            window = 1
            for n in weight[1:]:
                window *= n
            total += 2 * out * window
    return total


def equal(a, b):
    return all(torch.equal(torch.nan_to_num(x), torch.nan_to_num(y)) for x, y in zip(a, b))


def close(a, b):
    """Within the suite's own tolerance, in every element of every output."""
    def one(x, y):
        tolerance = SUITE_TOLERANCE.get(x.dtype, 1e-2)
        return torch.allclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True) if x.dtype.is_floating_point else torch.equal(x, y)

    return all(one(x, y) for x, y in zip(a, b))


def probe(runner, draws):
    """(stochastic, [(code, message)]); `draws`: whether the module may draw random numbers."""
    signature, device = runner.signature, runner.device
    arenas = [make_arena(signature.inputs, device) for _ in range(2)]
    try:
        (_, inputs, _), (_, others, _) = arenas
        runner.fill_inputs(inputs, 0)
        base, _ = runner.forward(runner.params, inputs)
        if draws:
            again, _ = runner.forward(runner.params, inputs, FORWARD_SEED + 1)
            if not equal(base, again):
                return True, []  # nothing else can be told from runs that differ by themselves
        found = dependence(runner, inputs, others, base)
        if ("constant_output", CONSTANT) not in found:
            found += below_tolerance(signature, base)
        return False, found
    finally:
        for arena, _, _ in arenas:
            arena.close()
        runner.settle()


def below_tolerance(signature, outputs):
    found = []
    for spec, output in zip(signature.outputs, outputs):
        if not output.dtype.is_floating_point or output.numel() == 0:
            continue
        tolerance = SUITE_TOLERANCE.get(output.dtype, 1e-2)
        if float(torch.nan_to_num(output).abs().max()) < tolerance:
            said = f"every element of {spec['name']} is smaller than {tolerance:g}: zeros would pass the suite's check"
            found.append(("output_below_tolerance", said))
    return found


def dependence(runner, inputs, others, base):
    """Exchanges one input at a time for another draw."""
    if not inputs:
        return []
    runner.fill_inputs(others, 1)
    found, constant = [], True
    for i, spec in enumerate(runner.signature.inputs):
        outputs, _ = runner.forward(runner.params, [others[j] if i == j else x for j, x in enumerate(inputs)])
        constant = constant and equal(base, outputs)
        if close(base, outputs) and not torch.equal(inputs[i], others[i]):
            said = f"another draw of input {spec['name']} changes no output by more than the suite's tolerance"
            found.append(("input_hardly_matters", said))
    return [("constant_output", CONSTANT)] if constant else found
