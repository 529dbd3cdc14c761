#!/usr/bin/env python3
"""Runs the candidates that gemm_check.sh built and compares each with float64 and with PyTorch's own fp32 result.

For every case, variant and distribution of inputs: error against float64 over SGEMM's error, in the 2-norm and in the maximum (pass: at most 2
each, plus two ulps), then the median time with a cold L2 beside PyTorch's. One line a case and variant; exit status 1 when anything fails.
"""
import argparse
import ctypes
import json
import os
import pathlib
import re
import statistics
import struct
import sys
import time

import torch

cuda = ctypes.CDLL("libcuda.so.1")


def check(status, what):
    if status:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(status, ctypes.byref(text))
        raise RuntimeError(f"{what}: {(text.value or b'?').decode()}")


class Lost(RuntimeError):
    """The CUDA context is of no more use."""


def finish(what, seconds=20.0):
    """Waits for the device; a kernel that hangs is an error, not a hang of this program."""
    done = torch.cuda.Event()
    done.record()
    until = time.monotonic() + seconds
    try:
        while not done.query():
            if time.monotonic() > until:
                raise Lost(f"{what}: still running after {seconds} s")
            time.sleep(0.0005)
    except RuntimeError as error:
        raise Lost(f"{what}: {str(error).splitlines()[0]}") from None


class Attribute(ctypes.Structure):  # CUlaunchAttribute: id, padding, 64 bytes of value
    _fields_ = [("id", ctypes.c_uint), ("pad", ctypes.c_char * 4), ("value", ctypes.c_uint * 16)]


class Config(ctypes.Structure):  # CUlaunchConfig
    _fields_ = [(n, ctypes.c_uint) for n in ("gx", "gy", "gz", "bx", "by", "bz", "smem")] + [
        ("stream", ctypes.c_void_p), ("attrs", ctypes.POINTER(Attribute)), ("num_attrs", ctypes.c_uint)]


CLUSTER_DIMENSION = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
MAX_DYNAMIC_SMEM = 8   # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


def plan_of(ptx):
    """The launches and workspace bytes in the bytes of cutegen_plan (the layout is stated in kernels/include/cutegen/plan/format.cuh)."""
    data = re.search(r"\bcutegen_plan\[(\d+)\]\s*=\s*\{([^}]*)\}", ptx)
    raw = bytes(int(b, 0) & 255 for b in data[2].split(","))
    raw += bytes(int(data[1]) - len(raw))
    assert raw[:8] == b"CUTEPLAN", "no plan"
    launches, workspace = struct.unpack_from("<I", raw, 16)[0], struct.unpack_from("<Q", raw, 24)[0]
    at, out = 40, []
    for _ in range(launches):
        name = raw[at:at + 128].split(b"\0")[0]
        numbers = struct.unpack_from("<12I", raw, at + 128)
        at += 176
        args = []
        for _ in range(numbers[11]):
            args.append(struct.unpack_from("<IIQQI", raw, at))
            at += 32
        out.append((name, numbers[0:3], numbers[3:6], numbers[6:9], numbers[9], args))
    return out, workspace


class Candidate:
    def __init__(self, stem):
        self.launches, self.workspace_bytes = plan_of(pathlib.Path(f"{stem}.ptx").read_text())
        self.report = pathlib.Path(f"{stem}.ptxas").read_text()
        image = pathlib.Path(f"{stem}.cubin").read_bytes()
        self.module = ctypes.c_void_p()
        check(cuda.cuModuleLoadData(ctypes.byref(self.module), image), "cuModuleLoadData")
        self.functions = []
        for name, _, _, cluster, smem, _ in self.launches:
            f = ctypes.c_void_p()
            check(cuda.cuModuleGetFunction(ctypes.byref(f), self.module, name), name.decode())
            check(cuda.cuFuncSetAttribute(f, MAX_DYNAMIC_SMEM, smem), f"{smem} bytes of shared memory")
            self.functions.append(f)

    def bind(self, tensors, out):
        """A function that launches the plan on these tensors: {("input", 0): tensor, ...}."""
        workspace = torch.full((max(self.workspace_bytes, 1),), 0xAA, dtype=torch.uint8, device="cuda")
        buffers = {1: lambda i: tensors["input", i], 2: lambda i: tensors["param", i], 3: lambda i: out, 4: lambda i: workspace}
        calls, keep = [], [workspace, out, tensors]
        for f, (name, grid, block, cluster, smem, args) in zip(self.functions, self.launches):
            values = [ctypes.c_uint64(value if kind == 5 else buffers[kind](index).data_ptr() + offset) for kind, index, offset, value, _ in args]
            pointers = (ctypes.c_void_p * len(values))(*[ctypes.cast(ctypes.pointer(v), ctypes.c_void_p) for v in values])
            config = Config(*grid, *block, smem, torch.cuda.current_stream().cuda_stream or None, None, 0)
            if cluster != (1, 1, 1):
                attribute = Attribute(id=CLUSTER_DIMENSION)
                attribute.value[0:3] = cluster
                config.attrs, config.num_attrs = ctypes.pointer(attribute), 1
                keep.append(attribute)
            keep += [values, pointers, config]
            calls.append((f, config, pointers, name))

        def launch():
            for f, config, pointers, name in calls:
                check(cuda.cuLaunchKernelEx(ctypes.byref(config), f, pointers, None), name.decode())
        launch.keep = keep
        launch.calls = calls
        return launch


