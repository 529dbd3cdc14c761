"""Errors of an output against float64, element by element in chunks, on the device where the data lies.

Field names are those of OutputComparison in src/oracle/oracle.h.
"""

import math

import torch

from .dtypes import MANTISSA
from .patterns import describe_wrong

CHUNK = 1 << 24      # elements in float64 at a time
FLOOR_ULPS = 4       # of the output dtype at the truth's magnitude
SUITE_TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-4}  # else 1e-2: the suite's own rtol = atol


def ulp(magnitude, dtype):
    """The spacing of `dtype` at |magnitude| (float64 tensor); that of the smallest normal number below it; 0 for integers."""
    if dtype not in MANTISSA:
        return torch.zeros_like(magnitude)
    bits, smallest = MANTISSA[dtype]
    _, exponent = torch.frexp(magnitude)
    exponent = torch.where(magnitude > 0, exponent - 1, torch.full_like(exponent, smallest)).clamp(min=smallest)
    return torch.exp2((exponent - bits).double())


class Sum2:
    """A 2-norm gathered chunk by chunk, safe from overflow: scaled by the largest magnitude so far."""

    def __init__(self):
        self.scale, self.sum = 0.0, 0.0

    def add(self, values):
        if values.numel() == 0:
            return
        top = float(values.abs().max())
        if top == 0.0 or not math.isfinite(top):
            return
        if top > self.scale:
            self.sum *= (self.scale / top) ** 2 if self.scale else 0.0
            self.scale = top
        self.sum += float(((values / self.scale) ** 2).sum())

    def norm(self):
        return self.scale * math.sqrt(self.sum)


