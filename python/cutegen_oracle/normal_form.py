"""From an FX graph of ATen calls to the task graph of src/task/graph.h: one form for every torch version.

The rules, in the order in which they apply to a call:
  1. an in-place operator on a value that nothing else views becomes its functional form;
  2. no-ops on values (detach, alias, clone, contiguous, casts to the same dtype, whole slices) disappear;
  3. operators that a version or a device renames get one name (RENAMED, and reshaping ones become `view`);
  4. tensors, and numbers in OPERANDS, become args in schema order; all else becomes attrs, defaults filled in.
Dead nodes are removed at the end; inputs stay.
"""

import itertools
import math
import operator

import torch

from .dtypes import NAMES, name_of, spec
from .errors import OracleError

# Scalars that take part in arithmetic beside tensors: args rather than attrs.
OPERANDS = {"self", "other", "exponent"}
# Attributes that say where and how a tensor lies in memory, not what it holds.
PLACEMENT = {"device", "layout", "pin_memory", "memory_format", "non_blocking", "generator", "implicit", "copy", "names", "requires_grad"}
NO_OPS = {"detach", "alias", "clone", "contiguous", "lift", "lift_fresh", "lift_fresh_copy", "_conj", "resolve_conj",
          "resolve_neg", "positive"}
RESHAPES = {"view", "_unsafe_view", "reshape", "_reshape_alias", "view_copy", "_reshape_copy", "squeeze", "flatten", "unflatten"}
RENAMED = {
    "_native_batch_norm_legit": "native_batch_norm", "_native_batch_norm_legit_functional": "native_batch_norm",
    "_native_batch_norm_legit_no_training": "native_batch_norm",
    "cudnn_batch_norm": "native_batch_norm", "_batch_norm_with_update": "native_batch_norm",
    "_batch_norm_with_update_functional": "native_batch_norm",
    "_scaled_dot_product_flash_attention": "scaled_dot_product_attention",
    "_scaled_dot_product_flash_attention_for_cpu": "scaled_dot_product_attention",
    "_scaled_dot_product_efficient_attention": "scaled_dot_product_attention",
    "_scaled_dot_product_cudnn_attention": "scaled_dot_product_attention",
    "_scaled_dot_product_fused_attention_overrideable": "scaled_dot_product_attention",
    "new_full": "full", "new_zeros": "zeros", "new_ones": "ones", "new_empty": "empty", "empty_like": "empty",
    "zeros_like": "zeros", "ones_like": "ones", "full_like": "full", "scalar_tensor": "full",
}
CONSTANT_MAKERS = {"zeros": 0.0, "ones": 1.0}
RANDOM = {"bernoulli", "native_dropout", "rand", "rand_like", "randn", "randn_like", "randint", "randint_like", "normal", "uniform",
          "randperm", "multinomial", "rrelu_with_noise", "exponential", "normal_functional", "_fused_dropout", "poisson", "cauchy",
          "geometric", "log_normal"}


class Untraceable(Exception):
    """This graph has no normal form; the text says why."""