def distributions(quick):
    g = torch.Generator(device="cuda")

    def rand(shape):
        return torch.rand(shape, generator=g, device="cuda")

    def signs(shape):
        return torch.randint(0, 2, shape, generator=g, device="cuda") * 2.0 - 1.0

    table = {
        "uniform": rand,
        "x3": lambda s: rand(s) * 3,
        "x0.01": lambda s: rand(s) * 0.01,
        "negated": lambda s: -rand(s),
        "signs": lambda s: rand(s) * signs(s),
        "normal": lambda s: torch.randn(s, generator=g, device="cuda"),
        "wide": lambda s: (1 + rand(s)) * signs(s) * torch.exp2(torch.randint(-12, 13, s, generator=g, device="cuda").float()),
        "ties": lambda s: torch.randint(0, 4, s, generator=g, device="cuda") * 0.25,
        "integers": lambda s: torch.randint(-4, 5, s, generator=g, device="cuda").float(),
        "zero_rows": lambda s: rand(s) * (torch.arange(s[0], device="cuda") % 3 > 0).float().reshape([-1] + [1] * (len(s) - 1)),
    }
    names = ["uniform", "wide", "integers"] if quick else list(table)
    for name in names:
        g.manual_seed(1234)
        yield name, table[name]


def make(case, draw):
    return {(t["kind"], t["index"]): draw(tuple(t["shape"])) for t in case["tensors"]}


def evaluate(case, tensors, dtype):
    names = {t["name"]: tensors[t["kind"], t["index"]].to(dtype) for t in case["tensors"]}
    return eval(case["expression"], {"torch": torch}, names)


def errors(y, truth):
    e = (y.double() - truth).abs()
    return e.norm().item(), e.max().item()


def accuracy(case, candidate, quick):
    """Worst (ratio, distribution) in both norms over the distributions, and whether all passed."""
    worst, passed, notes = {"2": (0.0, ""), "max": (0.0, "")}, True, []
    for name, draw in distributions(quick):
        tensors = make(case, draw)
        out = torch.full(case["output"], float("nan"), device="cuda")
        candidate.bind(tensors, out)()
        finish(name)
        truth = evaluate(case, tensors, torch.float64)
        own, reference = errors(out, truth), errors(evaluate(case, tensors, torch.float32), truth)
        ulp = 2.0**-23
        floors = (2 * ulp * truth.norm().item(), 2 * ulp * truth.abs().max().item())
        for key, e, r, floor in zip(("2", "max"), own, reference, floors):
            ratio = e / max(r, floor / 2, 1e-300)
            if not ratio <= worst[key][0]:
                worst[key] = (ratio, name)
            if not e <= 2 * r + floor:
                passed = False
                notes.append(f"{name}: {key}-error {e:.3g} against {r:.3g}")
    return worst, passed, notes


def special(case, candidate):
    """Infinities and NaNs in one row of the left operand and one of the right must come out where and as they do in PyTorch."""
    tensors = make(case, lambda s: torch.rand(s, device="cuda") + 0.5)
    left, right = [k for k in tensors if tensors[k].dim() >= 2][:2]
    tensors[left].view(-1)[0] = float("inf")
    tensors[right].view(-1)[-1] = float("nan")
    if tensors[left].numel() > 2:
        tensors[left].view(-1)[-1] = float("-inf")
    out = torch.zeros(case["output"], device="cuda")
    candidate.bind(tensors, out)()
    finish("infinities and NaNs")
    expected = evaluate(case, tensors, torch.float64).float()
    same = torch.equal(out.isnan(), expected.isnan()) and torch.equal(out.isinf(), expected.isinf())
    same = same and torch.equal(out[out.isinf()] > 0, expected[expected.isinf()] > 0)
    finite = out.isfinite() & expected.isfinite()
    return same and torch.allclose(out[finite], expected[finite], rtol=1e-4)


