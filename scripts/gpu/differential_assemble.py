#!/usr/bin/env python3
"""Assembles DIR/*.ptx for sm_90a ($JOBS at once, 2 by default). Kernels that ptxas refuses are taken out of their module and of DIR/manifest,
and listed in DIR/rejected with ptxas' words."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
ERROR = re.compile(r"line (\d+); error\s*: (.*)")


def assemble(ptx):
    rejected = {}
    while True:
        run = subprocess.run(["ptxas", "-arch=sm_90a", ptx, "-o", ptx.with_suffix(".cubin")], capture_output=True, text=True)
        if run.returncode == 0:
            return rejected
        lines = ptx.read_text().split("\n")
        starts = [i for i, l in enumerate(lines) if l.startswith(".visible .entry ")] + [len(lines)]
        bad = {}
        for number, words in ERROR.findall(run.stderr):
            entry = max(i for i in starts[:-1] if i < int(number))
            bad.setdefault(entry, words)
        if not bad:
            sys.exit(f"{ptx}: {run.stderr}")
        for entry in sorted(bad, reverse=True):
            name = lines[entry].split("(")[0].split()[-1]
            rejected[name] = bad[entry]
            del lines[entry : starts[starts.index(entry) + 1]]
        ptx.write_text("\n".join(lines))


with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
    rejected = {}
    for part in pool.map(assemble, sorted(folder.glob("*.ptx"))):
        rejected.update(part)
manifest = (folder / "manifest").read_text().splitlines()
kept = [l for l in manifest if l.split()[1] not in rejected]
names = {l.split()[1]: l.split()[-1] for l in manifest}
(folder / "manifest").write_text("\n".join(kept) + "\n")
with open(folder / "rejected", "a") as out:
    for entry, words in sorted(rejected.items(), key=lambda item: names[item[0]]):
        out.write(f"{names[entry]}: {words}\n")
print(f"{sum(l.startswith('case') for l in kept)} kernels, {len(rejected)} refused by ptxas")
