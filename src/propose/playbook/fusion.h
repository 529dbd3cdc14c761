// From a (rewritten) graph to the values of a fused kernel: which elements are loaded where, what is computed from them for one
// element, what is reduced, in which order.
//
// A kernel works over a domain, the shape in which its outputs are computed. The map family's domain is one linear index (group 0).
// The row family's is [outer, R, inner] (groups 0, 1, 2): R runs over the reduced axes, a "row" is what remains when R is fixed away.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "propose/playbook/layout.h"
#include "propose/playbook/pointwise.h"
#include "task/graph.h"

namespace cutegen::playbook {

inline constexpr int kOuter = 0, kReduced = 1, kInner = 2;

struct Domain {
  Layout whole;         // domain index -> row-major index of `shape`
  Shape shape;          // the tensor shape that the domain enumerates
  bool rows = false;    // has a reduced group
  Layout row_identity;  // domain index without R -> row index (rows only)
  int64_t outer = 1, reduced = 1, inner = 1;
};

Domain linear_domain(const Shape& shape);
// Reduces `axes` of `shape`. inner is the product of the kept axes behind the last reduced one.
Domain row_domain(const Shape& shape, const std::vector<int64_t>& axes);

struct Expr {
  enum class Kind { leaf, op, reduced };
  Kind kind = Kind::leaf;
  ValueRef ref;  // of the rewritten graph
  DType dtype = DType::f32;
  std::string name;                                             // a C++ identifier, unique in the kernel
  Layout layout;                                                // leaf: domain -> element of the input or parameter
  std::vector<std::variant<int, double, std::monostate>> args;  // op: other exprs, numbers, absent
  bool per_row = false;                                         // does not vary along R
  int level = 0;                                                // how many reduction passes must be over before it is known
  int reduction = -1;                                           // reduced: index into Fusion::reductions
};

struct Reduction {
  int node = -1;   // of the rewritten graph
  int input = -1;  // expr that is reduced
  int level = 1;   // 1-based pass
  std::string name;
};

// Everything that the outputs need.
class Fusion {
 public:
  Fusion(const Graph& graph, Domain domain) : graph_(graph), domain_(std::move(domain)) {}

  // The expr of value `v` where the domain index maps to v's row-major index by `layout`. Errc::unsupported names the operator that
  // is in the way.
  Result<int> at(ValueRef v, const Layout& layout);

  const Graph& graph() const { return graph_; }
  const Domain& domain() const { return domain_; }
  const std::vector<Expr>& exprs() const { return exprs_; }
  const std::vector<Reduction>& reductions() const { return reductions_; }
  int levels() const;

  // Code that names an expr's value: "e.x" for a leaf of the element, "row.mean_2" for a value of the row, "mul_3" for a local.
  std::string code(int expr) const;
  // The statement that defines an op: "float const mul_3 = e.x * row.a;" or, for one of the row, "row.sqrt_4 = ...;".
  Result<std::string> statement(int expr) const;
  // The exprs that must be evaluated for one element to know `targets`: ops that vary along R, in order, and the leaves they load.
  struct Closure {
    std::vector<int> ops, leaves;
  };
  Closure closure(const std::vector<int>& targets) const;

 private:
  Result<int> at_rows(ValueRef v, const Layout& layout);
  Result<int> make_reduced(ValueRef v, const Layout& layout);
  std::string unique(const std::string& wanted);
  int add(Expr expr) {
    exprs_.push_back(std::move(expr));
    return static_cast<int>(exprs_.size()) - 1;
  }

  const Graph& graph_;
  Domain domain_;
  std::vector<Expr> exprs_;
  std::vector<Reduction> reductions_;
  std::map<std::string, int> memo_;   // value and layout -> expr
  std::map<std::string, int> names_;  // how often a name was asked for
};

}  // namespace cutegen::playbook
