// The order in which schemas are asked: the most specific first.
#include "propose/playbook/families.h"
#include "propose/playbook/gemm.h"

namespace cutegen::playbook {

const std::vector<Schema>& schemas() {
  static const std::vector<Schema> all{map_schema(), row_schema(), scan_schema(), gemm_schema()};
  return all;
}

}  // namespace cutegen::playbook
