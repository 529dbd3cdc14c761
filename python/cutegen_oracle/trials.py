"""Trials by id: inputs that others can open, and the truths that they are compared with. Old ones go when memory is short."""

import itertools

from .errors import OUT_OF_MEMORY, PROTOCOL, USER_ERROR, OracleError, is_device_failure
from .shared_memory import Opened, layout, make_arena


class Trial:
    def __init__(self, number, key):
        self.number, self.key = number, key
        self.arenas, self.shared_inputs, self.shared_params = [], [], []
        self.truths = None    # None: timing inputs
        self.refused = False  # the module raises on these inputs
        self.released = False
        self.used = 0
        self.bytes = 0

    def close(self):
        for arena in self.arenas:
            arena.close()
        self.arenas, self.truths = [], None

    def to_json(self):
        finite = not self.refused and (self.truths is None or all(t.finite for t in self.truths))
        return {"trial": self.number, "inputs": self.shared_inputs, "params": self.shared_params, "reference_finite": finite}


class Trials:
    """`budget` bytes may be held; a trial asked for again is the same one, unless it had to go."""

    def __init__(self, runner, budget):
        self.runner, self.budget = runner, budget
        self.by_key, self.by_number, self.keys = {}, {}, {}
        self.numbers, self.clock = itertools.count(1), itertools.count(1)

    def get(self, key):
        """key: (seed, distribution, randomise_params, precision); precision None asks for timing inputs."""
        trial = self.by_key.get(key)
        if trial is None:
            trial = self.make(key)
        trial.released, trial.used = False, next(self.clock)
        return trial

    def make(self, key):
        number = next((n for n, k in self.keys.items() if k == key), None) or next(self.numbers)
        self.make_room(self.estimate(key))
        while True:
            try:
                trial = self.compute(number, key)
                break
            except OracleError as error:
                if error.code != OUT_OF_MEMORY or not self.evict_one():
                    raise
        self.by_key[key] = self.by_number[number] = trial
        self.keys[number] = key
        return trial

    def estimate(self, key):
        signature = self.runner.signature
        inputs, outputs, params = (layout(specs)[1] for specs in (signature.inputs, signature.outputs, signature.params))
        return inputs + (params if key[2] else 0) + (4 * outputs if key[3] else 0)

    def compute(self, number, key):
        seed, distribution, randomise, _ = key
        trial, runner = Trial(number, key), self.runner
        try:
            self.fill(trial)
            runner.settle()
        except BaseException as error:
            trial.close()
            # What the module does not accept is no input of its: that distribution is dropped, as one with NaN in the reference is.
            refused = isinstance(error, OracleError) and error.code == USER_ERROR
            if distribution == "as_given" or not (refused or is_device_failure(error)):
                raise
            trial.refused = True
        if not trial.refused:
            trial.bytes = self.estimate((seed, distribution, randomise, None)) + sum(t.bytes() for t in trial.truths or ())
        return trial

    def fill(self, trial):
        seed, distribution, randomise, precision = trial.key
        runner = self.runner
        arena, inputs, trial.shared_inputs = make_arena(runner.signature.inputs, runner.device)
        trial.arenas.append(arena)
        runner.fill_inputs(inputs, seed, distribution)
        params, trial.shared_params = runner.params, runner.shared_params
        if randomise:
            arena, params, trial.shared_params = make_arena(runner.signature.params, runner.device)
            trial.arenas.append(arena)
            runner.fill_randomised(params, seed)
        if precision is not None:
            trial.truths = runner.truths(params, inputs, precision)

    def held(self):
        return sum(trial.bytes for trial in self.by_number.values())

    def make_room(self, wanted):
        while self.by_number and self.held() + wanted > self.budget:
            if not self.evict_one(keep=4 if wanted <= self.budget // 8 else 1):
                break

    def evict_one(self, keep=0):
        """Released trials first, then the one longest unused; the `keep` newest unreleased ones stay."""
        order = sorted(self.by_number.values(), key=lambda t: (not t.released, t.used))
        unreleased = sum(not t.released for t in order)
        if not order or (not order[0].released and unreleased <= keep):
            return False
        self.drop(order[0])
        return True

    def drop(self, trial):
        trial.close()
        del self.by_number[trial.number], self.by_key[trial.key]

    def release(self, number):
        trial = self.by_number.get(number)
        if trial is not None:
            trial.released = True

    def close(self):
        for trial in list(self.by_number.values()):
            self.drop(trial)

    def compare(self, number, outputs, poison):
        if number not in self.keys or self.keys[number][3] is None:
            raise OracleError(PROTOCOL, f"there is no trial {number} with references")
        trial = self.get(self.keys[number])
        if trial.refused:
            raise OracleError(PROTOCOL, f"trial {number} was dropped: the module does not accept its inputs")
        if len(outputs) != len(trial.truths):
            raise OracleError(PROTOCOL, f"{len(outputs)} outputs were sent, the task has {len(trial.truths)}")
        opened = Opened(outputs, self.runner.device)
        try:
            return [self.compare_one(truth, opened, i, poison) for i, truth in enumerate(trial.truths)]
        finally:
            opened.close()
            self.runner.settle()

    def compare_one(self, truth, opened, index, poison):
        tensor = opened.tensor(index)
        return truth.compare(tensor.to(truth.truth.device), poison)
