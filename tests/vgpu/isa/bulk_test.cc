// Bulk reductions, st.async and red.async, form by form; mbarrier arrivals of their lesser kinds; brx.idx.
#include "vgpu/isa/harness.h"
#include "vgpu/isa/reference.h"

namespace cutegen::vgpu {
namespace {

using reference::Name;

std::vector<u8> run(const std::string& body, std::vector<u8> x, size_t results, u32 threads, bool late = false) {
  const std::string text =
      ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry t(.param .u64 x, .param .u64 y) {\n.shared .align 128 .b8 s[2048]; "
      ".shared .align 8 .b64 bar; .reg .b32 %r<12>; .reg .b64 %d<12>; .reg .pred %p<4>;\n"
      "ld.param.u64 %d0, [x]; ld.param.u64 %d1, [y]; mov.u32 %r0, s; mov.u32 %r1, bar; mov.u32 %r2, %tid.x;\n" +
      body + "ret;\n}\n";
  auto program = load_ptx(text, "bulk.ptx");
  EXPECT_TRUE(program.ok()) << program.error().message << text;
  std::vector<u8> y(results);
  if (!program.ok()) return y;
  Memory memory;
  LaunchConfig c;
  c.kernel = "t", c.block = {threads}, c.arguments = pack_arguments(map(memory, "x", x), map(memory, "y", y));
  LaunchOptions o;
  o.late_async = late, o.checks = Checks::fast;
  const LaunchResult r = launch(**program, memory, c, o);
  EXPECT_TRUE(r.ok()) << r.fault->message << text;
  return y;
}

u64 combined(const std::string& op, const std::string& type, u64 a, u64 b) {
  const int width = reference::bits_in(type);
  auto value = [&](u64 v) -> double {
    if (type == "f32") return reference::as<float>(static_cast<u32>(v));
    return type == "f64" ? reference::as<double>(v) : static_cast<double>(reference::value(v, type));
  };
  const bool real = type.find('f') != std::string::npos;
  if (op == "add" && type == "f32") return reference::bits(static_cast<float>(value(a) + value(b)));
  if (op == "add" && type == "f64") return reference::bits(value(a) + value(b));
  if (op == "add" && real) return reference::to_small(value(a) + value(b), type);
  if (op == "add") return reference::low(a + b, width);
  const bool less = real ? value(a) < value(b) : reference::integer(a, type) < reference::integer(b, type);
  if (op == "min") return less ? a : b;
  if (op == "max") return less ? b : a;
  if (op == "and") return a & b;
  if (op == "or") return a | b;
  if (op == "xor") return a ^ b;
  if (op == "inc") return a >= b ? 0 : a + 1;
  return a == 0 || a > b ? b : a - 1;  // dec
}

// 64 bytes of elements of a type: small numbers for floats, so that sums are exact.
std::vector<u8> elements(const std::string& type, unsigned seed, bool small) {
  std::mt19937_64 g(seed);
  std::vector<u8> bytes(64);
  const size_t size = static_cast<size_t>(reference::bits_in(type)) / 8;
  for (size_t i = 0; i < bytes.size(); i += size) {
    u64 v = small ? g() % 4 : g();
    const int n = static_cast<int>(g() % 64) - 32;
    if (type == "f32") v = reference::bits(static_cast<float>(n));
    if (type == "f64") v = reference::bits(static_cast<double>(n));
    if (type == "f16" || type == "bf16") v = reference::to_small(n, type);
    std::memcpy(bytes.data() + i, &v, size);
  }
  return bytes;
}
std::vector<u8> expected(const std::string& op, const std::string& type, const std::vector<u8>& into, const std::vector<u8>& from) {
  std::vector<u8> want = into;
  const size_t size = static_cast<size_t>(reference::bits_in(type)) / 8;
  for (size_t i = 0; i < want.size(); i += size) {
    u64 a = 0, b = 0;
    std::memcpy(&a, into.data() + i, size), std::memcpy(&b, from.data() + i, size);
    const u64 c = combined(op, type, a, b);
    std::memcpy(want.data() + i, &c, size);
  }
  return want;
}
std::string operation_of(const Name& n) {
  for (const char* op : {"add", "min", "max", "and", "or", "xor", "inc", "dec"})
    if (n.has(op)) return op;
  return {};
}

const std::string kReady = "mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;\n";
const std::string kWait = "WAIT: mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; @!%p0 bra WAIT;\n";
// 64 bytes between global memory at `global` and shared memory at s + `offset`, by one thread.
std::string move(const char* global, int offset, bool in) {
  std::string s;
  for (int i = 0; i < 64; i += 8) {
    const std::string g = std::string("[") + global + "+" + std::to_string(i) + "]", l = "[s+" + std::to_string(offset + i) + "]";
    s += in ? "ld.global.u64 %d8, " + g + "; st.shared.u64 " + l + ", %d8;\n"
            : "ld.shared.u64 %d8, " + l + "; st.global.u64 " + g + ", %d8;\n";
  }
  return s;
}

TEST(Bulk, ReductionsOfEveryTypeAndOperation) {
  int tested = 0;
  for (const Form& f : all_forms()) {
    const Name n(f.name);
    if (!f.name.starts_with("cp.reduce.async.bulk.") || n.has("tensor")) continue;
    SCOPED_TRACE(f.name);
    ++tested;
    const std::string op = operation_of(n), type = n.type();
    const bool small = op == "inc" || op == "dec";
    const std::vector<u8> a = elements(type, 3, small), b = elements(type, 4, small), want = expected(op, type, a, b);
    std::vector<u8> x = a;
    x.insert(x.end(), b.begin(), b.end());
    const bool to_global = n.has("global");
    for (const bool late : {false, true}) {
      std::vector<u8> y;
      if (to_global)
        y = run(move("%d0", 0, true) + move("%d1", 0, false) + move("%d0+64", 64, true) + "add.u32 %r3, %r0, 64; fence.proxy.async;\n" +
                    f.name + " [%d1], [%r3], 64; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n",
                x, 64, 1, late);
      else
        y = run(kReady + move("%d0", 0, true) + move("%d0+64", 64, true) + "add.u32 %r3, %r0, 64; fence.proxy.async;\n" + f.name +
                    " [%r0], [%r3], 64, [%r1];\n" + kWait + move("%d1", 0, false),
                x, 64, 1, late);
      EXPECT_EQ(y, want) << late;
    }
  }
  EXPECT_EQ(tested, 28 + 20);
}

TEST(Bulk, RemoteStoresAndReductions) {
  int stores = 0, reductions = 0;
  for (const Form& f : all_forms()) {
    const Name n(f.name);
    const bool store = f.name.starts_with("st.async"), reduction = f.name.starts_with("red.async");
    if (!store && !reduction) continue;
    SCOPED_TRACE(f.name);
    store ? ++stores : ++reductions;
    const std::string type = n.type(), op = operation_of(n);
    const int size = reference::bits_in(type) / 8, count = n.has("v4") ? 4 : n.has("v2") ? 2 : 1;
    const bool small = op == "inc" || op == "dec";
    std::vector<u8> a = elements(type, 5, small), b = elements(type, 6, small), x = a;
    x.insert(x.end(), b.begin(), b.end());
    std::string body = kReady + move("%d0", 0, true) + "mapa.shared::cluster.u32 %r4, %r0, 0; mapa.shared::cluster.u32 %r5, %r1, 0;\n";
    const std::string reg = size == 8 ? "%d" : "%r", load = "ld.global.u" + std::to_string(8 * size) + " ";
    for (int at = 0; at < 64; at += size * count) {  // one instruction after the other covers the 64 bytes
      std::string values;
      for (int i = 0; i < count; ++i) {
        body += load + reg + std::to_string(6 + i) + ", [%d0+" + std::to_string(64 + at + i * size) + "];\n";
        values += (i == 0 ? "" : ", ") + reg + std::to_string(6 + i);
      }
      if (count > 1) values = "{" + values + "}";
      body += f.name + " [%r4+" + std::to_string(at) + "], " + values + ", [%r5];\n";
    }
    for (const bool late : {false, true})
      EXPECT_EQ(run(body + kWait + move("%d1", 0, false), x, 64, 1, late), store ? b : expected(op, type, a, b)) << late;
  }
  EXPECT_EQ(stores, 5);
  EXPECT_EQ(reductions, 20);
}

TEST(Mbarrier, ArrivalsThatDoNotCompleteAndThatDrop) {
  // Four expected. Two arrive without completing; one drops out, so that later phases expect three.
  const std::string body =
      "mbarrier.init.shared.b64 [bar], 4; mbarrier.arrive.noComplete.shared.b64 %d2, [bar], 2; mbarrier.pending_count.b64 %r3, %d2; "
      "st.global.u32 [%d1], %r3;\nmbarrier.arrive_drop.shared.b64 %d3, [bar]; mbarrier.test_wait.shared.b64 %p0, [bar], %d3; selp.u32 %r4, "
      "1, "
      "0, %p0; st.global.u32 [%d1+4], %r4;\nmbarrier.arrive.shared.b64 %d4, [bar]; mbarrier.test_wait.shared.b64 %p0, [bar], %d4; selp.u32 "
      "%r4, 1, 0, %p0; st.global.u32 [%d1+8], %r4;\nmbarrier.arrive.shared.b64 %d5, [bar], 3; mbarrier.test_wait.shared.b64 %p0, [bar], "
      "%d5; "
      "selp.u32 %r4, 1, 0, %p0; st.global.u32 [%d1+12], %r4;\n";
  const std::vector<u8> y = run(body, std::vector<u8>(8), 16, 1);
  u32 words[4];
  std::memcpy(words, y.data(), 16);
  EXPECT_EQ(words[0], 4u);  // pending before the arrival
  EXPECT_EQ(words[1], 0u);
  EXPECT_EQ(words[2], 1u);
  EXPECT_EQ(words[3], 1u);
}

TEST(Mbarrier, ASmallCopyArrivesWithAndWithoutBeingExpected) {
  for (const bool late : {false, true})
    for (const char* kind : {".noinc", ""}) {
      const bool counted = *kind != '\0';  // .noinc: the initial count includes the copy's arrival
      const std::string body = std::string("mbarrier.init.shared.b64 [bar], ") + (counted ? "2" : "1") +
                               "; cp.async.ca.shared.global [%r0], [%d0], 8; cp.async.mbarrier.arrive" + kind +
                               ".shared.b64 [%r1];\nmbarrier.arrive.shared.b64 _, [bar];\n" + kWait +
                               "ld.shared.u64 %d8, [s]; st.global.u64 [%d1], %d8;\n";
      std::vector<u8> x{1, 2, 3, 4, 5, 6, 7, 8};
      EXPECT_EQ(run(body, x, 8, 1, late), x) << kind << late;
    }
}

TEST(ControlFlow, IndexedBranches) {
  const std::string body =
      "mov.u32 %r5, 0; and.b32 %r3, %r2, 3; setp.lt.u32 %p0, %r2, 24;\nLIST: .branchtargets A, B, C, D;\n@%p0 brx.idx %r3, LIST;\nmov.u32 "
      "%r5, 99; bra DONE;\nA: mov.u32 %r5, 10; bra DONE;\nB: mov.u32 %r5, 11; bra DONE;\nC: mov.u32 %r5, 12;\nD: add.u32 %r5, %r5, 100;\n"
      "DONE: mul.wide.u32 %d2, %r2, 4; add.u64 %d3, %d1, %d2; shfl.sync.idx.b32 %r6, %r5, %r2, 31, -1; st.global.u32 [%d3], %r6;\n";
  const std::vector<u8> y = run(body, std::vector<u8>(8), 128, 32);
  for (u32 t = 0; t < 32; ++t) {
    u32 v = 0;
    std::memcpy(&v, y.data() + 4 * t, 4);
    constexpr u32 kWant[] = {10, 11, 112, 100};
    EXPECT_EQ(v, t < 24 ? kWant[t % 4] : 99) << t;
  }
  EXPECT_FALSE(
      load_ptx(".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry t() { .reg .b32 %r<2>; brx.idx %r0, A; A: ret; }", "x")
          .ok());
}

}  // namespace
}  // namespace cutegen::vgpu
