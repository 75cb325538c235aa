#include "common/harness/diagnoses.h"

#include <cstdio>

#include "common/harness/device.h"
#include "common/harness/session_function.h"

namespace gen5::harness {

Diagnoses::Diagnoses() {
  const auto begin = session_function<const char*(const char*)>("tinygpu_session_begin");
  if (!begin || !current_device().tinygpu) return;
  active_ = !begin(R"({"diagnoses": true})");
}

Diagnoses::~Diagnoses() {
  if (!active_) return;
  for (const Diagnosed& d : take()) std::fputs(d.text.c_str(), stderr);
  session_function<void()>("tinygpu_session_end")();
}

std::vector<Diagnosed> Diagnoses::take() {
  if (!active_) return {};
  std::vector<Diagnosed> out = read_diagnoses(session_function<const char*()>("tinygpu_session_take")());
  session_function<void()>("tinygpu_session_recover")();
  return out;
}

}  // namespace gen5::harness
