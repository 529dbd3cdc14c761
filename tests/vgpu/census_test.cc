// Every opcode that a census of CuTe's tutorials, CUTLASS examples 27, 48, 49, 54 and 88 and hand-written kernels found (data/opcodes.txt)
// is accepted and executes. What it computes is tested elsewhere.
#include <sstream>

#include "vgpu/isa/harness.h"
#include "vgpu/tensor_map.h"

namespace cutegen::vgpu {
namespace {

std::vector<std::string> opcodes() {
  auto text = read_file(std::string(CUTEGEN_SOURCE_DIR) + "/tests/vgpu/data/opcodes.txt");
  EXPECT_TRUE(text.ok());
  std::vector<std::string> list;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) list.push_back(line);
  return list;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

const Form* form_of(const std::string& opcode) {
  if (opcode.starts_with("st.param")) return find_form("st.local" + opcode.substr(8));  // of a call's frame
  if (const Form* f = find_form(opcode)) return f;
  for (const char* operands : {"/2", "/3", "/4"})
    if (const Form* f = find_form(canonical_opcode(opcode) + operands)) return f;
  return nullptr;
}

// An instruction with operands that make sense; registers hold 1, true or the addresses below.
class Writer {
 public:
  Writer(const std::string& opcode, const Form& form) : opcode_(opcode), form_(form) {}
  std::string text() {
    std::string operands;
    for (size_t i = 0; i < form_.operands.size(); ++i) {
      const OperandSpec& o = form_.operands[i];
      if (o.optional) break;
      operands += (i == 0 ? " " : ", ") + operand(o, i);
    }
    if (has(opcode_, "cache_hint")) operands += ", %policy";
    return declarations_ + opcode_ + operands + ";\n";
  }

 private:
  std::string reg(Value v, bool one) {
    const std::string name = "%q" + std::to_string(next_++), type = register_class(v);
    declarations_ += ".reg ." + type + " " + name + ";\n";
    if (one && type == "pred") declarations_ += "setp.eq.u32 " + name + ", %one, 1;\n";
    if (one && type != "pred") declarations_ += "mov." + type + " " + name + ", 1;\n";
    return name;
  }
  std::string list(const OperandSpec& o, bool one) {
    std::string s = "{";
    for (int i = 0; i < o.count; ++i) s += (i == 0 ? "" : ", ") + reg(o.type, one);
    return o.count == 1 ? s.substr(1) : s + "}";
  }
  std::string address(size_t index) const {
    if (has(opcode_, "mbarrier") && !(has(opcode_, "cp.async.bulk") && index < 2)) return "[%bar]";
    if (has(opcode_, "tensormap")) return "[%map]";
    if (has(opcode_, "cp.async") || has(opcode_, "cp.reduce")) {
      const bool to_global = has(opcode_, ".global.shared");
      return (index == 0) != to_global || has(opcode_, "tensor") ? "[%shared]" : "[%global]";
    }
    if (has(opcode_, ".shared") || has(opcode_, "matrix")) return "[%shared]";
    if (has(opcode_, ".local")) return "[depot]";
    if (has(opcode_, "st.param")) return "[frame]";
    if (has(opcode_, ".param")) return "[block]";
    return "[%global]";
  }
  std::string operand(const OperandSpec& o, size_t index) {
    switch (o.role) {
      case Role::dst: return has(opcode_, "mbarrier.arrive") ? "_" : reg(o.type, false);
      case Role::src:
        if (has(opcode_, "wgmma") && o.type == Value::U64) return "%descriptor";
        if (form_.collective && index + 1 == form_.operands.size()) return "-1";
        return reg(o.type, true);
      case Role::pair_dst: return reg(Value::Pred, false) + "|" + reg(Value::Pred, false);
      case Role::reg_pred: return reg(o.type, false) + "|" + reg(Value::Pred, false);
      case Role::vec_dst: return list(o, false);
      case Role::vec_src: return list(o, true);
      case Role::address: return address(index);
      case Role::coords: {
        std::string s = "[%map, {";
        for (int i = 0; i < o.count; ++i) s += i == 0 ? "0" : ", 0";
        return s + "}]";
      }
      case Role::imm: return has(opcode_, "setmaxnreg") ? "64" : has(opcode_, "wait_group") ? "0" : has(opcode_, "wgmma") ? "1" : "16";
      case Role::label: return "NEXT";
      case Role::list: return "nothing";
    }
    return {};
  }

