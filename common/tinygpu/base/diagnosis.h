// What tinygpu says when a program breaks a rule: a typed fault with its places, a cause and a fix.
#pragma once
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

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

/// A line of a function that the compiler has inlined.
struct InlinedPlace {
  std::string file;
  int line = 0, column = 0;
  std::string function;  // its mangled name, empty if the PTX has no .debug_str
};

/// Where in the user's program something happened, who did it, and when. Empty or negative fields are unknown.
struct Where {
  std::string kernel;
  int cta[3] = {-1, -1, -1};
  int thread = -1;  // linear thread index in the CTA
  int warp = -1;
  std::string
      operation;       // an asynchronous operation that the thread issued, e.g. "tcgen05.mma"; empty: the thread did it
  int64_t cycle = -1;  // since the launch began
  int ptx_line = 0;
  std::string ptx_text;   // the instruction as written
  std::string cuda_file;  // from .loc
  int cuda_line = 0, cuda_column = 0;
  std::vector<InlinedPlace> inlined = {};  // innermost first; the last of them was called at cuda_line
};

/// A place that has to do with a fault, and what it has to do with it: "the copy was issued here".
struct LabelledPlace {
  Where where = {};
  std::string label = {};
};

/// One diagnosis: a stable kebab-case code, a sentence of cause, a sentence that says how to mend it here.
/// diagnosis/render.h makes text of it. The general rule and fix of a code stand in the table in diagnosis/; what is
/// given here comes instead of them.
struct Diagnosis {
  std::string code = {};
  Severity severity = Severity::error;
  FaultKind kind = FaultKind::launch_failure;
  std::string message = {};
  std::string help = {};
  Where where = {};
  std::string label = {};                  // what happened at `where`
  std::vector<LabelledPlace> others = {};  // in the order in which they are told
  std::string rule = {};                   // why it is wrong
  std::string section = {};                // of the PTX ISA: number and title
  std::string example = {};                // the fix as lines of PTX or CUDA
  uint64_t count = 1;                      // how often, in this launch
};

/// Stops a kernel. Thrown by isa/, engines/ and machine/; caught at the end of a launch.
class KernelFault : public std::exception {
 public:
  explicit KernelFault(Diagnosis d) : diagnosis(std::move(d)) {}
  const char* what() const noexcept override { return diagnosis.message.c_str(); }
  Diagnosis diagnosis;
};

}  // namespace tinygpu
