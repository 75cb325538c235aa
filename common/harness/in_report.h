// What a program tells tinygpu of itself: names for its launches, and for the page of --report timelines from times of
// its own. On other hardware nothing happens.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gen5::harness {

/// Times are SM cycles.
struct OwnTimeline {
  struct Span {
    std::string name;
    uint64_t begin = 0, end = 0;
    bool critical = false;  // on the longest way from the beginning to the end
  };
  struct Row {
    std::string name;  // "SM 0"
    std::vector<Span> spans;
  };
  std::string title;
  std::vector<Row> rows;
  /// From a span to one that waited for it, each by its place among the spans of all rows.
  std::vector<std::pair<size_t, size_t>> arrows;
};

/// Launches from now on are called so: of "step 6" and the kernel persistent() diagnoses, profiles and timelines make
/// "step 6: persistent".
void name_launches(const std::string& name);

/// Throws std::runtime_error if tinygpu cannot use it.
void show_in_report(const OwnTimeline& timeline);

}  // namespace gen5::harness
