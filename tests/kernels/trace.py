#!/usr/bin/env python3
"""trace.py FILE.py... OUT: writes OUT/<name>/task.json and module.py for files in KernelBench's convention, for playbook_dump."""

import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from cutegen_oracle.tracing import signature_of  # noqa: E402
from cutegen_oracle.user_file import UserFile  # noqa: E402


def main():
    *files, out = sys.argv[1:]
    for path in map(pathlib.Path, files):
        user = UserFile(str(path))
        signature = signature_of(user)
        folder = pathlib.Path(out) / user.name
        folder.mkdir(parents=True, exist_ok=True)
        task = {"name": user.name, "inputs": signature.inputs, "params": signature.params, "outputs": signature.outputs,
                "train_mode": signature.train_mode, "graph": signature.graph, "opaque_reason": signature.reason}
        (folder / "task.json").write_text(json.dumps(task))
        shutil.copyfile(path, folder / "module.py")


if __name__ == "__main__":
    main()
