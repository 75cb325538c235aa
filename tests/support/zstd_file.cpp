#include "tests/support/zstd_file.h"

#include <zstd.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace gen5::test {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string read_packed(const std::string& path) {
  const std::string packed = read_file(path);
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN)
    throw std::runtime_error(path + " is no zstd file");
  std::string bytes(size, '\0');
  if (ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size()) != size)
    throw std::runtime_error(path + " is damaged");
  return bytes;
}

void write_packed(const std::string& path, const std::string& bytes, int level) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size = ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), level);
  if (ZSTD_isError(size)) throw std::runtime_error(ZSTD_getErrorName(size));
  std::ofstream out(path, std::ios::binary);
  if (!out.write(packed.data(), std::streamsize(size)).flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace gen5::test
