#include "tests/fuzz/pack.h"

#include <zstd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace gen5::fuzz {

std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

Inputs read_pack(const std::filesystem::path& file) {
  const std::string packed = read_file(file);
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR)
    throw std::runtime_error(file.string() + " is no pack of inputs");
  std::string bytes(size, '\0');
  if (ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size()) != size)
    throw std::runtime_error(file.string() + " is damaged");
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
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  constexpr int kLevel = 19;
  const size_t size = ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), kLevel);
  std::ofstream out(file, std::ios::binary);
  out.write(packed.data(), std::streamsize(size));
  if (ZSTD_isError(size) || !out.flush()) throw std::runtime_error("cannot write " + file.string());
}

}  // namespace gen5::fuzz