def json_number(value):
    """JSON has no infinities: they are the strings "inf", "-inf" and "nan"."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if value != value else ("inf" if value > 0 else "-inf")
    return value


def json_attr(value, where):
    if isinstance(value, torch.dtype):
        return name_of(value, where)
    if isinstance(value, bool) or value is None or isinstance(value, (int, str)):
        return value
    if isinstance(value, float):
        return json_number(value)
    if isinstance(value, (list, tuple)):
        return [json_attr(item, where) for item in value]
    raise Untraceable(f"{where} has an argument of type {type(value).__name__}")


class Ref(tuple):
    """(node, index) of a value in the graph under construction."""


class Multi:
    """The result of an operator with several outputs: the number of its node."""

    def __init__(self, node):
        self.node = node


class Missing:
    """An output that the normal form does not carry: reading it fails, ignoring it does not."""


class Storage:
    """What a value and its views share. `version` counts in-place writes, so that a stale view is noticed."""

    def __init__(self):
        self.version = 0


class Builder:
    """Builds {"nodes", "outputs"} from `module`, whose placeholders are the params then the inputs."""

    def __init__(self, module, params, inputs):
        self.graph_module = module
        self.nodes = []
        self.value = {}      # fx node -> Ref | Multi | number | list | None
        self.storage = {}    # fx node -> (Storage, version seen)
        self.current = {}    # Storage -> the fx node that holds its newest whole value
        self.mutated = []    # names of params and inputs that the module writes to
        self.whole = set()   # fx nodes that name a storage's whole value, not a view of it
        self.placeholders = {}
        self._names = [("param", i, s) for i, s in enumerate(params)] + [("input", i, s) for i, s in enumerate(inputs)]

    def build(self):
        pending = iter(self._names)
        for node in self.graph_module.graph.nodes:
            if node.op == "placeholder":
                kind, index, tensor_spec = next(pending)
                self.value[node] = self.emit(kind, [], {"index": index}, [tensor_spec])
                self.own(node)
                self.placeholders[node] = (kind, tensor_spec["name"])
            elif node.op == "get_attr":
                self.value[node] = self.constant(node)
                self.own(node)
            elif node.op == "call_function":
                self.call(node)
            elif node.op == "output":
                outputs = [self.output(arg) for arg in node.args[0]]
            else:
                raise Untraceable(f"the trace holds a {node.op} node")
        return self.finish(outputs)

    # Values and storage -------------------------------------------------------------------------------------------

    def emit(self, op, args, attrs, outputs):
        self.nodes.append({"op": op, "args": args, "attrs": attrs, "outputs": outputs})
        return Ref((len(self.nodes) - 1, 0))

    def own(self, node):
        storage = Storage()
        self.storage[node] = (storage, 0)
        self.current[storage] = node

    def share(self, node, base):
        self.storage[node] = (self.storage[base][0], self.storage[base][0].version)

    def read(self, node):
        """The value of an fx node at this point of the program."""
        storage, seen = self.storage.get(node, (None, 0))
        if storage is None or seen == storage.version:
            return self.value[node]
        whole = self.current[storage]
        if whole is node or node in self.whole:
            return self.value[whole]
        raise Untraceable("a view is read after its base was written in place")

    def constant(self, node):
        tensor = self.graph_module
        for part in node.target.split("."):
            tensor = getattr(tensor, part)
        tensor = getattr(tensor, "constant", None) if type(tensor).__name__ == "FakeTensor" else tensor
        if not isinstance(tensor, torch.Tensor):
            raise Untraceable("a tensor that is neither an input nor a member of the module takes part")
        if tensor.numel() != 1:
            raise Untraceable(f"forward builds a tensor of shape {list(tensor.shape)} from Python data")
        return float(tensor.item()) if tensor.dtype.is_floating_point else tensor.item()

    def output(self, arg):
        value = self.read(arg) if isinstance(arg, torch.fx.Node) else arg
        if not isinstance(value, Ref):
            raise Untraceable("an output is a constant")
        return {"node": value[0], "index": value[1]}

    # Calls --------------------------------------------------------------------------------------------------------

    def call(self, node):
        if node.target is operator.getitem:
            self.getitem(node)
            return
        schema = getattr(node.target, "_schema", None)
        if schema is None:
            raise Untraceable(f"call of {node.target}")
        namespace, op = schema.name.split("::")
        if namespace not in ("aten", "prims"):
            raise Untraceable(f"operator {schema.name} is not an ATen operator")
        bound = self.bind(node, schema)
        if op.endswith("_") and not op.endswith("__"):
            self.in_place(node, op[:-1], schema, bound)
            return
        if any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments) and "batch_norm" not in op:
            raise Untraceable(f"operator {op} writes to its arguments")
        self.value[node] = self.translate(node, op, schema, bound)
        base = next((a.name for a in schema.arguments if a.alias_info is not None), None)
        source = self.fx_argument(node, schema, base) if base else None
        if isinstance(source, torch.fx.Node) and source in self.storage:
            self.share(node, source)
        else:
            self.own(node)

    def getitem(self, node):
        source, index = node.args
        value = self.value[source]
        if isinstance(value, Multi):
            known = index < len(self.nodes[value.node]["outputs"])
            self.value[node] = Ref((value.node, index)) if known else Missing()
        else:
            self.value[node] = value[index]
        if source in self.storage:
            self.share(node, source)

    def fx_argument(self, node, schema, name):
        for position, argument in enumerate(schema.arguments):
            if argument.name == name:
                if name in node.kwargs:
                    return node.kwargs[name]
                return node.args[position] if position < len(node.args) else None
        return None

    def bind(self, node, schema):
        """[(schema argument, value)] with defaults filled in; FX nodes are replaced by their values."""
        bound = []
        for position, argument in enumerate(schema.arguments):
            if argument.name in node.kwargs:
                value = node.kwargs[argument.name]
            elif position < len(node.args) and not argument.kwarg_only:
                value = node.args[position]
            elif argument.has_default_value():
                value = argument.default_value
            else:
                raise Untraceable(f"{schema.name} is called without '{argument.name}'")
            bound.append((argument, self.resolve(value)))
        return bound

    def resolve(self, value):
        if isinstance(value, torch.fx.Node):
            return self.read(value)
        if isinstance(value, (list, tuple)):
            return [self.resolve(item) for item in value]
        return value

    def in_place(self, node, op, schema, bound):
        target = self.fx_argument(node, schema, schema.arguments[0].name)
        value = self.translate(node, op, schema, bound)
        self.write(target, value)
        storage = self.storage[target][0]
        self.value[node] = value
        self.storage[node] = (storage, storage.version)
        if self.current[storage] is target:
            self.current[storage] = node
            self.whole.update((target, node))
            self.placeholders[node] = self.placeholders.get(target)

    def write(self, target, value):
        """`target`, a whole value or a select or slice of one, now holds `value`."""
        storage, _ = self.storage[target]
        whole = self.current[storage]
        if target is whole or target in self.whole:
            if self.placeholders.get(target) and self.placeholders[target] not in self.mutated:
                self.mutated.append(self.placeholders[target])
            storage.version += 1
            self.storage[target] = (storage, storage.version)
            self.value[target] = value
            self.current[storage] = target
            self.whole.update((target, whole))
            return
        schema = getattr(target.target, "_schema", None)
        op = schema.name.split("::")[1] if schema is not None else ""
        if op not in ("select", "slice"):
            raise Untraceable(f"forward writes into a view made by {op or target.target}")
        bound = self.bind(target, schema)
        base = bound[0][1]
        attrs = {argument.name: item for argument, item in bound[1:]}
        if op == "slice":
            attrs = slice_attrs(attrs, self.shape(base))
            if attrs["step"] == 1 and attrs["end"] - attrs["start"] == self.shape(base)[attrs["dim"]]:
                self.write(self.fx_argument(target, schema, "self"), value)  # the slice is all of it
                return
        args = [{"node": base[0], "index": base[1]}, self.arg(op, value)]
        specs = [dict(self.nodes[base[0]]["outputs"][base[1]])]
        self.write(self.fx_argument(target, schema, "self"), self.emit(f"{op}_scatter", args, attrs, specs))

    # Normalisation ------------------------------------------------------------------------------------------------

    def translate(self, node, op, schema, bound):
        out = node.meta.get("val")
        single = isinstance(out, torch.Tensor)
        first = bound[0][1] if bound else None
        if op in NO_OPS or (single and self.is_identity(op, first, out, bound)):
            return first
        if op == "copy":
            return self.copy(bound, out)
        if op == "fill" and not isinstance(bound[1][1], Ref):
            return self.full(bound[1][1], spec("", out))
        if op == "zero":
            return self.full(0.0, spec("", out))
        args, attrs = self.split(op, bound)
        outputs = self.output_specs(node, out)
        name = RENAMED.get(op, op)
        if op in RESHAPES:
            name, attrs = "view", {"size": outputs[0]["shape"]}
        elif op in ("expand", "expand_as"):
            name, args, attrs = "expand", args[:1], {"size": outputs[0]["shape"]}
        elif name == "native_batch_norm":
            args, attrs, outputs = batch_norm(op, args, attrs, outputs)
        elif name == "scaled_dot_product_attention":
            args, attrs, outputs = attention(args, attrs, outputs)
        elif name in ("full", "zeros", "ones", "empty") and single:
            return self.filled(name, op, bound, outputs)
        elif name == "slice":
            attrs = slice_attrs(attrs, self.shape(first))
        elif name == "_to_copy":
            attrs = {"dtype": outputs[0]["dtype"]}
        elif op in ("norm", "linalg_vector_norm"):
            name, attrs = "linalg_vector_norm", vector_norm_attrs(attrs)
        ref = self.emit(name, args, attrs, outputs)
        return ref if single else Multi(ref[0])

    def shape(self, ref):
        return self.nodes[ref[0]]["outputs"][ref[1]]["shape"]

    def is_identity(self, op, first, out, bound):
        """Casts to the same dtype, views to the same shape, whole slices, dropout's leftovers."""
        if not isinstance(first, Ref):
            return False
        before = self.nodes[first[0]]["outputs"][first[1]]
        same = before["shape"] == [int(n) for n in out.shape] and before["dtype"] == NAMES.get(out.dtype)
        if op == "slice":
            return same and dict((a.name, v) for a, v in bound).get("step") in (1, None)
        return same and (op in RESHAPES or op in ("_to_copy", "to", "expand", "expand_as", "unsafe_chunk"))

    def copy(self, bound, out):
        """copy_(self, src): the whole of self becomes src, cast and broadcast to self."""
        source = bound[1][1]
        if not isinstance(source, Ref):
            return self.full(source, spec("", out))
        wanted = spec("", out)
        before = self.nodes[source[0]]["outputs"][source[1]]
        if before["dtype"] != wanted["dtype"]:
            source = self.emit("_to_copy", [self.arg("copy", source)], {"dtype": wanted["dtype"]}, [dict(before, dtype=wanted["dtype"])])
        if before["shape"] != wanted["shape"]:
            source = self.emit("expand", [self.arg("copy", source)], {"size": wanted["shape"]}, [wanted])
        return source

    def filled(self, name, op, bound, outputs):
        given = dict((a.name, v) for a, v in bound)
        fill = given.get("fill_value", given.get("s")) if name == "full" else CONSTANT_MAKERS.get(name)
        if isinstance(fill, Ref):
            raise Untraceable(f"{op} with a tensor as its value")
        # The contents of an empty tensor are undefined: whoever reads them before writing has no defined result.
        return self.full(0.0 if name == "empty" else fill, outputs[0])

    def full(self, fill, out):
        return self.emit("full", [], {"size": out["shape"], "fill_value": json_number(fill), "dtype": out["dtype"]}, [out])

    def split(self, op, bound):
        args, attrs = [], {}
        for argument, value in bound:
            kind = str(argument.type)
            if "Tensor" in kind:
                args.extend(self.arg(op, item) for item in (value if isinstance(value, list) else [value]))
            elif argument.name in OPERANDS and isinstance(value, (int, float)):
                args.append({"scalar": json_number(float(value))})
            elif argument.name not in PLACEMENT:
                attrs[argument.name] = json_attr(self.number(value), f"{op}'s {argument.name}")
        return args, attrs

    def number(self, value):
        if isinstance(value, Ref) or isinstance(value, Multi):
            raise Untraceable("a tensor's value is used as a number")
        return value

    def arg(self, op, value):
        if value is None:
            return None
        if isinstance(value, Ref):
            return {"node": value[0], "index": value[1]}
        if isinstance(value, (bool, int, float)):
            return {"scalar": json_number(float(value))}
        raise Untraceable(f"an argument of {op} is {type(value).__name__}")

    def output_specs(self, node, out):
        if isinstance(out, torch.Tensor):
            return [spec("", out)]
        values = list(out) if isinstance(out, (list, tuple)) else None
        if values is None:
            items = {user.args[1]: user.meta.get("val") for user in node.users if user.target is operator.getitem}
            values = [items.get(i) for i in range(1 + max(items, default=-1))]
        tensors = list(itertools.takewhile(lambda v: isinstance(v, torch.Tensor), values))
        if not tensors:
            raise Untraceable(f"{node.target} has outputs that are not tensors")
        return [spec("", v) for v in tensors]

    def finish(self, outputs):
        keep, stack = set(), [ref["node"] for ref in outputs]
        while stack:
            index = stack.pop()
            if index not in keep:
                keep.add(index)
                stack.extend(arg["node"] for arg in self.nodes[index]["args"] if arg and "node" in arg)
        keep |= {i for i, node in enumerate(self.nodes) if node["op"] == "input"}
        number = {old: new for new, old in enumerate(sorted(keep, key=self.order))}
        nodes = [rename(self.nodes[old], number) for old in sorted(keep, key=self.order)]
        for new, node in enumerate(nodes):
            if node["op"] not in ("input", "param"):
                for i, tensor_spec in enumerate(node["outputs"]):
                    tensor_spec["name"] = f"{node['op']}_{new}" + (f".{i}" if len(node["outputs"]) > 1 else "")
        return {"nodes": nodes, "outputs": [{"node": number[r["node"]], "index": r["index"]} for r in outputs]}

    def order(self, index):
        """Inputs first, then params, then operators as they ran."""
        return ({"input": 0, "param": 1}.get(self.nodes[index]["op"], 2), index)


