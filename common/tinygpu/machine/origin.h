// Who did something, kept as long as its effects take: enough to name the place in a diagnosis.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "common/tinygpu/base/diagnosis.h"
#include "common/tinygpu/machine/dim3.h"

namespace tinygpu {

class Launch;
class Warp;
struct Function;
struct Op;

/// The thread (lane −1: the warp) that executed an instruction, or an asynchronous operation that it issued.
struct Origin {
  Launch* launch = nullptr;
  const Function* function = nullptr;
  const Op* op = nullptr;
  CtaKey cta;
  int warp = -1, lane = -1;
  uint64_t operation = 0;  // AsyncOperation::id, 0: the thread itself
  uint32_t lanes = 0;      // those that act as one; 0: not known
  /// `time`: when it happened, of the GPU's clock.
  Where where(std::optional<uint64_t> time = {}) const;
  [[noreturn]] void fault(FaultKind kind, std::string code, std::string message, std::string help) const;
  void report(Severity severity, std::string code, std::string message, std::string help) const;
  /// `d` of this instruction; its first place is this one unless it has one.
  void report(Diagnosis d) const;
};
Origin origin_of(const Warp& w, int lane = -1);
/// The same of lanes that act as one; the first of them is named.
Origin origin_of_lanes(const Warp& w, uint32_t lanes);

}  // namespace tinygpu