flush = None


def median_ms(launch, repeats=20):
    global flush
    if flush is None:
        flush = torch.empty(512 << 20, dtype=torch.uint8, device="cuda")
    samples = []
    for _ in range(repeats + 3):
        flush.zero_()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        launch()
        end.record()
        end.synchronize()
        samples.append(begin.elapsed_time(end))
    return statistics.median(samples[3:])


def parts_ms(candidate, launch):
    """Median of each launch of the plan by itself."""
    out = []
    for f, config, pointers, name in launch.calls:
        ms = median_ms(lambda: check(cuda.cuLaunchKernelEx(ctypes.byref(config), f, pointers, None), name.decode()), 7)
        out.append(f"{name.decode()} {ms:.3f}")
    return ", ".join(out)


def resources(report):
    names = re.findall(r"Compiling entry function '(\w+)'", report)
    registers = re.findall(r"Used (\d+) registers", report)
    spills = re.findall(r"(\d+) bytes spill stores", report)
    return " ".join(f"{n}:{r}r{'' if s == '0' else f'/{s}B spilled'}" for n, r, s in zip(names, registers, spills) if n.startswith("gemm"))


def run_one(case, stem, options, timed, eager):
    """The report of one candidate, whether it passed, and PyTorch's time."""
    candidate = Candidate(stem)
    worst, passed, notes = accuracy(case, candidate, options.quick)
    if not special(case, candidate):
        passed = False
        notes.append("infinities or NaNs differ")
    line = " ".join(f"{key}-norm {ratio:.2f} ({name})" for key, (ratio, name) in worst.items())
    if timed:
        tensors = make(case, lambda s: torch.rand(s, device="cuda"))
        launch = candidate.bind(tensors, torch.empty(case["output"], device="cuda"))
        ms = median_ms(launch)
        eager = eager or median_ms(lambda: evaluate(case, tensors, torch.float32))
        line += f" | {ms:.3f} ms, eager {eager:.3f} ms, {eager / ms:.2f}x [{parts_ms(candidate, launch)}]"
    return line + " | " + resources(candidate.report) + "".join(f"\n     {n}" for n in notes), passed, eager


def selected(options):
    for case in json.loads((options.dir / "cases.json").read_text()):
        for variant in case["variants"]:
            stem = options.dir / case["name"] / variant["name"]
            wanted = (not options.case or options.case in case["name"]) and (not options.variant or options.variant in variant["name"])
            if wanted and stem.with_name(stem.name + ".cubin").exists():
                yield case, variant["name"], stem


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("--case", help="only cases whose name contains this")
    parser.add_argument("--variant", help="only variants whose name contains this")
    parser.add_argument("--quick", action="store_true", help="three distributions only")
    parser.add_argument("--no-time", action="store_true")
    parser.add_argument("--skip", type=int, default=0, help=argparse.SUPPRESS)    # done by an earlier process
    parser.add_argument("--failed", type=int, default=0, help=argparse.SUPPRESS)  # there
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.zeros(1, device="cuda")
    if not options.skip:
        print(f"# {torch.cuda.get_device_name()}, torch {torch.__version__}; errors are over SGEMM's", flush=True)
    failed, eager = options.failed, {}
    everything = list(selected(options))
    for number, (case, variant, stem) in enumerate(everything):
        if number < options.skip:
            continue
        label = f"{case['name']:12s} {variant:28s}"
        timed = not options.no_time and torch.Size(case["output"]).numel() >= 1 << 22
        try:
            line, passed, eager[case["name"]] = run_one(case, stem, options, timed, eager.get(case["name"]))
        except RuntimeError as error:
            print(f"FAIL {label} {error}", flush=True)
            failed += 1
            if isinstance(error, Lost) or "CUDA" in str(error):  # go on in a fresh process
                given = [a for a in sys.argv[1:] if not a.startswith(("--skip", "--failed"))]
                os.execv(sys.executable, [sys.executable, __file__, *given, f"--skip={number + 1}", f"--failed={failed}"])
            continue
        failed += not passed
        print("ok  " if passed else "FAIL", label, line, flush=True)
    print(f"{len(everything) - failed} passed, {failed} failed")
    return 1 if failed or not everything else 0


if __name__ == "__main__":
    sys.exit(main())
