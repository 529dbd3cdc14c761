"""Loads a file in KernelBench's convention: Model, get_inputs, get_init_inputs (optional)."""

import inspect
import os
import random
import sys
import types

import torch

from .errors import USER_ERROR, OracleError, running_user_code

MODULE_SEED = 42  # the seed under which a module initialises its parameters, as the suite's own harness has it
_count = 0


def seed_everything(seed):
    random.seed(seed)
    torch.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


class UserFile:
    """A loaded file. Each call into it turns the user's exceptions into OracleErrors."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.name = os.path.splitext(os.path.basename(path))[0]
        try:
            with open(self.path, encoding="utf-8") as file:
                self.source = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise OracleError(USER_ERROR, f"cannot read {self.path}: {error}") from error
        self._module = self._load()
        self._check()

    def _load(self):
        global _count
        _count += 1
        module = types.ModuleType(f"cutegen_task_{_count}")
        module.__file__ = self.path
        sys.modules[module.__name__] = module
        folder = os.path.dirname(self.path)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        with running_user_code(self.path, "while importing the file"):
            exec(compile(self.source, self.path, "exec"), module.__dict__)
        return module

    def _fail(self, message, hint=""):
        raise OracleError(USER_ERROR, f"{os.path.basename(self.path)}: {message}", hint)

    def _check(self):
        model = getattr(self._module, "Model", None)
        if model is None:
            self._fail("no class Model in the file", "define `class Model(torch.nn.Module)` with a forward method")
        if not (isinstance(model, type) and issubclass(model, torch.nn.Module)):
            self._fail("Model is not a subclass of torch.nn.Module")
        if not callable(getattr(self._module, "get_inputs", None)):
            self._fail("no function get_inputs in the file", "define `def get_inputs()` returning the list of forward's arguments")

    def make_model(self):
        """The module, constructed under MODULE_SEED, in the mode that the file leaves it in."""
        make_args = getattr(self._module, "get_init_inputs", None)
        seed_everything(MODULE_SEED)
        init = []
        if make_args is not None:
            with running_user_code(self.path, "in get_init_inputs()"):
                init = make_args()
        if not isinstance(init, (list, tuple, dict)):
            self._fail(f"get_init_inputs() must return a list of arguments for Model, not {type(init).__name__}")
        args, kwargs = ((), init) if isinstance(init, dict) else (init, {})
        seed_everything(MODULE_SEED)
        with running_user_code(self.path, "while constructing Model"):
            return self._module.Model(*args, **kwargs)

    def make_inputs(self, seed):
        """The list of forward's arguments under a seed, as the file returns it."""
        seed_everything(seed)
        with running_user_code(self.path, "in get_inputs()"):
            inputs = self._module.get_inputs()
        if not isinstance(inputs, (list, tuple)):
            self._fail(f"get_inputs() must return a list of forward's arguments, not {type(inputs).__name__}")
        return list(inputs)

    def argument_names(self, count):
        """forward's parameter names for `count` positional arguments ("arg3" where it has none, as under *args)."""
        try:
            parameters = list(inspect.signature(self._module.Model.forward).parameters.values())[1:]
        except (TypeError, ValueError):
            parameters = []
        names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        return [names[i] if i < len(names) else f"arg{i}" for i in range(count)]
