// The parser's working state; private to ptx/. The first error sticks and empties the token stream, so that no caller has to check each
// step.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "vgpu/ptx/ast.h"
#include "vgpu/ptx/lexer.h"

namespace cutegen::vgpu::ptx {

class Parser {
 public:
  explicit Parser(Module& module) : module_(module), lexer_(*module.text) {}
  Result<void> parse_module();

 private:
  struct Range {  // `.reg .b32 %r<5>`
    int32_t first = 0;
    uint64_t count = 0;
  };
  // Names of one `{ ... }`: registers and variables share a name space, labels have their own.
  struct Scope {
    int parent = -1;
    std::unordered_map<std::string_view, int32_t> registers;
    std::unordered_map<std::string_view, Range> ranges;
    std::unordered_map<std::string_view, int32_t> variables;
    std::unordered_map<std::string_view, int32_t> labels;
    std::unordered_map<std::string_view, std::vector<std::string>> branch_targets;  // .branchtargets by the label before it
  };
  struct PendingName {  // an operand that may be a label further down or a function
    size_t instruction, operand;
    int scope;
    uint32_t line;
  };

  // tokens
  const Token& peek() const { return failed_ ? end_ : lexer_.peek(); }
  Token take() { return failed_ ? end_ : lexer_.take(); }
  bool accept(char c);
  bool accept(std::string_view text);
  bool at_directive() const { return peek().kind == TokenKind::dot_word; }
  void expect(char c, const char* where);
  std::string_view expect_word(const char* what);
  uint64_t expect_integer(const char* what);
  void fail(uint32_t line, std::string message);
  void fail(std::string message) { fail(peek().line, std::move(message)); }

  // module level: parser.cc
  void parse_top_level();
  void parse_version();
  void parse_target();
  void parse_file();
  void skip_section();
  void skip_statement();
  void parse_function(bool is_entry, bool is_extern);
  void parse_parameters(Function& f, std::vector<int32_t>& into);
  void parse_performance_directives(Function& f);
  void parse_dims(uint32_t (&dims)[3]);

  // declarations: parser_declarations.cc
  bool parse_variables(Space space, bool is_extern, std::vector<Variable>& into, bool module_level);
  void parse_one_variable(Variable v, std::vector<Variable>& into, bool module_level);
  uint64_t parse_array_suffix(uint64_t* elements, bool* unsized);
  void parse_initialiser(Variable& v);
  void parse_init_values(Variable& v, uint64_t& offset);
  void parse_init_value(Variable& v, uint64_t& offset);
  void parse_registers();
  Type parse_type();

  // bodies: parser_body.cc
  void parse_body(Function& f);
  void parse_statement();
  bool parse_body_directive();
  void parse_loc();
  void parse_instruction(std::string_view first);
  std::string_view parse_opcode(const Token& first);
  void open_scope(int parent);
  void define_label(std::string_view name, uint32_t line);
  void parse_branch_targets();
  void expand_indexed_branch(const Instruction& in);
  void push_branch(const Instruction& like, int32_t guard, bool negated, const std::string& label, int32_t target);
  void resolve_pending();

  // operands: parser_operands.cc
  Operand parse_operand();
  Operand parse_list(char close);
  Operand parse_address();
  Operand parse_number(bool negative);
  Operand parse_named();
  int64_t parse_offset();
  bool lookup(std::string_view name, Operand& into);
  static int32_t find_register(const Scope& scope, std::string_view name);

  Module& module_;
  Lexer lexer_;
  Token end_;
  bool failed_ = false;
  Error error_;
  std::unordered_map<std::string_view, int32_t> globals_;
  // of the function being parsed
  Function* function_ = nullptr;
  std::vector<Scope> scopes_;
  int scope_ = -1;
  int depth_ = 0;
  int32_t loc_ = -1;
  std::string_view last_label_;
  std::vector<PendingName> pending_;
};

}  // namespace cutegen::vgpu::ptx
