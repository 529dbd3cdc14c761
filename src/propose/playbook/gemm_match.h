// Recognises a task that is one fp32 matrix product followed by pointwise operators, and writes its epilogue as code.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "task/task.h"

namespace cutegen::playbook {

// An operand of C[M, N] = A[M, K] · B[N, K]^T as it lies in memory.
struct GemmOperand {
  std::string buffer;        // plan argument: "cutegen::input(0)"
  bool contiguous_k = true;  // false: its rows (M or N) are contiguous
  std::string text;          // "input A[4096, 4096]"
};

// Another tensor that the epilogue reads.
struct EpilogueOperand {
  std::string name;    // parameter of the kernel: "p0"
  std::string type;    // "float"
  std::string buffer;  // "cutegen::param(1)"
  std::string text;    // "linear.bias[8192]"
};

// One statement of the epilogue: `const type name = expression;`.
struct EpilogueValue {
  std::string name, type, expression, comment;
};

struct GemmProblem {
  int64_t m = 0, n = 0, k = 0;
  GemmOperand a, b;
  std::vector<EpilogueOperand> operands;
  std::vector<EpilogueValue> values;  // in terms of c (the product's element), m, n and the operands
  std::string result;                 // the name of the last value: what is stored
  std::string output_type;            // of the stored element
  std::vector<std::string> ops;       // the epilogue's operators in order, for people: {"add", "relu"}
};

// Serves mm, addmm and linear on fp32 tensors whose operands are inputs or parameters seen through views (t, transpose, view ...), and any
// pointwise operators behind it whose other operands broadcast to the product's shape. Errc::unsupported with one sentence that names what
// does not fit.
Result<GemmProblem> match_gemm(const Task& task);

}  // namespace cutegen::playbook
