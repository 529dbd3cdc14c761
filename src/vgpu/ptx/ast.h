// A PTX module as parsed: names resolved, nothing executed, nothing known about single instructions.
// Source: PTX ISA 9.0, chapters 4 (syntax), 5 (state spaces, types, variables), 11 (directives).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cutegen::vgpu::ptx {

enum class Space : uint8_t { none, reg, constant, global, local, param, shared };

// Fundamental types. Packed types (f16x2) are qualifiers of instructions on .b32 registers, not types of variables.
enum class Type : uint8_t { none, b8, b16, b32, b64, b128, u8, u16, u32, u64, s8, s16, s32, s64, f16, bf16, f32, f64, pred };
int size_bytes(Type type);  // 0 for pred and none

// One .loc: where the following instructions come from. A chain of inlined_at leads outwards.
struct Loc {
  uint32_t file = 0;  // number of a .file directive
  uint32_t line = 0;  // 1-based
  uint32_t column = 0;
  int32_t inlined_at = -1;  // index into Module::locs
};

// An address inside an initialiser: `offset` bytes into the variable, a pointer to `symbol` + addend is stored.
struct Relocation {
  uint32_t offset = 0;
  std::string symbol;
  int64_t addend = 0;
  bool generic = false;
};

struct Variable {
  std::string name;
  Space space = Space::none;
  Type type = Type::none;
  uint64_t bytes = 0;  // 0 for `extern .shared x[]`: the dynamic shared memory
  uint32_t align = 1;
  bool is_extern = false;
  std::vector<uint8_t> init;  // empty: zero (global, const) or undefined
  std::vector<Relocation> relocations;
};

struct Register {
  std::string name;
  Type type = Type::none;
};

struct Operand {
  enum class Kind : uint8_t {
    reg,       // reg; reg2 too for `p|q`
    integer,   // bits: two's complement, 64 wide
    real,      // bits: an f64 pattern, or an f32 pattern when is_f32 (0f...)
    variable,  // address of a variable, + offset
    function,  // name
    label,     // target: index of an instruction
    special,   // name: "%tid.x"
    vector,    // items
    address,   // items[0] base, + offset; items[1..]: tensor coordinates and the like
    sink,      // `_`
  };
  Kind kind = Kind::sink;
  bool negated = false;  // `!p`
  bool is_f32 = false;
  bool module_level = false;  // variable: an index into Module::variables, else into Function::variables
  int32_t reg = -1;           // index into Function::registers; -1 in `_|p`
  int32_t reg2 = -1;
  int32_t index = -1;  // variable index or label target
  uint64_t bits = 0;
  int64_t offset = 0;
  std::string name;
  std::vector<Operand> items;
};

struct Instruction {
  std::string_view opcode;  // with all its qualifiers, a slice of Module::text
  int32_t guard = -1;       // register index of `@p`
  bool guard_negated = false;
  uint32_t line = 0;  // of the PTX text
  int32_t loc = -1;   // index into Module::locs
  std::vector<Operand> operands;
};

struct Function {
  std::string name;
  bool is_entry = false;
  bool is_declaration = false;  // no body: extern or forward
  uint32_t line = 0;
  std::vector<int32_t> parameters;  // indices into variables
  std::vector<int32_t> results;     // indices into variables
  std::vector<Variable> variables;  // parameters, results, .local, .shared and call-site .param
  std::vector<Register> registers;
  std::vector<Instruction> body;
  uint32_t max_threads[3] = {0, 0, 0};       // .maxntid; 0: not given
  uint32_t required_threads[3] = {0, 0, 0};  // .reqntid
  uint32_t cluster[3] = {0, 0, 0};           // .reqnctapercluster
};

struct File {
  uint32_t number = 0;
  std::string path;
};

struct Module {
  std::shared_ptr<const std::string> text;  // opcodes point into it
  std::string name;                         // of the file, for messages
  int version_major = 0, version_minor = 0;
  std::string target;
  std::vector<File> files;
  std::vector<Loc> locs;
  std::vector<Variable> variables;
  std::vector<Function> functions;

  const std::string& file_path(uint32_t number) const;  // "" when unknown
  std::string_view line_text(uint32_t line) const;      // a line of `text`, trimmed
};

}  // namespace cutegen::vgpu::ptx
