// A check is an observer that reports findings. To add one: a file in observe/checks/ that exports its CheckEntry, and a line in checks.cc.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "vgpu/exec/report.h"
#include "vgpu/observe/observer.h"

namespace cutegen::vgpu {

// What users read about a check.
struct CheckRecord {
  const char* name;  // "uninitialised-memory"
  FaultKind kind;
  Checks least;      // the least mode that runs it
  const char* what;  // one line each
  const char* why;
  const char* fix;
};

// What a check has to say about one lane of a warp.
struct Report {
  const CheckRecord* record = nullptr;
  std::string what;  // as GuestFault::message
  u32 lane = 0;
  u64 address = 0;
  std::string buffer;
  s64 distance = 0;
  s32 other_pc = -1;  // the other side, for `related`
};

// The findings of one launch, deduplicated by check, instruction and partner. Several host threads may add.
class FindingLog {
 public:
  FindingLog(const Image& image, const Grid& grid) : image_(image), grid_(grid) {}
  void add(const Warp& warp, u32 pc, Report report);
  void more(const CheckRecord& record, u32 pc, s32 other_pc, u64 count);  // of what was added
  std::vector<Finding> take();                                            // by source line

 private:
  struct Entry {
    Finding finding;
    u64 rank = 0;  // of the thread that it names: the lowest is kept, whatever the order of host threads
  };
  using Key = std::tuple<std::string, std::string, s32>;  // check, source line with instruction, other pc
  Key key(const CheckRecord& record, u32 pc, s32 other_pc) const;
  static constexpr size_t kMaxFindings = 256;
  const Image& image_;
  const Grid& grid_;
  std::mutex mutex_;
  std::map<Key, Entry> entries_;
};

struct CheckContext {
  const Image& image;
  const Grid& grid;
  const Memory& memory;
  const Memory* module;  // the program's variables; nullptr when there are none
  FindingLog& log;
  Checks mode;
};

class Check : public Observer {
 public:
  explicit Check(const CheckContext& context) : image_(context.image), grid_(context.grid), log_(context.log) { every_instruction = false; }
  void instruction(const Warp&, const Inst&, u32) override {}
  void access(const MemoryEvent&) override {}
  void branch(const Warp&, const Inst&, bool) override {}
  void bulk(u64) override {}

 protected:
  const Image& image_;
  const Grid& grid_;
  FindingLog& log_;
};

struct CheckEntry {
  std::vector<const CheckRecord*> records;
  // A fresh check for one host thread, or nullptr when this launch has nothing for it to do.
  std::unique_ptr<Observer> (*make)(const CheckContext& context);
};

const std::vector<CheckEntry>& all_checks();
const CheckRecord* find_check(const std::string& name);  // nullptr when absent
std::vector<std::unique_ptr<Observer>> make_checks(const CheckContext& context);

}  // namespace cutegen::vgpu
