import unittest

from support import ServerTest, module, node, ops


class NormalForm(ServerTest):
    def test_linear_is_t_and_addmm(self):
        task = self.load(module("return self.l(x)", "[torch.rand(4, 8)]", "self.l = nn.Linear(8, 16)"))
        self.assertEqual(ops(task), ["t", "addmm"])
        nodes = task["graph"]["nodes"]
        self.assertEqual([n["op"] for n in nodes[:3]], ["input", "param", "param"])
        self.assertEqual(nodes[4], {"op": "addmm", "args": [{"node": 2, "index": 0}, {"node": 0, "index": 0}, {"node": 3, "index": 0}],
                                    "attrs": {"beta": 1, "alpha": 1}, "outputs": [{"name": "addmm_4", "dtype": "float32", "shape": [4, 16]}]})
        self.assertEqual(task["graph"]["outputs"], [{"node": 4, "index": 0}])

    def test_numbers_beside_tensors_are_args_and_the_rest_attrs_with_defaults(self):
        task = self.load(module("return torch.add(x, 2, alpha=3) ** 2 / (1 - x)", "[torch.rand(4)]"))
        self.assertEqual(ops(task), ["add", "pow", "rsub", "div"])
        self.assertEqual(node(task, "add")["args"][1], {"scalar": 2.0})
        self.assertEqual(node(task, "add")["attrs"], {"alpha": 3})
        self.assertEqual(node(task, "pow")["args"][1], {"scalar": 2.0})
        self.assertEqual(node(task, "rsub")["attrs"], {"alpha": 1})

    def test_clamp_keeps_its_bounds_as_attrs(self):
        task = self.load(module("return torch.clamp(x, min=0.25)", "[torch.rand(4)]"))
        self.assertEqual(node(task, "clamp")["attrs"], {"min": 0.25, "max": None})

    def test_infinities_are_strings(self):
        task = self.load(module("return x.masked_fill(x > 0.5, float('-inf'))", "[torch.rand(4)]"))
        self.assertEqual(node(task, "masked_fill")["attrs"], {"value": "-inf"})

    def test_dtypes_are_names(self):
        task = self.load(module("return torch.sum(x.half(), dim=1, dtype=torch.float32)", "[torch.rand(4, 8)]"))
        self.assertEqual(node(task, "_to_copy")["attrs"], {"dtype": "float16"})
        self.assertEqual(node(task, "sum")["attrs"], {"dim": [1], "keepdim": False, "dtype": "float32"})

    def test_no_ops_vanish(self):
        task = self.load(module("return x.clone().detach().contiguous().float().view(4, 8).expand(4, 8)[:] * 2", "[torch.rand(4, 8)]"))
        self.assertEqual(ops(task), ["mul"])

    def test_reshapes_are_views(self):
        task = self.load(module("return (x.reshape(2, -1).unsqueeze(0).squeeze(0).flatten() + 1)", "[torch.rand(4, 8)]"))
        self.assertEqual(ops(task), ["view", "unsqueeze", "view", "view", "add"])
        self.assertEqual(node(task, "view")["attrs"], {"size": [2, 16]})

    def test_getitem_becomes_an_index(self):
        task = self.load(module("values, where = torch.max(x, dim=1)\nreturn where, values", "[torch.rand(4, 8)]"))
        self.assertEqual(ops(task), ["max"])
        self.assertEqual([o["index"] for o in task["graph"]["outputs"]], [1, 0])
        self.assertEqual([o["dtype"] for o in node(task, "max")["outputs"]], ["float32", "int64"])

    def test_batch_norm_has_one_name_and_three_outputs(self):
        task = self.load(module("return self.bn(x)", "[torch.rand(4, 8)]", "self.bn = nn.BatchNorm1d(8)"))
        batch_norm = node(task, "native_batch_norm")
        self.assertEqual(batch_norm["attrs"], {"training": True, "momentum": 0.1, "eps": 1e-5})
        self.assertEqual(len(batch_norm["args"]), 5)
        self.assertEqual([len(o["shape"]) for o in batch_norm["outputs"]], [2, 1, 1])

    def test_norms_have_one_name(self):
        task = self.load(module("return torch.norm(x, p=2, dim=1, keepdim=True) + torch.norm(x)", "[torch.rand(4, 8)]"))
        norms = [n["attrs"] for n in task["graph"]["nodes"] if n["op"] == "linalg_vector_norm"]
        self.assertEqual(norms, [{"ord": 2, "dim": [1], "keepdim": True, "dtype": None}, {"ord": 2, "dim": None, "keepdim": False, "dtype": None}])

    def test_factories_are_full(self):
        task = self.load(module("return x + torch.ones(8) + torch.zeros_like(x)", "[torch.rand(4, 8)]"))
        self.assertEqual(ops(task), ["full", "add", "full", "add"])
        self.assertEqual(node(task, "full")["attrs"], {"size": [8], "fill_value": 1.0, "dtype": "float32"})

    def test_in_place_is_functional_and_follows_the_value(self):
        task = self.load(module("y = x * 2\nz = y\ny += 1\ny.relu_()\nreturn z", "[torch.rand(4)]"))
        self.assertEqual(ops(task), ["mul", "add", "relu"])
        self.assertEqual(task["graph"]["outputs"], [{"node": 3, "index": 0}])

    def test_a_slice_written_in_place_is_scattered(self):
        task = self.load(module("y = x * 2\ny[1:, 0] = x[0, 0]\nreturn y", "[torch.rand(4, 8)]"))
        self.assertEqual(ops(task)[-2:], ["select_scatter", "slice_scatter"])
        self.assertEqual(node(task, "slice_scatter")["attrs"], {"dim": 0, "start": 1, "end": 4, "step": 1})

    def test_a_stale_view_is_refused_rather_than_misread(self):
        task = self.load(module("y = x * 2\nv = y[0]\ny.add_(1)\nreturn v + 1", "[torch.rand(4, 8)]"))
        if task["graph"] is None:
            self.assertIn("view is read after its base was written", task["opaque_reason"])
        else:  # torch's own functionalization can follow it: the write must come before the read
            self.assertEqual(ops(task), ["mul", "add", "select", "add"])

    def test_dead_code_goes_and_unused_inputs_stay(self):
        task = self.load(module("rest[0] * 3\nreturn x + 1", "[torch.rand(4), torch.rand(4)]", "self.w = nn.Parameter(torch.rand(3))"))
        self.assertEqual([n["op"] for n in task["graph"]["nodes"]], ["input", "input", "add"])
        self.assertEqual(len(task["params"]), 1)

    def test_lists_of_tensors_are_flat(self):
        task = self.load(module("a, b = x.chunk(2, dim=1)\nreturn torch.cat([b, a], dim=1)", "[torch.rand(4, 8)]"))
        self.assertEqual(ops(task), ["split", "cat"])
        self.assertEqual([a["index"] for a in node(task, "cat")["args"]], [1, 0])

    def test_pooling_in_three_dimensions_needs_no_memory(self):
        task = self.load(module("return F.max_pool3d(x, 3, 2, 1, 1, False, True)[0]", "[torch.rand(64, 512, 128, 128, 128)]"))
        self.assertEqual(node(task, "max_pool3d_with_indices")["outputs"][0]["shape"], [64, 512, 64, 64, 64])

    def test_a_value_dependent_module_is_opaque_with_the_reason(self):
        task = self.load(module("return x * 2 if bool(x.sum() > 0) else x", "[torch.rand(4)]"))
        self.assertIsNone(task["graph"])
        self.assertTrue(task["opaque_reason"].startswith("make_fx: task.py:"), task["opaque_reason"])
        self.assertEqual(task["outputs"], [{"name": "out0", "dtype": "float32", "shape": [4]}])


if __name__ == "__main__":
    unittest.main()
