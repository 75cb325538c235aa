// What tinygpu says when a program breaks a rule: a typed fault with a place, a cause and a mend.
#pragma once
#include <cstdint>
#include <exception>
#include <string>

namespace tinygpu {

enum class Severity : uint8_t { note, warning, error };

/// What hardware would report. cuda/ maps each to the runtime's error code.
enum class FaultKind : uint8_t {
  illegal_address,      // cudaErrorIllegalAddress
  misaligned_address,   // cudaErrorMisalignedAddress
  illegal_instruction,  // cudaErrorIllegalInstruction
  launch_failure,       // cudaErrorLaunchFailure
  device_assert,        // cudaErrorAssert
  trap,                 // cudaErrorLaunchFailure (trap; hardware reports 719 for __trap)
  invalid_address_space,
  stack_overflow,  // cudaErrorHardwareStackError
  deadlock,        // hardware hangs; tinygpu reports cudaErrorLaunchTimeout
  not_modelled,    // tinygpu's own limit: cudaErrorNotSupported
};

/// Where in the user's program something happened. Empty or negative fields are unknown.
struct Where {
  std::string kernel;
  int cta[3] = {-1, -1, -1};
  int thread = -1;  // linear thread index in the CTA
  int warp = -1;
  int ptx_line = 0;
  std::string ptx_text;   // the instruction as written
  std::string cuda_file;  // from .loc
  int cuda_line = 0;
};

/// One diagnosis: a stable kebab-case code, a sentence of cause, a sentence of mend.
struct Diagnosis {
  std::string code;
  Severity severity = Severity::error;
  FaultKind kind = FaultKind::launch_failure;
  std::string message;
  std::string help;
  Where where;

  /// Several lines of text in the manner of a compiler's diagnosis; ends with a newline.
  std::string render() const;
};

/// Stops a kernel. Thrown by isa/, engines/ and machine/; caught at the end of a launch.
class KernelFault : public std::exception {
 public:
  explicit KernelFault(Diagnosis d) : diagnosis(std::move(d)) {}
  const char* what() const noexcept override { return diagnosis.message.c_str(); }
  Diagnosis diagnosis;
};

}  // namespace tinygpu
