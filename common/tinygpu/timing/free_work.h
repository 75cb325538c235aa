// Work that takes no time, to see how much of a kernel's time hangs on it. Only the clock changes: what is computed,
// the order of each thread's effects and every check stay what they are.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace tinygpu {

/// What costs nothing.
struct FreeWork {
  bool loads = false, mmas = false, waits = false, bank_conflicts = false;
  bool operator==(const FreeWork&) const = default;
};

struct FreeKind {
  std::string_view name;     // "bank-conflicts"
  std::string_view words;    // "bank conflicts": "if bank conflicts were free"
  std::string_view meaning;  // what takes no time then
  bool FreeWork::*on;
};
/// All of them.
std::span<const FreeKind> free_kinds();

/// Reads "loads,waits". Empty, or what to write instead.
std::string read_free_work(FreeWork& to, std::string_view text);

struct MachineSpec;
/// The machine on which `work` takes no time.
void make_free(MachineSpec& spec, FreeWork work);

}  // namespace tinygpu
