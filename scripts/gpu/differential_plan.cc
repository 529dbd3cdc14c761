// Prints the launch plan that a candidate's PTX carries, as JSON: differential_plan FILE.ptx
#include <cstdio>

#include "base/fs.h"
#include "candidate/plan.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto text = cutegen::read_file(argv[1]);
  if (!text.ok()) return std::fprintf(stderr, "%s\n", text.error().message.c_str()), 1;
  auto plan = cutegen::plan_from_ptx(*text);
  if (!plan.ok()) return std::fprintf(stderr, "%s\n", plan.error().message.c_str()), 1;
  std::puts(cutegen::to_json(*plan).dump().c_str());
  return 0;
}
