// Live progress on stderr: one rewriting line on a terminal, one line a node otherwise.
#pragma once

#include "search/search.h"

namespace cutegen::cli {

class Progress {
 public:
  explicit Progress(bool terminal) : terminal_(terminal) {}
  void operator()(const SearchProgress& step);

 private:
  void note_best(const SearchProgress& step);
  bool terminal_;
  std::string best_;  // "0.61 ms (1.93x)"
};

}  // namespace cutegen::cli
