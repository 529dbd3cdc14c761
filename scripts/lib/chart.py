"""Draws bench/results/NAME.json as an SVG: one row a task, speedup over eager of torch.compile and of the candidate, with the 95% interval.

usage: chart.py RESULTS.json OUT.svg
"""
import html
import json
import math
import sys

ROW, LEFT, WIDTH, TOP = 26, 210, 560, 64
COLOURS = {"candidate": "#2f6f9f", "compile": "#b9c4cc"}


def main(source, target):
    with open(source, encoding="utf-8") as stream:
        results = json.load(stream)
    tasks = [t for t in results["tasks"] if t.get("candidate_ms") and t.get("eager_ms")]
    if not tasks:
        sys.exit(f"{source} has no timed tasks")
    top = max(max(t["eager_ms"] / t["candidate_ms"], t["eager_ms"] / (t.get("compile_ms") or t["eager_ms"])) for t in tasks)
    top = 2 ** math.ceil(math.log2(top * 1.05))
    low = 0.5

    def x(ratio):  # logarithmic: twice as fast and half as fast are equally far from 1
        return LEFT + WIDTH * math.log(max(ratio, low) / low) / math.log(top / low)

    height = TOP + ROW * len(tasks) + 40
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 70}" height="{height}" font-family="sans-serif" font-size="12" fill="#222">',
           f'<rect width="100%" height="100%" fill="white"/>',
           f'<text x="12" y="22" font-size="15">Speedup over eager PyTorch, {html.escape(results["device"])}</text>',
           f'<text x="12" y="42" fill="#555">torch {html.escape(str(results["torch"]))}, CUDA {html.escape(str(results["cuda"]))}, {html.escape(results["date"][:10])}; cold L2, medians, 95% interval; all verified against float64</text>']
    tick = low
    while tick <= top:
        out.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP - 8}" y2="{height - 30}" stroke="{"#444" if tick == 1 else "#ddd"}"/>'
                   f'<text x="{x(tick):.1f}" y="{height - 14}" text-anchor="middle">{tick:g}×</text>')
        tick *= 2
    for i, task in enumerate(tasks):
        y = TOP + ROW * i
        ratio = task["eager_ms"] / task["candidate_ms"]
        out.append(f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{html.escape(task["id"])} {html.escape(task.get("name", ""))}</text>')
        for key, value, dy in (("candidate", ratio, 2), ("compile", task["eager_ms"] / task["compile_ms"] if task.get("compile_ms") else None, 12)):
            if value:
                a, b = sorted((x(1), x(value)))
                out.append(f'<rect x="{a:.1f}" y="{y + dy}" width="{max(b - a, 1):.1f}" height="8" fill="{COLOURS[key]}"/>')
        if task.get("ratio_ci95"):
            a, b = (x(v) for v in task["ratio_ci95"])
            out.append(f'<line x1="{a:.1f}" x2="{b:.1f}" y1="{y + 6}" y2="{y + 6}" stroke="#111" stroke-width="2"/>')
        out.append(f'<text x="{max(x(ratio), x(1)) + 6:.1f}" y="{y + 11}" font-size="11">{ratio:.2f}×</text>')
    legend = LEFT + WIDTH - 150
    for i, (key, name) in enumerate((("candidate", "cutegen"), ("compile", "torch.compile"))):
        out.append(f'<rect x="{legend + 75 * i}" y="14" width="10" height="8" fill="{COLOURS[key]}"/><text x="{legend + 75 * i + 14}" y="22">{name}</text>')
    out.append("</svg>")
    with open(target, "w", encoding="utf-8") as stream:
        stream.write("\n".join(out) + "\n")


if len(sys.argv) != 3:
    sys.exit(__doc__.strip())
main(*sys.argv[1:])