class Truth:
    """One output of a trial: float64 truth, the reference run, the scale of each element, and their own errors."""

    def __init__(self, truth, reference, magnitude):
        self.shape, self.dtype = list(reference.shape), reference.dtype
        self.truth = truth.detach().contiguous().reshape(-1)
        self.reference = reference.detach().contiguous().reshape(-1)
        self.magnitude = None if magnitude is None else magnitude.detach().abs().float().contiguous().reshape(-1)
        self.finite = self.reference_agrees()
        self.norm_truth = self.norm_reference = self.max_reference = self.floor_norm = self.floor_max = 0.0
        self.least_scale = 1.0
        self.measure()

    def bytes(self):
        return sum(t.numel() * t.element_size() for t in (self.truth, self.reference, self.magnitude) if t is not None)

    def chunks(self):
        for begin in range(0, self.truth.numel(), CHUNK):
            yield slice(begin, min(begin + CHUNK, self.truth.numel()))

    def truth_at(self, part):
        return self.truth[part].double()

    def reference_agrees(self):
        """No NaN, and infinities only where the truth has the same ones: otherwise this trial measures nothing."""
        for part in self.chunks():
            truth, reference = self.truth_at(part), self.reference[part].double()
            agrees = (truth == reference) | (torch.isfinite(truth) & torch.isfinite(reference))
            if not bool(agrees.all()):
                return False
        return True

    def scale_at(self, part):
        """Condition-aware where the graph gave it, else the RMS of the truth; never below a rounding of the largest."""
        if self.magnitude is None:
            return self.least_scale
        return self.magnitude[part].double().clamp(min=self.least_scale)

    def measure(self):
        norm, floor_norm, count = Sum2(), Sum2(), max(1, self.truth.numel())
        for part in self.chunks():
            truth = finite_or_zero(self.truth_at(part))
            norm.add(truth)
            floor_norm.add(FLOOR_ULPS * ulp(truth.abs(), self.dtype))
        self.norm_truth, self.floor_norm = norm.norm(), floor_norm.norm()
        size = Sum2()
        if self.magnitude is not None:
            for part in self.chunks():
                size.add(finite_or_zero(self.magnitude[part].double()))
        rms = self.norm_truth / math.sqrt(count)
        self.least_scale = (size.norm() / math.sqrt(count) * 2.0**-20 if self.magnitude is not None else rms) or 1.0
        for part in self.chunks():
            floor = FLOOR_ULPS * ulp(finite_or_zero(self.truth_at(part)).abs(), self.dtype) / self.scale_at(part)
            self.floor_max = max(self.floor_max, float(floor.max()))
        self.norm_reference, self.max_reference = self.errors_of(self.reference)

    def errors_of(self, values):
        """(2-norm of the error, largest error over scale) of another run's flattened output, where both are finite."""
        norm, worst = Sum2(), 0.0
        for part in self.chunks():
            error, _ = self.error_at(values[part], part)
            norm.add(error)
            worst = max(worst, float((error / self.scale_at(part)).max()))
        return norm.norm(), worst

    def also_reference(self, values):
        """A second run that PyTorch might as well have chosen: the larger error counts."""
        norm, worst = self.errors_of(values.detach().contiguous().reshape(-1))
        self.norm_reference, self.max_reference = max(self.norm_reference, norm), max(self.max_reference, worst)

    def error_at(self, values, part):
        """(|y - y64| with 0 where not comparable, mask of non-finite mismatches)."""
        truth, values = self.truth_at(part), values.double()
        finite = torch.isfinite(truth) & torch.isfinite(values)
        same = (truth == values) | (torch.isnan(truth) & torch.isnan(values))
        error = torch.where(finite, (values - truth).abs(), torch.zeros_like(truth))
        return error, ~finite & ~same

    def compare(self, output, poison):
        """The OutputComparison of a candidate's output. Every doubt counts against it."""
        result = self.blank()
        if list(output.shape) != self.shape or output.dtype != self.dtype:
            result["shape_ok"] = False
            result["pattern"] = [f"output is {output.dtype} {list(output.shape)}, expected {self.dtype} {self.shape}".replace("torch.", "")]
            return result
        flat = output.contiguous().reshape(-1)
        norm, worst, where = Sum2(), -1.0, 0
        wrong = torch.zeros(flat.numel(), dtype=torch.bool, device=flat.device)
        close, equal, tolerance = True, True, SUITE_TOLERANCE.get(self.dtype, 1e-2)
        for part in self.chunks():
            values, reference = flat[part], self.reference[part]
            error, mismatch = self.error_at(values, part)
            scaled = error / self.scale_at(part)
            norm.add(error)
            result["nonfinite_mismatches"] += int(mismatch.sum())
            left = poisoned(values, part.start, poison) & ~poisoned(reference, part.start, poison)
            result["poison_left"] += int(left.sum())
            allowed = 4 * self.max_reference + FLOOR_ULPS * ulp(finite_or_zero(self.truth_at(part)).abs(), self.dtype) / self.scale_at(part)
            wrong[part] = ~(scaled <= allowed) | mismatch | left
            ranked = torch.where(mismatch, torch.full_like(scaled, math.inf), scaled)
            top = int(ranked.argmax())
            if float(ranked[top]) > worst:
                worst, where = float(ranked[top]), part.start + top
            result["max_error"] = max(result["max_error"], float(scaled.max()))
            near = torch.isclose(values.double(), reference.double(), rtol=tolerance, atol=tolerance)
            close = close and bool(near.all())
            equal = equal and bool(torch.equal(bits(reference), bits(values)))
        result.update(norm_error=norm.norm(), suite_allclose=close, bit_equal_reference=equal, pattern=describe_wrong(wrong, self.shape))
        if flat.numel():
            result.update(worst_index=unravel(where, self.shape), worst_value=number(flat[where]), worst_truth=number(self.truth[where]),
                          worst_reference=number(self.reference[where]))
        return result

    def blank(self):
        return {"shape_ok": True, "elements": self.truth.numel(), "norm_truth": self.norm_truth, "norm_error": 0.0,
                "norm_reference": self.norm_reference, "floor_norm": self.floor_norm, "max_error": 0.0, "max_reference": self.max_reference,
                "floor_max": self.floor_max, "nonfinite_mismatches": 0, "poison_left": 0, "worst_index": [], "worst_value": 0.0,
                "worst_truth": 0.0, "worst_reference": 0.0, "suite_allclose": False, "bit_equal_reference": False, "pattern": []}


def finite_or_zero(values):
    return torch.where(torch.isfinite(values), values, torch.zeros_like(values))


INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def bits(values):
    """The same bytes as integers."""
    return values.view(INTEGERS[values.element_size()])


def signed(value, width):
    value &= (1 << 8 * width) - 1
    return value - (1 << 8 * width) if width > 1 and value >> (8 * width - 1) else value


def poisoned(values, begin, pattern):
    """Elements whose bytes are those of the repeated 32-bit pattern; `begin` is the first element's index in its buffer."""
    width = values.element_size()
    word = bits(values)
    if width == 8:
        return word == signed(pattern << 32 | pattern, 8)
    if width == 4:
        return word == signed(pattern, 4)
    period = 4 // width
    pieces = torch.tensor([signed(pattern >> (8 * width * i), width) for i in range(period)], dtype=word.dtype, device=word.device)
    return word == pieces[(torch.arange(word.numel(), device=word.device) + begin) % period]


def unravel(index, shape):
    result = []
    for size in reversed(shape):
        result.append(index % size)
        index //= size
    return result[::-1]


def number(element):
    """A JSON number or the string that stands for a non-finite one."""
    value = float(element)
    return value if math.isfinite(value) else str(value)
