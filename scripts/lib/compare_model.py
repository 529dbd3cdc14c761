"""Compares the virtual GPU's counters and predicted times with a GPU's, over the corpus (bench/corpus/).

usage: compare_model.py PREDICTED.json MEASURED_DIR RESULTS.json [SCATTER.svg]

PREDICTED.json is what corpus_predict printed; MEASURED_DIR what `scripts/gpu/counters.sh run` wrote. Prints the tables of docs/vgpu-model.md.
"""
import csv
import gzip
import io
import json
import math
import pathlib
import statistics
import sys

import scatter


def fnv1a(text):
    h = 0x811C9DC5
    for c in text.encode():
        h = ((h ^ c) * 0x01000193) & 0xFFFFFFFF
    return h


def number(text):
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def read_ncu(folder):
    """Metrics by case. The profiler numbers kernels in the order of their launches, which ncu_cases.txt names."""
    path = folder / "ncu.csv.gz"
    if not path.exists():
        return {}
    text = gzip.open(path, "rt").read()
    start = text.find('"ID"')
    if start < 0:
        return {}
    rows = list(csv.DictReader(io.StringIO(text[start:])))[1:]  # the first holds units
    names = [n for n in (folder / "ncu_cases.txt").read_text().split() if not n.startswith("==")]
    return {name: {k: number(v) for k, v in row.items() if v and number(v) is not None} for name, row in zip(names, rows)}


def pairs(p, m):
    """(name, predicted, measured) of the counters that both sides have. ncu's names; sums over the chip."""
    def has(*names):
        return all(m.get(n) is not None for n in names)

    out = []
    g = "l1tex__t_%s_pipe_lsu_mem_global_op_%s.sum"
    shared = "l1tex__data_%s%s_mem_shared_op_%s.sum"
    if has(g % ("requests", "ld"), g % ("requests", "st")):
        out.append(("requests", p["requests"], sum(m.get(g % ("requests", op)) or 0 for op in ("ld", "st", "atom", "red"))))
        out.append(("load sectors", p["load_sectors"], m[g % ("sectors", "ld")]))
        out.append(("store sectors", p["store_sectors"], m[g % ("sectors", "st")]))
    if has(shared % ("bank_conflicts", "_pipe_lsu", "ld")):
        out.append(("bank conflicts", p["shared_conflicts"], sum(m.get(shared % ("bank_conflicts", "_pipe_lsu", op)) or 0 for op in ("ld", "st", "atom", "ldgsts"))))
        out.append(("shared wavefronts", p["shared_wavefronts"], sum(m.get(shared % ("pipe_lsu_wavefronts", "", op)) or 0 for op in ("ld", "st"))))
    if has("dram__bytes_read.sum", "dram__bytes_write.sum"):
        out.append(("DRAM bytes", 32 * (p["dram_reads"] + p["dram_writes"]), m["dram__bytes_read.sum"] + m["dram__bytes_write.sum"]))
    if has("smsp__inst_executed.sum"):
        out.append(("machine instructions", p["machine_instructions"], m["smsp__inst_executed.sum"]))
    ops = sum(v for k, v in m.items() if k.startswith("sm__ops_path_tensor_src_") and k.endswith(".sum"))
    if ops == 0 and m.get("sm__inst_executed_pipe_tensor_op_gmma.sum"):
        # No such counter for fp16 operands here: wgmma does 1024 operations in each cycle that the pipe is active (so with bf16, exactly).
        ops = 1024 * m["sm__pipe_tensor_cycles_active.sum"]
    out.append(("tensor operations", p["tensor_ops"], ops))
    return out


LIMITS = {"requests": 0.01, "load sectors": 0.01, "store sectors": 0.01, "tensor operations": 0.01, "bank conflicts": 0.05, "DRAM bytes": 0.15,
          "machine instructions": 0.15}
# Below this a relative error says nothing: instructions and constants come from DRAM too.
SMALLEST = {"DRAM bytes": 1 << 20}


