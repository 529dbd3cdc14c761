#!/usr/bin/env python3
"""Puts candidates among the kernels of the differential suite: PTX without comments and a launch script, in tests/vgpu/differential/templates.

  differential_templates.py DIFFERENTIAL_PLAN NAME TASK FILE.ptx...

DIFFERENTIAL_PLAN: scripts/gpu/differential_plan.cc, compiled. TASK: a task.json of scripts/gpu/kernels_check.sh, or CASES.json:CASE of
scripts/gpu/gemm_check.sh. A launch script has the lines
  buffer KIND COUNT          input "f32", "f16", "bf16", "s64"; "out:BYTES" an output, "work:BYTES" a workspace (zeros), of one element
  launch KERNEL GRID BLOCK CLUSTER SMEM COOPERATIVE ARGUMENT...   an argument is bBUFFER+OFFSET or sBYTES:VALUE
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

KINDS = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "s64"}
SIZES = {"float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "bool": 1}


def count(shape):
    n = 1
    for d in shape:
        n *= d
    return n


def task_of(where):
    if ".json:" not in where:
        return json.loads(pathlib.Path(where).read_text())
    path, name = where.rsplit(":", 1)
    case = next(c for c in json.loads(pathlib.Path(path).read_text()) if c["name"] == name)
    tensors = {kind: [{"dtype": "float32", "shape": t["shape"]} for t in case["tensors"] if t["kind"] == kind] for kind in ("input", "param")}
    return {"inputs": tensors["input"], "params": tensors["param"], "outputs": [{"dtype": "float32", "shape": case["output"]}]}


def script(task, plan):
    lines, index = [], {}
    for kind in ("input", "param", "output"):
        for i, t in enumerate(task[kind + "s"]):
            index[kind, i] = len(lines)
            form = f"out:{SIZES[t['dtype']]}" if kind == "output" else KINDS[t["dtype"]]
            lines.append(f"buffer {form} {count(t['shape'])}")
    if plan["workspace_bytes"]:
        index["workspace", 0] = len(lines)
        lines.append(f"buffer work:1 {plan['workspace_bytes']}")
    if plan["tensor_maps"]:
        sys.exit("tensor maps are not supported")
    for l in plan["launches"]:
        args = []
        for a in l["args"]:
            if a["kind"] == "scalar":
                args.append(f"s{a['size']}:{a['value']}")
            else:
                args.append(f"b{index[a['kind'], a.get('index', 0)]}+{a['offset']}")
        dims = [",".join(map(str, l[k])) for k in ("grid", "block", "cluster")]
        lines.append(" ".join(["launch", l["kernel"], *dims, str(l["smem_bytes"]), str(int(l["cooperative"])), *args]))
    return "\n".join(lines) + "\n"


def shorter(ptx):
    ptx = re.sub(r"//[^\n]*", "", ptx)
    ptx = re.sub(r"\.global[^;]*cutegen_plan[^;]*;", "", ptx)  # the launch script says it
    lines = [re.sub(r"\s+", " ", l).strip() for l in ptx.split("\n")]
    names = collections.Counter(re.findall(r"[\w$%]+", "\n".join(lines)))
    lines = [l for l in lines if not (l.startswith(".global .align 1 .b8") and names[l[21:-4]] == 1)]  # objects that nothing names
    return "\n".join(l for l in lines if l and not l.startswith((".loc ", ".file ", ".pragma "))) + "\n"


def main():
    tool, name, where, ptx = sys.argv[1:5]
    out = pathlib.Path(__file__).resolve().parents[2] / "tests/vgpu/differential/templates"
    plan = json.loads(subprocess.run([tool, ptx], capture_output=True, text=True, check=True).stdout)
    (out / f"{name}.launch").write_text(script(task_of(where), plan))
    (out / f"{name}.ptx").write_text(shorter(pathlib.Path(ptx).read_text()))


main()
