#!/usr/bin/env python3
"""Inspects every task file of the given folders and prints what they trace to. Not a test: it needs the files.

    python3 tests/python/trace_census.py KernelBench/level1 KernelBench/level2 [--json FOLDER]
"""

import argparse
import collections
import glob
import json
import os
import re
import resource
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "python"))

from cutegen_oracle import compat  # noqa: E402
from cutegen_oracle.errors import OracleError  # noqa: E402
from cutegen_oracle.tracing import signature_of  # noqa: E402
from cutegen_oracle.user_file import UserFile  # noqa: E402


def in_order(folder):
    return sorted(glob.glob(os.path.join(folder, "*.py")), key=lambda p: (int((re.match(r"\d+", os.path.basename(p)) or [0])[0]), p))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--json", help="write each task's signature and graph into this folder")
    options = parser.parse_args()
    compat.register_missing_meta_kernels()
    counts, traced, untraced = collections.Counter(), 0, []
    begin = time.monotonic()
    for path in [path for folder in options.folders for path in in_order(folder)]:
        name = os.path.join(os.path.basename(os.path.dirname(path)), os.path.basename(path))
        try:
            signature = signature_of(UserFile(path))
        except OracleError as error:
            untraced.append(f"{name}: {error.message}")
            continue
        if signature.graph is None:
            untraced.append(f"{name}: opaque: {signature.reason}")
            continue
        traced += 1
        counts.update(node["op"] for node in signature.graph["nodes"] if node["op"] not in ("input", "param"))
        if options.json:
            os.makedirs(options.json, exist_ok=True)
            level, number = name.split("_")[0].split("/")
            with open(os.path.join(options.json, f"{level}_{number}.json"), "w", encoding="utf-8") as file:
                json.dump({"name": os.path.basename(path)[:-3], "inputs": signature.inputs, "params": signature.params,
                           "outputs": signature.outputs, "train_mode": signature.train_mode, "graph": signature.graph}, file, indent=1)
    for op, count in counts.most_common():
        print(f"{count:5d} {op}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{traced} traced, {len(untraced)} not, {time.monotonic() - begin:.1f} s, peak {peak:.0f} MB")
    for line in untraced:
        print("  " + line)


if __name__ == "__main__":
    main()