def rename(node, number):
    args = [{"node": number[a["node"]], "index": a["index"]} if a and "node" in a else a for a in node["args"]]
    return dict(node, args=args)


def batch_norm(op, args, attrs, outputs):
    """input, weight, bias, running_mean, running_var; training, momentum, eps; y, save_mean, save_invstd."""
    eps = attrs.get("eps", attrs.get("epsilon"))
    momentum = attrs.get("momentum", attrs.get("exponential_average_factor"))
    training = attrs.get("training", "no_training" not in op)
    args = (args + [None] * 5)[:5]
    return args, {"training": training, "momentum": momentum, "eps": eps}, outputs[:3]


def attention(args, attrs, outputs):
    """query, key, value, attn_mask; dropout_p, is_causal, scale."""
    args = (args + [None])[:4]
    return args, {key: attrs.get(key, default) for key, default in (("dropout_p", 0.0), ("is_causal", False), ("scale", None))}, outputs[:1]


def vector_norm_attrs(attrs):
    """ord, dim (null: all), keepdim, dtype; older versions say norm(p, dim=[])."""
    order = attrs.get("ord", attrs.get("p", 2))
    return {"ord": 2 if order is None else order, "dim": attrs.get("dim") or None, "keepdim": attrs.get("keepdim", False),
            "dtype": attrs.get("dtype")}


def slice_attrs(attrs, shape):
    size = shape[attrs["dim"]]

    def bound(value, default):
        value = default if value is None else value
        return max(0, min(size, value + size if value < 0 else value))

    return {"dim": attrs["dim"], "start": bound(attrs["start"], 0), "end": bound(attrs["end"], size), "step": attrs["step"]}


def random_ops(graph):
    """The names of the operators in a normal-form graph that draw random numbers."""
    return sorted({node["op"] for node in graph["nodes"] if node["op"] in RANDOM})
