// All records, and the way from an opcode's text to its record.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vgpu/isa/form.h"

namespace cutegen::vgpu {

// One function a file of isa/: the records of that section of the PTX ISA manual.
std::vector<Form> integer_forms();
std::vector<Form> carry_forms();
std::vector<Form> float32_forms();
std::vector<Form> float64_forms();
std::vector<Form> approximate_forms();
std::vector<Form> half_forms();
std::vector<Form> logic_forms();
std::vector<Form> compare_forms();
std::vector<Form> move_forms();
std::vector<Form> convert_forms();
std::vector<Form> memory_forms();
std::vector<Form> atomic_forms();
std::vector<Form> warp_forms();
std::vector<Form> control_forms();
std::vector<Form> matrix_forms();
std::vector<Form> wgmma_forms();
std::vector<Form> async_forms();
std::vector<Form> bulk_forms();
std::vector<Form> tensor_copy_forms();
std::vector<Form> tensor_map_forms();
std::vector<Form> mbarrier_forms();
std::vector<Form> builtin_forms();

const std::vector<Form>& all_forms();  // sorted by name

// An opcode without the qualifiers that do not change what is computed here: cache operators, eviction hints, memory order and scope (every
// access is sequentially consistent), .b/.u/.f of plain loads and stores.
std::string canonical_opcode(std::string_view opcode);

// The record of an opcode as written, or nullptr.
const Form* find_form(std::string_view opcode);

// Whether an opcode polls memory that other threads write (.volatile, .acquire, failed waits): the scheduler yields after it.
bool polls_memory(std::string_view opcode);

// How a load, store or atomic as written orders other accesses: kAcquires and its like.
uint8_t memory_order(std::string_view opcode);

// The bodies for this machine: "avx512", "avx2" or "portable"; $CUTEGEN_VGPU_ISA may ask for a lesser one.
Body choose_body(const Bodies& bodies);
const char* host_isa();

}  // namespace cutegen::vgpu
