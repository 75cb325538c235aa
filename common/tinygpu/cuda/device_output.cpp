#include "common/tinygpu/cuda/device_output.h"

#include <cstdio>

namespace tinygpu::cuda {

void DeviceOutput::add(const std::string& text) {
  constexpr size_t kFifo = 1 << 20;
  text_ += text;
  if (text_.size() > kFifo) write();
}

void DeviceOutput::write() {
  if (text_.empty()) return;
  std::fwrite(text_.data(), 1, text_.size(), stdout);
  std::fflush(stdout);
  text_.clear();
}

}  // namespace tinygpu::cuda
