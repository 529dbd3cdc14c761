#!/usr/bin/env python3
"""Checks the oracle's side-car on a machine with a GPU: sharing between processes, trials, planted errors, baselines.

    python3 scripts/gpu/oracle_check.py [--device cuda|cpu] [KERNELBENCH_FILE ...]

Exit code 0 when every check holds; each prints one line. With files, each is inspected and given one trial, with its times.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python"))

import torch  # noqa: E402

from cutegen_oracle.dtypes import BY_NAME  # noqa: E402
from cutegen_oracle.server import Server  # noqa: E402
from cutegen_oracle.shared_memory import Opened, make_arena  # noqa: E402

POISON = 0x7FC0DEAD
TASK = """import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(1024, 2048)
        self.c = nn.Conv2d(8, 8, 3)
        self.bn = nn.BatchNorm2d(8)
    def forward(self, x, image, index):
        return torch.relu(self.l(x)), self.bn(self.c(image)), index + 1, (x > 0.5), x.bfloat16()
def get_inputs():
    return [torch.rand(512, 1024), torch.randn(4, 8, 64, 64), torch.randint(0, 9, (7,))]
"""
failures = []


def check(name, holds, seen=""):
    print(f"{'ok  ' if holds else 'FAIL'} {name} {seen}", flush=True)
    if not holds:
        failures.append(name)


class Candidate:
    """Another process that shares tensors, as a device executor does. Requests are JSON lines."""

    def __init__(self, device):
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--candidate", "--device", device], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


def be_candidate(device):
    """add: adds 1 to shared tensors. copy: shares copies of tensors, changed by `plant`."""
    kept = []
    for line in sys.stdin:
        request = json.loads(line)
        opened = Opened(request["tensors"], device)
        tensors = [opened.tensor(i) for i in range(len(request["tensors"]))]
        answer = {}
        if request["op"] == "add":
            for tensor in tensors:
                tensor.copy_(tensor + 1 if tensor.dtype != torch.bool else ~tensor)
        else:
            arena, mine, answer["tensors"] = make_arena(request["tensors"], device)
            for place, tensor in zip(mine, tensors):
                place.copy_(tensor)
            if request.get("plant"):
                mine[0][:, ::16] += 1.0
                mine[0].view(torch.int32)[3, 5] = POISON
            kept.append((arena, mine))
        if device.type == "cuda":
            torch.cuda.synchronize()
        del tensors
        opened.close()
        print(json.dumps(answer), flush=True)


def check_sharing(candidate, device):
    specs = [{"name": name, "dtype": name, "shape": [3, 5]} for name in BY_NAME] + [{"name": "big", "dtype": "float32", "shape": [1 << 22]}]
    arena, tensors, shared = make_arena(specs, device)
    for tensor in tensors:
        tensor.zero_()
    if device.type == "cuda":
        torch.cuda.synchronize()
    candidate.ask(op="add", tensors=shared)
    for spec, tensor in zip(specs, tensors):
        check(f"another process writes {spec['name']}", bool((tensor == 1).all()))
    del tensors
    arena.close()


def load(server, text):
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "check_task.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return server.answer({"op": "inspect", "path": path})


def trial(server, precision="match", **fields):
    request = dict({"op": "trial", "seed": 3, "distribution": "as_given", "randomise_params": False, "precision": precision}, **fields)
    begin = time.perf_counter()
    answer = server.answer(request)
    check(f"trial {precision} {fields or ''}", answer["ok"], f"{time.perf_counter() - begin:.3f} s {answer.get('error', '')}")
    return answer


def shared_reference(server, number, device):
    """The reference's own outputs in memory that the candidate can open."""
    truths = server.trials.by_number[number].truths
    arena, mine, shared = make_arena(server.signature.outputs, device)
    for place, truth in zip(mine, truths):
        place.copy_(truth.reference.view(place.shape))
    if device.type == "cuda":
        torch.cuda.synchronize()
    return arena, mine, shared


