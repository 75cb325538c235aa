#include "tests/fuzz/pack.h"

#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace gen5::fuzz {

Inputs read_pack(const std::filesystem::path& file) {
  const std::string bytes = test::read_packed(file);
  Inputs inputs;
  for (size_t at = 0; at < bytes.size();) {
    uint32_t n = 0;
    if (bytes.size() - at < sizeof n) throw std::runtime_error(file.string() + " is cut off");
    std::memcpy(&n, bytes.data() + at, sizeof n);
    at += sizeof n;
    if (bytes.size() - at < n) throw std::runtime_error(file.string() + " is cut off");
    inputs.push_back(bytes.substr(at, n));
    at += n;
  }
  return inputs;
}

void write_pack(const std::filesystem::path& file, const Inputs& inputs) {
  std::string bytes;
  for (const std::string& input : inputs) {
    const uint32_t n = uint32_t(input.size());
    bytes.append(reinterpret_cast<const char*>(&n), sizeof n);
    bytes += input;
  }
  constexpr int kLevel = 19;
  test::write_packed(file, bytes, kLevel);
}

}  // namespace gen5::fuzz
