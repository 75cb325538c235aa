// Where a program runs: a GPU, or tinygpu with one of its machines.
#pragma once
#include <string>

namespace gen5::harness {

struct Device {
  std::string name;  // "NVIDIA B200", or tinygpu's name of its machine
  bool tinygpu = false;
  int sms = 0;
  double clock_ghz = 0;
  int major = 0, minor = 0;

  /// One line for the head of a report.
  std::string describe() const;
  /// Device microseconds in SM cycles.
  double cycles(double microseconds) const { return microseconds * clock_ghz * 1e3; }
};

/// The current device. Throws CudaError if there is none.
Device current_device();

}  // namespace gen5::harness
