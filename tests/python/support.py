"""What the tests of the side-car share: the package on sys.path, tasks from text, a server that answers in this process."""

import os
import sys
import tempfile
import textwrap
import unittest
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python"))
warnings.filterwarnings("ignore")

try:
    import torch
except ImportError as error:
    raise unittest.SkipTest(f"no torch: {error}") from error

from cutegen_oracle.server import Server  # noqa: E402
from cutegen_oracle.shared_memory import make_arena  # noqa: E402

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
POISON = 0x7FC0DEAD


def module(forward, inputs, init=""):
    """The text of a task: forward's body, get_inputs' list, lines of __init__."""
    init_lines = "".join(f"        {line}\n" for line in textwrap.dedent(init).strip().splitlines())
    body = "".join(f"        {line}\n" for line in textwrap.dedent(forward).strip().splitlines())
    return (f"{HEAD}class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n{init_lines}"
            f"    def forward(self, x, *rest):\n{body}\ndef get_inputs():\n    return {inputs}\n")


class ServerTest(unittest.TestCase):
    """self.load(text) inspects a task; self.ask(op, ...) must succeed."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.server = Server("cpu")
        # The limits of this process stay as they are: it runs other tests too.
        self.server.device, self.server.budget = torch.device("cpu"), 1 << 30

    def tearDown(self):
        self.server.close()
        self.server.global_state.restore()
        self.folder.cleanup()

    def load(self, text):
        path = os.path.join(self.folder.name, "task.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return self.ask("inspect", path=path)["task"]

    def ask(self, op, **fields):
        answer = self.server.answer(dict(fields, op=op))
        self.assertTrue(answer["ok"], answer.get("error"))
        return answer

    def refused(self, op, **fields):
        answer = self.server.answer(dict(fields, op=op))
        self.assertFalse(answer["ok"])
        return answer["error"]

    def trial(self, seed=1, distribution="as_given", randomise=False, precision="match"):
        answer = self.ask("trial", seed=seed, distribution=distribution, randomise_params=randomise, precision=precision)
        return self.server.trials.by_number[answer["trial"]]

    def compare(self, trial, *outputs):
        """Compares tensors as if a device had shared them."""
        arena, mine, shared = make_arena(self.server.signature.outputs, torch.device("cpu"))
        try:
            for place, value in zip(mine, outputs):
                place.copy_(value.reshape(place.shape))
            return self.ask("compare", trial=trial.number, outputs=shared, poison=POISON)["outputs"]
        finally:
            arena.close()


def ops(task):
    return [node["op"] for node in task["graph"]["nodes"] if node["op"] not in ("input", "param")]


def node(task, op):
    return next(n for n in task["graph"]["nodes"] if n["op"] == op)