  const std::string& opcode_;
  const Form& form_;
  std::string declarations_;
  int next_ = 0;
};

std::string kernel(const std::string& instruction) {
  return ".version 8.7\n.target sm_90a\n.address_size 64\n.func nothing() { ret; }\n"
         ".visible .entry t(.param .u64 x, .param .align 64 .b8 tmap[128], .param .align 16 .b8 block[16]) {\n"
         ".shared .align 1024 .b8 tile[16384]; .shared .align 8 .b64 barrier; .local .align 16 .b8 depot[16]; .param .align 16 .b8 "
         "frame[16];\n"
         ".reg .b32 %shared, %bar, %one; .reg .b64 %global, %map, %policy, %descriptor;\n"
         "mov.u32 %one, 1; mov.u32 %shared, tile; mov.u32 %bar, barrier; ld.param.u64 %global, [x]; mov.b64 %map, tmap; cvta.param.u64 "
         "%map, "
         "%map; mov.b64 %policy, 0; cvt.u64.u32 %descriptor, %shared; shr.u64 %descriptor, %descriptor, 4;\n"
         "mbarrier.init.shared.b64 [%bar], 4096;\n{\n" +
         instruction + "}\nNEXT: ret;\n}\n";
}

TensorMap small_map(uint64_t address, uint32_t rank) {
  TiledTensor t;
  t.type = TensorType::float32, t.rank = rank, t.address = address;
  t.dims = {4, 2, 2, 2, 2}, t.strides = {16, 32, 64, 128}, t.box = {4, 1, 1, 1, 1};
  auto map = encode(t);
  EXPECT_TRUE(map.ok());
  return *map;
}

TEST(Census, EveryOpcodeIsAcceptedAndExecutes) {
  const std::vector<std::string> list = opcodes();
  EXPECT_EQ(list.size(), 387u);
  for (const std::string& opcode : list) {
    SCOPED_TRACE(opcode);
    const Form* form = form_of(opcode);
    ASSERT_NE(form, nullptr);
    const std::string text = kernel(Writer(opcode, *form).text());
    auto program = load_ptx(text, "census.ptx");
    ASSERT_TRUE(program.ok()) << program.error().message;
    Memory memory;
    std::vector<u64> x(128);
    const uint64_t address = map(memory, "x", x);
    const size_t dims = opcode.find("d.", std::min(opcode.find("tensor."), opcode.size()));
    LaunchConfig c;
    c.kernel = "t", c.block = {32}, c.arguments.resize(program.value()->kernels()[0].argument_bytes);
    const TensorMap tensor_map = small_map(address, dims == std::string::npos ? 1 : static_cast<uint32_t>(opcode[dims - 1] - '0'));
    std::memcpy(c.arguments.data(), &address, 8);
    std::memcpy(c.arguments.data() + 64, &tensor_map, 128);
    LaunchOptions options;
    options.checks = Checks::fast, options.time_limit = Seconds(10);
    const LaunchResult r = launch(**program, memory, c, options);
    if (opcode == "trap" || opcode == "brkpt")
      EXPECT_EQ(r.fault.has_value() ? r.fault->kind : FaultKind::deadlock, FaultKind::trap);
    else
      EXPECT_TRUE(r.ok()) << r.fault->message << "\n" << text;
  }
}

TEST(Census, MultimemIsRefusedWithItsReason) {
  auto program = load_ptx(kernel("multimem.red.relaxed.sys.global.add.u32 [%global], %one;\n"), "census.ptx");
  ASSERT_FALSE(program.ok());
  EXPECT_NE(program.error().message.find("several GPUs"), std::string::npos) << program.error().message;
}

}  // namespace
}  // namespace cutegen::vgpu
