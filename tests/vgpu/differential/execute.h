// Runs a case on the virtual GPU.
#pragma once

#include "vgpu/differential/kernel.h"
#include "vgpu/differential/launch_script.h"
#include "vgpu/support.h"

namespace cutegen::differential {

// The result columns one after the other, each result in as many bytes as it has: what scripts/gpu/differential_run.cc writes. An error
// says why there is none.
inline Result<std::string> execute(const Case& c) {
  std::vector<uint64_t> in, out(c.rows * c.result_bytes.size()), scratch(c.rows * 4);
  for (size_t i = 0; i < c.kinds.size(); ++i) {
    const std::vector<uint64_t> operand = column(c.name, i, c.kinds[i], c.rows, c.tile);
    in.insert(in.end(), operand.begin(), operand.end());
  }
  in.resize(std::max<size_t>(in.size(), 1));
  auto program = vgpu::load_ptx(ptx_header() + entry_text(c, "t"), c.name);
  if (!program.ok()) return program.error();
  vgpu::Memory memory;
  vgpu::LaunchConfig config;
  config.kernel = "t", config.grid = {static_cast<uint32_t>(c.rows / c.block)}, config.block = {c.block};
  config.arguments = vgpu::pack_arguments(vgpu::map(memory, "in", in), vgpu::map(memory, "out", out), uint64_t{c.rows * 8},
                                          vgpu::map(memory, "scratch", scratch));
  vgpu::LaunchOptions options;
  options.threads = 1;
  const vgpu::LaunchResult run = vgpu::launch(**program, memory, config, options);
  if (!run.ok()) return Error{Errc::internal, run.fault->message, "", ""};
  std::string packed;
  for (size_t r = 0; r < c.result_bytes.size(); ++r)
    for (size_t row = 0; row < c.rows; ++row)
      packed.append(reinterpret_cast<const char*>(&out[r * c.rows + row]), static_cast<size_t>(c.result_bytes[r]));
  return packed;
}

inline vgpu::Dim3 dim3(const std::array<unsigned, 3>& d) { return {d[0], d[1], d[2]}; }

// A candidate of templates/: its output buffers, one after the other.
inline Result<std::string> execute_program(const std::string& folder, const std::string& name) {
  LaunchScript script = read_launch_script(folder + "/" + name + ".launch", name);
  auto text = read_file(folder + "/" + name + ".ptx");
  if (!text.ok()) return text.error();
  auto program = vgpu::load_ptx(std::move(*text), name);
  if (!program.ok()) return program.error();
  vgpu::Memory memory;
  std::vector<uint64_t> addresses;
  for (auto& b : script.buffers) addresses.push_back(vgpu::map(memory, b.kind.c_str(), b.contents));
  for (const auto& launch : script.launches) {
    const vgpu::KernelInfo* kernel = (*program)->find_kernel(launch.kernel);
    if (kernel == nullptr) return Error{Errc::invalid_input, "no kernel " + launch.kernel, "", ""};
    vgpu::LaunchConfig config;
    config.kernel = launch.kernel, config.grid = dim3(launch.grid), config.block = dim3(launch.block),
    config.cluster = dim3(launch.cluster);
    config.dynamic_smem_bytes = launch.smem_bytes, config.cooperative = launch.cooperative;
    config.arguments.resize(kernel->argument_bytes);
    for (size_t i = 0; i < launch.arguments.size(); ++i) {
      const auto& a = launch.arguments[i];
      const uint64_t value = a.is_buffer ? addresses[a.buffer] + a.value : a.value;
      std::memcpy(config.arguments.data() + kernel->parameters[i].offset, &value, a.bytes);
    }
    const vgpu::LaunchResult run = vgpu::launch(**program, memory, config);
    if (!run.ok()) return Error{Errc::internal, run.fault->message, "", ""};
  }
  std::string packed;
  for (const auto& b : script.buffers)
    if (b.kind == "out") packed.append(b.contents.begin(), b.contents.end());
  return packed;
}

}  // namespace cutegen::differential
