#!/usr/bin/env python3
"""gpu_harness.py DIR [--only WORD]... [--no-timing]: runs what scripts/gpu/kernels_check.sh built, against PyTorch.

DIR/<case>/ holds module.py, task.json and one or more <variant>.{ptx,cubin}. For each variant, over a few distributions of inputs: the error
against float64 over the error of PyTorch's own run, in the 2-norm and in the maximum (pass: at most 2, with a floor of two ulps); then the
median time with a cold L2, GB/s of the bytes that must move, and PyTorch's eager time. One line a variant; exit status 1 when anything fails.
"""
import argparse
import ctypes
import importlib.util
import json
import pathlib
import statistics
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "gpu"))
from gemm_check import CLUSTER_DIMENSION, MAX_DYNAMIC_SMEM, Attribute, Config, check, cuda, finish, plan_of  # noqa: E402

NON_PORTABLE_CLUSTER = 14  # CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
CHUNK = 1 << 26            # elements compared at a time
LARGE = 1 << 28            # elements from which only two distributions are run


class Variant:
    """A built candidate: its plan and its kernels."""

    def __init__(self, stem):
        self.launches, self.workspace_bytes = plan_of(pathlib.Path(f"{stem}.ptx").read_text())
        self.module = ctypes.c_void_p()
        check(cuda.cuModuleLoadData(ctypes.byref(self.module), pathlib.Path(f"{stem}.cubin").read_bytes()), "cuModuleLoadData")
        self.functions = []
        for name, _, _, cluster, smem, _ in self.launches:
            f = ctypes.c_void_p()
            check(cuda.cuModuleGetFunction(ctypes.byref(f), self.module, name), name.decode())
            check(cuda.cuFuncSetAttribute(f, MAX_DYNAMIC_SMEM, smem), f"{smem} bytes of shared memory")
            if cluster[0] * cluster[1] * cluster[2] > 8:
                check(cuda.cuFuncSetAttribute(f, NON_PORTABLE_CLUSTER, 1), "a cluster of more than 8")
            self.functions.append(f)
        self.workspace = torch.full((max(self.workspace_bytes, 16),), 0xAA, dtype=torch.uint8, device="cuda")

    def bind(self, inputs, params, outputs):
        """A function that launches the plan on these tensors."""
        buffers = {1: lambda i: inputs[i], 2: lambda i: params[i], 3: lambda i: outputs[i], 4: lambda i: self.workspace}
        calls, keep = [], [inputs, params, outputs]
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
        return launch


class Case:
    def __init__(self, folder):
        self.folder, self.name = folder, folder.name
        spec = importlib.util.spec_from_file_location(f"case_{folder.name}", folder / "module.py")
        self.file = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.file)
        self.task = json.loads((folder / "task.json").read_text())
        torch.manual_seed(42)
        self.model = self.file.Model(*self.file.get_init_inputs()).cuda()
        self.params = [p.data for p in self.model.parameters()] + list(self.model.buffers())
        for p in self.params:  # away from ones and zeros
            if p.is_floating_point():
                p.copy_(torch.rand_like(p.float()) + 0.5)
        self.elements = max([t.numel() for t in self.given()] + [1])

    def given(self):
        torch.manual_seed(7)
        with torch.device("cuda"):
            return [t.cuda() for t in self.file.get_inputs()]

    def distributions(self):
        table = {
            "given": lambda t: t,
            "signs": lambda t: t * (torch.randint(0, 2, t.shape, device="cuda", dtype=torch.int8) * 2 - 1).to(t.dtype),
            "x0.01": lambda t: t * 0.01,
            "negated": lambda t: -t,
            "wide": lambda t: t * torch.exp2(torch.randint(-8, 9, t.shape, device="cuda").to(t.dtype)),
            "ties": lambda t: (t * 4).round() / 4,
        }
        names = list(table) if self.elements < LARGE else ["given", "signs"]
        for name in names:
            yield name, [(table[name](t) if t.is_floating_point() else t).contiguous() for t in self.given()]

    def run(self, inputs, model=None):
        with torch.no_grad():
            out = (model or self.model)(*inputs)
        return [t.contiguous() for t in (out if isinstance(out, (tuple, list)) else (out,))]

    def truth(self, inputs):
        import copy

        model = copy.deepcopy(self.model).double()
        return self.run([t.double() if t.is_floating_point() else t for t in inputs], model)

    def bytes(self):
        sizes = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8, "int64": 8, "int32": 4, "bool": 1}
        total = 0
        for spec in self.task["inputs"] + self.task["params"] + self.task["outputs"]:
            count = 1
            for n in spec["shape"]:
                count *= n
            total += count * sizes.get(spec["dtype"], 4)
        return total


