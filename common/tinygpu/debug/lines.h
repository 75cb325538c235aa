// Which ops of a function stand for which lines of the source, inlined calls included.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/tinygpu/machine/origin.h"
#include "common/tinygpu/program/program.h"

namespace tinygpu {
class Launch;
}

namespace tinygpu::debug {

/// A line of a file; the file by its number in SourceLines.
struct SourceLine {
  uint32_t file = 0;
  int line = 0;  // 0: the compiler named none
  bool operator==(const SourceLine&) const = default;
};

class SourceLines {
 public:
  struct Op {
    SourceLine own;                   // innermost
    std::vector<SourceLine> callers;  // of inlined functions, from inside out
    int ptx_line = 0;
    bool at(SourceLine l) const;
  };
  /// By op. Worked out when a function is first asked for.
  const std::vector<Op>& of(const Launch& launch, const Function& f);
  const std::string& file(uint32_t number) const { return files_[number]; }
  /// Files whose path ends in this one, from a directory's name on.
  std::vector<uint32_t> files_like(std::string_view name) const;

 private:
  uint32_t number_of(const std::string& path);
  std::vector<std::string> files_;
  std::unordered_map<std::string, uint32_t> numbers_;
  std::unordered_map<const Function*, std::vector<Op>> functions_;
};

}  // namespace tinygpu::debug
