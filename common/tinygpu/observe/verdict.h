// What limited a kernel, at which line, and what to try: from the counts of its profile alone.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tinygpu::observe {

struct KernelProfile;

struct Verdict {
  bool clear = false;    // one cause stands out
  std::string limit;     // "loads"; of an unclear verdict: the two largest causes
  std::string why;       // a sentence with the counts
  std::string place;     // "gemm.cu:120"; empty: no line is known
  std::string at_place;  // what happens there, a sentence
  std::string advice;    // what to try, a sentence; empty: nothing follows from the counts
  std::string beside;    // what else the counts show: SMs without a CTA; may be empty
  /// Lines, the first of which names the limit; each begins with `indent` and ends with a newline.
  std::string render(const std::string& indent) const;
  nlohmann::ordered_json json() const;
};

Verdict verdict_of(const KernelProfile& kernel);

}  // namespace tinygpu::observe