def compare(outputs, references, truths):
    """Worst of candidate error over allowed reference error (2-norm, maximum) over the outputs; infinity when they disagree in kind."""
    worst = 0.0
    for y, ref, truth in zip(outputs, references, truths):
        if not y.is_floating_point():
            worst = max(worst, 0.0 if torch.equal(y, ref) else float("inf"))
            continue
        sums, tops, ulp = [0.0] * 3, [0.0] * 3, torch.finfo(y.dtype).eps
        for a, b, t in zip(y.view(-1).split(CHUNK), ref.view(-1).split(CHUNK), truth.view(-1).split(CHUNK)):
            if not torch.equal(a.isfinite(), t.isfinite()):
                return float("inf")
            t = torch.nan_to_num(t, 0, 0, 0)
            parts = [(torch.nan_to_num(a.double(), 0, 0, 0) - t).abs(), (torch.nan_to_num(b.double(), 0, 0, 0) - t).abs(), t.abs() * ulp]
            for k, e in enumerate(parts):
                sums[k] += float(e.square().sum()) if e.numel() else 0.0
                tops[k] = max(tops[k], float(e.max()) if e.numel() else 0.0)
        for e, r, floor in ((sums[0] ** 0.5, sums[1] ** 0.5, sums[2] ** 0.5), tuple(tops)):
            worst = max(worst, e / max(r, floor, 1e-45))
    return worst


def timed(call, flush, budget_ms=400.0):
    samples, spent = [], 0.0
    for _ in range(3):
        call()
    for _ in range(20):
        flush.zero_()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        finish("timing", 60.0)
        samples.append(begin.elapsed_time(end))
        spent += samples[-1]
        if spent > budget_ms and len(samples) >= 5:
            break
    return statistics.median(samples)


def run_case(case, options, flush):
    variants, failed = {}, 0
    for cubin in sorted(case.folder.glob("*.cubin")):
        variants[cubin.stem] = Variant(cubin.with_suffix(""))
    worst = {name: (0.0, "") for name in variants}
    eager_ms, times = float("nan"), {}
    for distribution, inputs in case.distributions():
        references, truths = case.run(inputs), case.truth(inputs)
        for name, variant in variants.items():
            outputs = [torch.full_like(t, 77) if not t.is_floating_point() else torch.full_like(t, float("nan")) for t in references]
            launch = variant.bind(inputs, case.params, outputs)
            launch()
            finish(name, 30.0)
            ratio = compare(outputs, references, truths)
            first = [t.clone() for t in outputs] if case.elements < LARGE else None
            if not ratio <= worst[name][0]:
                worst[name] = (ratio, distribution)
            if first is not None:
                launch()
                finish(name, 30.0)
                if any(not torch.equal(a.nan_to_num() if a.is_floating_point() else a, b.nan_to_num() if b.is_floating_point() else b)
                       for a, b in zip(first, outputs)):
                    worst[name] = (float("inf"), "not deterministic")
            if distribution == "given" and options.timing:
                times[name] = timed(launch, flush)
        if distribution == "given" and options.timing:
            del truths
            eager_ms = timed(lambda: case.run(inputs), flush)
    for name, (ratio, where) in worst.items():
        ok = ratio <= 2.0
        failed += not ok
        ms = times.get(name, float("nan"))
        print(f"{'ok  ' if ok else 'FAIL'} {case.name:28s} {name:24s} error/reference {ratio:8.3f} ({where or 'exact'}) "
              f"{ms:9.4f} ms {case.bytes() / ms / 1e6:7.0f} GB/s  eager {eager_ms:9.4f} ms  x{eager_ms / ms:.2f}", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--no-timing", dest="timing", action="store_false")
    options = parser.parse_args()
    flush = torch.empty(512 << 20, dtype=torch.uint8, device="cuda")
    failed = 0
    folders = [f for f in sorted(options.dir.iterdir()) if (f / "module.py").exists() and any(f.glob("*.cubin"))]
    for folder in sorted(folders, key=lambda f: (f.name[0].isdigit(), f.name)):
        if options.only and not any(word in folder.name for word in options.only):
            continue
        try:
            failed += run_case(Case(folder), options, flush)
        except Exception as error:
            failed += 1
            print(f"FAIL {folder.name:28s} {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", flush=True)
            if "illegal" in str(error) or "misaligned" in str(error) or "running after" in str(error):
                print("the CUDA context is lost: run the rest with --only")
                return 1
        torch.cuda.empty_cache()
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