def ranks(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    r = [0.0] * len(values)
    for rank, i in enumerate(order):
        r[i] = rank
    return r


def spearman(a, b):
    x, y = ranks(a), ranks(b)
    mx, my = statistics.mean(x), statistics.mean(y)
    return sum((i - mx) * (j - my) for i, j in zip(x, y)) / math.sqrt(sum((i - mx) ** 2 for i in x) * sum((j - my) ** 2 for j in y))


def time_statistics(cases):
    errors = sorted(abs(c["predicted_us"] / c["measured_us"] - 1) for c in cases)
    return {"cases": len(cases), "spearman": round(spearman([c["predicted_us"] for c in cases], [c["measured_us"] for c in cases]), 4),
            "median_error": round(statistics.median(errors), 4), "within_25_percent": round(sum(e <= 0.25 for e in errors) / len(errors), 4),
            "worst_error": round(errors[-1], 3)}


def counter_statistics(cases):
    out = {}
    for name, limit in LIMITS.items():
        # The hardware counts conflicts by chance too, with other traffic of the L1: an error is a share of all wavefronts of shared memory.
        base = "shared wavefronts" if name == "bank conflicts" else name
        seen = [(*c["counters"][name], c["counters"][base][1]) for c in cases if name in c.get("counters", {})]
        if name in SMALLEST:
            seen = [x for x in seen if max(x) >= SMALLEST[name]]
        else:
            seen = [x for x in seen if max(x) > 0]
        if not seen:
            continue
        errors = sorted(abs(p - m) / max(m, b, 1) for p, m, b in seen)
        out[name] = {"kernels": len(seen), "limit": limit, "within": sum(e <= limit for e in errors), "median_error": round(statistics.median(errors), 4),
                     "p90_error": round(errors[min(len(errors) - 1, int(0.9 * len(errors)))], 4)}
    return out


def main():
    predicted = {p["name"]: p for p in json.load(open(sys.argv[1]))}
    folder = pathlib.Path(sys.argv[2])
    times = json.loads((folder / "times.json").read_text())
    ncu = read_ncu(folder)
    cases, same = [], set()
    for t in times["cases"]:
        p = predicted.get(t["name"])
        if p is None:
            continue
        again = p["identity"] in same
        same.add(p["identity"])
        case = {"name": t["name"], "set": "repeat" if again else "fit" if fnv1a(t["name"]) % 10 < 3 else "held out", "measured_us": t["us"],
                "predicted_us": round(p["us"], 3), "limiter": p["limiter"], "sampled": round(p["sampled"], 4)}
        if t["name"] in ncu:
            case["counters"] = {n: [round(a, 1), b] for n, a, b in pairs(p, ncu[t["name"]])}
        cases.append(case)
    held = [c for c in cases if c["set"] == "held out"]
    result = {"schema": 1, "device": times["device"], "cuda_driver": times["cuda"],
              "time": {s: time_statistics([c for c in cases if c["set"] == s]) for s in ("fit", "held out")},
              "counters": counter_statistics([c for c in cases if c["set"] != "repeat"]), "cases": cases}
    for extra in ("gpu_before.csv", "gpu_after.csv", "ncu_version.txt"):
        if (folder / extra).exists():
            result[extra.split(".")[0]] = (folder / extra).read_text().strip().splitlines()[-1]
    head = json.dumps({k: v for k, v in result.items() if k != "cases"}, indent=1)
    lines = ",\n  ".join(json.dumps(c) for c in cases)
    pathlib.Path(sys.argv[3]).write_text(head[:-2] + ',\n "cases": [\n  ' + lines + "\n ]\n}\n")
    print(json.dumps(result["time"], indent=1))
    for name, s in result["counters"].items():
        print(f"| {name} | {s['kernels']} | {100 * s['limit']:.0f}% | {s['within']} | {100 * s['median_error']:.2f}% | {100 * s['p90_error']:.1f}% |")
    for c in sorted(held, key=lambda c: c["predicted_us"] / c["measured_us"]):
        print(f"  {c['name']:24} {c['predicted_us'] / c['measured_us']:6.2f}  {c['measured_us']:9.2f} us  {c['limiter']}")
    if len(sys.argv) > 4:
        points = [(c["measured_us"], c["predicted_us"], c["set"]) for c in cases if c["set"] != "repeat"]
        pathlib.Path(sys.argv[4]).write_text(scatter.svg(points, times["device"]))


if __name__ == "__main__":
    main()
