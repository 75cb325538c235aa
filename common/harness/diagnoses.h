// tinygpu's diagnoses as values, for a program that knows more of their places than tinygpu does.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gen5::harness {

struct Diagnosed {
  /// A thread's, or an operation's that it issued.
  struct Place {
    std::array<uint32_t, 3> cta{};
    uint32_t warp = 0;
    std::optional<uint64_t> clock;  // %clock64 when its thread did that, or issued the operation; where that is known
  };
  std::string code;
  bool error = false;         // not a warning or a note
  std::string text;           // what stderr would have been told
  std::vector<Place> places;  // those that have a warp, the diagnosis's own first
};
/// Of a document of tinygpu's session.h. Throws nlohmann::json::exception for what is none.
std::vector<Diagnosed> read_diagnoses(const std::string& taken);

/// While it lives, diagnoses do not go to stderr: who has it prints them. On other hardware there are none.
class Diagnoses {
 public:
  Diagnoses();
  ~Diagnoses();
  Diagnoses(const Diagnoses&) = delete;
  Diagnoses& operator=(const Diagnoses&) = delete;
  /// Those since the last call. An error that ended a kernel is taken back: device memory can be read as it was left.
  std::vector<Diagnosed> take();

 private:
  bool active_ = false;
};

}  // namespace gen5::harness
