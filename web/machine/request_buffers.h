// Buffers that a request asks for, and the bytes of a kernel's parameters, which may name them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/tinygpu/api/machine.h"
#include "web/machine/request.h"

namespace tinygpu::web {

struct Buffer {
  std::string name, type;
  uint64_t address = 0, bytes = 0;
  bool all = false;
  std::vector<uint8_t> before;  // of the numbers that are shown
};

std::vector<Buffer> buffers_of(api::Machine& m, const Json& request);

std::vector<uint8_t> parameters_of(const api::Machine& m, const api::Kernel& k, const Json& given,
                                   const std::vector<Buffer>& buffers);

/// Its first numbers, those that the run has changed as they were before, and a digest of all bytes.
Json buffer_json(const api::Machine& m, const Buffer& b);

}  // namespace tinygpu::web
