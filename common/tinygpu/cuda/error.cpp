#include "common/tinygpu/cuda/error.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>
#include <string_view>

#include "common/tinygpu/cuda/host_memory.h"
#include "common/tinygpu/diagnosis/render.h"

namespace tinygpu::cuda {

namespace {

constexpr ErrorCode kCodes[] = {
#define TINYGPU_ERROR(number, driver, runtime, text) {number, driver, runtime, text},
#include "common/tinygpu/cuda/error_codes.inc"
#undef TINYGPU_ERROR
};

/// stderr is a terminal that knows colours, and the user has nothing against them (https://no-color.org).
bool in_color() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string_view(value ? value : "");
  };
  return isatty(STDERR_FILENO) && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
}

}  // namespace

CUresult error_of(const Diagnosis& d) {
  if (d.code == "tmem-leak") return CUDA_ERROR_TENSOR_MEMORY_LEAK;
  switch (d.kind) {
    case FaultKind::illegal_address: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case FaultKind::misaligned_address: return CUDA_ERROR_MISALIGNED_ADDRESS;
    case FaultKind::illegal_instruction: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case FaultKind::launch_failure: return CUDA_ERROR_LAUNCH_FAILED;
    case FaultKind::device_assert: return CUDA_ERROR_ASSERT;
    case FaultKind::trap: return CUDA_ERROR_LAUNCH_FAILED;
    case FaultKind::invalid_address_space: return CUDA_ERROR_INVALID_ADDRESS_SPACE;
    case FaultKind::stack_overflow: return CUDA_ERROR_ILLEGAL_ADDRESS;  // as an H200 does on endless recursion
    case FaultKind::deadlock: return CUDA_ERROR_LAUNCH_TIMEOUT;
    case FaultKind::not_modelled: return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_ERROR_UNKNOWN;
}

const ErrorCode* error_code(int number) {
  const auto* end = std::end(kCodes);
  const auto* it =
      std::lower_bound(std::begin(kCodes), end, number, [](const ErrorCode& c, int n) { return c.number < n; });
  return it != end && it->number == number ? it : nullptr;
}

void show(const Diagnosis& d) {
  // Never destroyed: there are diagnoses when the process ends, too.
  struct Shown {
    std::mutex mutex;
    diagnosis::SourceFiles files{read_source};
    std::set<std::string> codes;
  };
  static Shown& shown = *new Shown;
  const std::lock_guard lock(shown.mutex);
  diagnosis::RenderOptions options;
  options.color = in_color();
  options.more = shown.codes.empty();
  options.general = shown.codes.insert(d.code).second;
  std::error_code none;
  options.folder = std::filesystem::current_path(none).string();
  options.files = &shown.files;
  std::fputs(diagnosis::render(d, options).c_str(), stderr);
}

void say(const char* code, const std::string& message, const std::string& help) {
  Diagnosis d;
  d.code = code;
  d.message = message;
  d.help = help;
  show(d);
}

int say_not_implemented(const char* function) {
  say("not-implemented", fmt::format("{} is not implemented by tinygpu", function));
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace tinygpu::cuda
