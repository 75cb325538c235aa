// Every code that a diagnosis can carry, with its story: what is wrong, which rule says so, what hardware does, the
// fix. The places that report have the numbers; here is what they have in common. `gen5 explain CODE` and
// notes/mistakes.md print this table.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/tinygpu/base/diagnosis.h"

namespace tinygpu::diagnosis {

/// The severities that a code is given with.
class Severities {
 public:
  constexpr Severities() = default;
  constexpr Severities(Severity s) : bits_(uint8_t(1u << unsigned(s))) {}
  /// A violation that is always an error with --tmem-checks strict.
  static constexpr Severities strictly() {
    Severities out;
    out.bits_ = kStrictBit;
    return out;
  }
  constexpr bool has(Severity s) const { return bits_ >> unsigned(s) & 1; }
  constexpr bool strict() const { return bits_ & kStrictBit; }
  constexpr bool none() const { return (bits_ & ~kStrictBit) == 0; }
  friend constexpr Severities operator|(Severities a, Severities b) {
    Severities out;
    out.bits_ = uint8_t(a.bits_ | b.bits_);
    return out;
  }

 private:
  static constexpr uint8_t kStrictBit = 0x80;
  uint8_t bits_ = 0;
};

inline constexpr Severities kError = Severity::error, kWarning = Severity::warning, kNote = Severity::note,
                            kStrict = Severities::strictly();

/// What it rests on that hardware does so.
enum class Basis : uint8_t {
  none,        // no hardware is concerned
  unknown,     // not tried as far as we know, or no document says
  inferred,    // our reading; it may be wrong
  documented,  // the PTX ISA or the CUDA documentation says so
  published,   // published kernels that run right on a B200 show it, or reports of ones that did not
  generated,   // the code that ptxas emits does so
  measured,    // we ran it on an H200
};
using enum Basis;  // the table is shorter without "Basis::"

/// Why it is wrong.
struct Rule {
  std::string_view text = {};
  std::string_view section = {};  // number and title in PTX ISA 9.1; empty where no section says it
};

/// What hardware does; nothing where it is not known, or no hardware is concerned.
struct Hardware {
  Basis basis = none;
  std::string_view text = {};
};

/// What to write instead.
struct Fix {
  std::string_view text = {};
  std::string_view example = {};  // some lines of PTX or CUDA; may be empty
};

struct CodeInfo {
  constexpr CodeInfo() = default;
  constexpr CodeInfo(std::string_view code, Severities severities, std::string_view what, Rule rule, Hardware hardware,
                     Fix fix)
      : code(code), severities(severities), what(what), rule(rule), hardware(hardware), fix(fix) {}
  constexpr CodeInfo(std::string_view code, Severities severities, std::string_view what, Rule rule, Fix fix)
      : CodeInfo(code, severities, what, rule, Hardware{}, fix) {}

  std::string_view code;
  Severities severities;
  std::string_view what;  // what is wrong, in general
  Rule rule;
  Hardware hardware;
  Fix fix;
};

/// Codes of one subject, in the order of the alphabet.
struct Subject {
  std::string_view title;
  std::span<const CodeInfo> codes;
};

/// The table by subjects, in the order in which one reads it.
std::span<const Subject> subjects();

/// The whole table, sorted by code.
std::span<const CodeInfo> all_codes();

/// Null if there is no such code.
const CodeInfo* find_code(std::string_view code);

/// Up to `most` codes that are written most like `word`, the nearest first.
std::vector<std::string_view> nearest_codes(std::string_view word, size_t most);

/// "measured on an H200" and the like; empty for Basis::none.
std::string_view words(Basis basis);

/// "error or warning".
std::string words(Severities severities);

/// The same of a code, and what the strict mode makes of it.
std::string severity_words(const CodeInfo& c);

/// What hardware does, and on what that rests; empty where no hardware is concerned.
std::string hardware_words(const CodeInfo& c);

}  // namespace tinygpu::diagnosis
