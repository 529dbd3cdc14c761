// Text for people: verdicts, tables, progress lines. Only formatting: nothing here prints. A time that was not measured is marked
// "predicted" wherever it appears.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/verdict.h"

namespace cutegen {

// "0.5123 ms", "0.5123 ms (predicted)".
std::string format_ms(double ms, bool measured);
// "1.93x [1.91, 1.95] over eager (0.988 ms)", or "not known over compile: NOTE".
std::string format_speedup(const TimedAgainst& against, bool measured);
// The first baseline that was measured: what a single number is named after. Null when there is none.
const TimedAgainst* headline(const TimingEvidence& timing);

// A few lines: VERIFIED, FAILED with the stage that stopped it, or UNFINISHED; accuracy against the reference, speedups with their
// intervals, share of the floor, the kernel's path. `kernel` may be empty. Ends without a newline.
std::string verdict_summary(const Verdict& verdict, const std::string& kernel);
// The same in one line: "0.512 ms, 1.93x over eager", "FAILED at accuracy: ...".
std::string verdict_line(const Verdict& verdict);

enum class Align { left, right };
struct Column {
  std::string title;
  Align align = Align::left;
};
// Aligned columns two spaces apart, titles underlined. Rows shorter than the columns are filled up; longer ones are cut. Widths count
// code points, so µ and × align. Every line ends with a newline and without trailing spaces.
std::string table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows);

struct ProgressFacts {
  double elapsed_s = 0;
  int node = 0;
  std::string origin;  // "playbook:map/vec4"
  std::string what;    // "proposed", "verdict", "duplicate", "final"
  const Verdict* verdict = nullptr;
  bool best = false;  // the best so far
};
// "[  12.3 s] #4 playbook:map/vec4  0.512 ms, 1.93x over eager  (best)"
std::string progress_line(const ProgressFacts& facts);

}  // namespace cutegen
