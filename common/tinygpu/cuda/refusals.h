// Why tinygpu does not have some of CUDA's functions, and what to do instead.
#pragma once
#include <string_view>

namespace tinygpu::cuda {

struct Refusal {
  std::string_view why;   // a sentence's end: "… is not implemented by tinygpu: " + why; empty if nothing is known
  std::string_view help;  // what to do instead
};

/// Of a function of either API.
Refusal refusal_of(std::string_view function);

}  // namespace tinygpu::cuda