def check_trials(server, candidate, device):
    answer = load(server, TASK)
    check("inspect", answer["ok"], answer.get("error", ""))
    task = answer["task"]
    check("traced", task["graph"] is not None, task["opaque_reason"])
    check("specs", [s["dtype"] for s in task["outputs"]] == ["float32", "float32", "int64", "bool", "bfloat16"])
    for precision in ("match", "fp32", "tf32", "half"):
        number = trial(server, precision)["trial"]
        for truth in server.trials.by_number[number].truths[:2]:
            print(f"     relative reference error {truth.norm_reference / truth.norm_truth:.3g}, largest over scale {truth.max_reference:.3g},"
                  f" condition-aware scale {truth.magnitude is not None}")
    for name in ("times3", "times001", "negated", "sign_symmetric", "wide_exponent", "ties", "small_integers"):
        trial(server, distribution=name, randomise_params=True)
    number = trial(server, "fp32")["trial"]
    arena, mine, shared = shared_reference(server, number, device)
    copies = candidate.ask(op="copy", tensors=shared)["tensors"]
    begin = time.perf_counter()
    same = server.answer({"op": "compare", "trial": number, "outputs": copies, "poison": POISON})
    check("equal outputs agree", same["ok"] and all(o["bit_equal_reference"] and o["suite_allclose"] and not o["pattern"] for o in same["outputs"]),
          f"{time.perf_counter() - begin:.3f} s {same.get('error', '')}")
    wrong = server.answer({"op": "compare", "trial": number, "outputs": candidate.ask(op="copy", tensors=shared, plant=True)["tensors"],
                           "poison": POISON})
    first = wrong["outputs"][0] if wrong["ok"] else {}
    check("planted errors are seen", first.get("poison_left") == 1 and first.get("nonfinite_mismatches") == 1 and not first.get("suite_allclose"),
          first.get("pattern", wrong.get("error")))
    check("the other outputs are not blamed", wrong["ok"] and all(o["bit_equal_reference"] for o in wrong["outputs"][1:]))
    del mine
    arena.close()


def check_baselines(server, device):
    for baseline in ("eager", "compile", "eager_tf32", "compile_tf32"):
        answer = server.answer({"op": "time_baseline", "baseline": baseline, "warmup": 3, "repeats": 20, "seconds": 120.0})
        times = sorted(answer.get("ms", []))
        expected = device.type == "cuda" or not baseline.startswith("compile")
        check(f"baseline {baseline}", answer["ok"] and bool(times) == expected,
              f"median {times[len(times) // 2]:.4f} ms" if times else answer.get("note", answer.get("error")))


def check_file(server, path):
    begin = time.perf_counter()
    answer = server.answer({"op": "inspect", "path": path})
    check(f"inspect {os.path.basename(path)}", answer["ok"] and answer["task"]["graph"] is not None,
          f"{time.perf_counter() - begin:.3f} s {answer.get('error', '')}")
    if not answer["ok"]:
        return
    number = trial(server).get("trial")
    if number:
        truth = server.trials.by_number[number].truths[0]
        print(f"     relative reference error {truth.norm_reference / max(truth.norm_truth, 1e-300):.3g}, held {server.trials.held() / 1e9:.2f} GB")
    server.answer({"op": "time_baseline", "baseline": "eager", "warmup": 2, "repeats": 5, "seconds": 20.0})
    if server.device.type == "cuda":
        print(f"     free after it {torch.cuda.mem_get_info()[0] / 1e9:.1f} GB, peak of torch {torch.cuda.max_memory_allocated() / 1e9:.1f} GB")
        torch.cuda.reset_peak_memory_stats()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--candidate", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    device = torch.device(options.device, 0) if options.device == "cuda" else torch.device("cpu")
    if options.candidate:
        be_candidate(device)
        return 0
    server = Server(options.device)
    hello = server.answer({"op": "hello", "version": 1})
    check("hello", hello["ok"], hello)
    candidate = Candidate(options.device)
    check_sharing(candidate, device)
    check_trials(server, candidate, device)
    check_baselines(server, device)
    for path in options.files:
        check_file(server, path)
    candidate.close()
    server.close()
    print(f"{len(failures)} checks failed" if failures else "all checks hold")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
