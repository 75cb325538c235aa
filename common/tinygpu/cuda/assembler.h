// ptxas, where the user names it (GEN5_PTXAS): of a program that carries PTX alone it makes the machine code by whose
// order and stalls tinygpu then prices its loops. Never looked for: cycles depend on no host.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tinygpu::cuda {

/// The cubin that `ptxas` makes of `ptx` for `arch` ("sm_90a"). Nothing, and a reason, if it cannot be run, takes
/// longer than `longest` or refuses. `linked`: other modules define what this one only declares.
std::optional<std::vector<uint8_t>> assemble(const std::string& ptxas, std::string_view ptx, std::string_view arch,
                                             bool linked, std::chrono::seconds longest, std::string& why);

}  // namespace tinygpu::cuda
