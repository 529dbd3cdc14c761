// The schemas of this build, one function a family; each is defined in a file of its own.
#pragma once

#include "propose/playbook/render.h"
#include "propose/playbook/schema.h"

namespace cutegen::playbook {

Schema map_schema();   // map.cc: pointwise graphs
Schema scan_schema();  // scan.cc: cumulative sums and products of pointwise graphs
Schema row_schema();   // row.cc: reductions over the same axes with pointwise code before and after

}  // namespace cutegen::playbook
