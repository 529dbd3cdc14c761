// A build outcome as the cache stores it, and back.
#pragma once

#include "base/json.h"
#include "candidate/build.h"
#include "toolchain/build_cache.h"

namespace cutegen {

// Names of the files of an entry.
inline constexpr const char* kPtxName = "candidate.ptx";
inline constexpr const char* kCubinName = "candidate.cubin";
inline constexpr const char* kLogName = "log.txt";

Json to_json(const Diagnostic& diagnostic);
Json to_json(const KernelResources& kernel);
// Everything of a build that its files do not hold.
Json build_facts(const Build& build);
Json failure_facts(const BuildFailure& failure);

// The outcome that an entry stands for; the plan is decoded from the PTX. An error means that the entry is of no use.
Result<BuildOutcome> outcome_of(const CacheEntry& entry, const std::string& key, bool cached);

}  // namespace cutegen
