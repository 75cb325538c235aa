// Machine profiles: probes/machines/NAME.json, every number with its unit, meaning, source and trust.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/tinygpu/timing/spec.h"

namespace tinygpu {

/// What is wrong with a profile: the file, the key, the mend.
class ProfileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How far a number can be relied on, in falling order.
enum class Trust : uint8_t {
  measured,    // primary data, ours or published as tables that we recomputed
  fitted,      // a formula fitted to such data
  documented,  // the vendor's documents
  published,   // one source, plausible, not recomputed
  weak,        // a remark, or notes without data
  estimated,   // not published: `source` says what it was inferred from
};
std::string_view to_string(Trust t);

struct ProfileEntry {
  std::string key;  // "device.sms", "instructions.fma.latency", "tma.latency"
  double value = 0;
  bool truth = false;  // the value is a JSON boolean
  std::string unit, what, source;
  Trust trust = Trust::estimated;
  double low = 0, high = 0;  // of an estimate with a spread: between these the number is expected to lie,
  std::string spread;        // for this reason; empty: it has none
};

struct Profile {
  MachineSpec spec;
  std::string path, gpu, note;
  std::vector<ProfileEntry> entries;  // in the file's order
};

/// Reads a profile by name ("b200") or path (anything with a '/' or ending in ".json"). Names are looked for in
/// $GEN5_MACHINE_DIR, the source tree's probes/machines, and machines/ beside this library. Throws ProfileError.
Profile read_profile(const std::string& name_or_path);
/// The machine alone.
MachineSpec load_profile(const std::string& name_or_path);
/// Parses `json`; `path` is for messages.
Profile parse_profile(std::string_view json, const std::string& path);
/// The names that read_profile finds, sorted.
std::vector<std::string> profile_names();

}  // namespace tinygpu
