// The built-in proposer: no model, no network. It reads the task's op graph, picks the schema that serves it, writes the schema's
// default configuration, and then improves the best verified one by changing one factor at a time.
#pragma once

#include <filesystem>
#include <memory>

#include "propose/proposer.h"

namespace cutegen {

// `kernels_dir` holds the templates (<kernels_dir>/map/map.cu.mustache ...): data_dir() / "kernels" in an installed cutegen.
std::unique_ptr<Proposer> make_playbook(std::filesystem::path kernels_dir);

}  // namespace cutegen
