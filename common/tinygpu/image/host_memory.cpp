#include "common/tinygpu/image/host_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace tinygpu::image {

namespace {

constexpr uint64_t kPage = 4096;

/// The same by the list of mappings, which touches nothing.
bool listed(uint64_t begin, uint64_t end, bool write) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (begin < end && std::getline(maps, line)) {
    unsigned long long from = 0, to = 0;
    char r = 0, w = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %c%c", &from, &to, &r, &w) != 4 || to <= begin) continue;
    if (from > begin || r != 'r' || (write && w != 'w')) return false;
    begin = to;
  }
  return begin >= end;
}

/// Bringing pages in is the quick way for a few; what a wrong size brings in must not fill the host's memory.
constexpr uint64_t kMostPopulated = 1 << 20;

}  // namespace

bool host_accessible(const void* p, size_t size, bool write) {
  const uint64_t address = reinterpret_cast<uint64_t>(p);
  if (size == 0) return true;
  if (!p || address + (size - 1) < address || address + (size - 1) > ~uint64_t(0) - kPage) return false;
  const uint64_t begin = address / kPage * kPage, end = (address + size - 1) / kPage * kPage + kPage;
  if (end - begin > kMostPopulated) return listed(begin, end, write);
  int result;
  do {
    result = madvise(reinterpret_cast<void*>(begin), end - begin, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return true;
  return errno == EINVAL && listed(begin, end, write);  // Linux before 5.14, and special mappings
}

std::optional<size_t> text_length(const char* p) {
  if (!p) return std::nullopt;
  for (size_t length = 0;;) {
    const size_t step = kPage - reinterpret_cast<uint64_t>(p + length) % kPage;
    if (!host_accessible(p + length, step, false)) return std::nullopt;
    const size_t here = strnlen(p + length, step);
    length += here;
    if (here < step) return length;
  }
}

bool begins_with(const void* p, const void* bytes, size_t size) {
  const auto* here = static_cast<const volatile uint8_t*>(p);
  for (size_t i = 0; i < size; ++i) {
    const bool new_page = i == 0 || reinterpret_cast<uint64_t>(here + i) % kPage == 0;
    if (new_page && !host_accessible(const_cast<const uint8_t*>(here + i), 1, false)) return false;
    if (here[i] != static_cast<const uint8_t*>(bytes)[i]) return false;
  }
  return true;
}

std::optional<std::vector<uint8_t>> read_regular_file(const std::string& path, uint64_t most, std::string& why) {
  // A pipe would wait here for its writer but for O_NONBLOCK.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) {
    why = std::strerror(errno);
    return std::nullopt;
  }
  std::optional<std::vector<uint8_t>> out;
  struct stat status = {};
  if (fstat(file, &status) != 0) {
    why = std::strerror(errno);
  } else if (!S_ISREG(status.st_mode)) {
    why = S_ISDIR(status.st_mode) ? "it is a folder" : "it is not a regular file";
  } else if (uint64_t(status.st_size) > most) {
    why = fmt::format("it has {} bytes, and at most {} are read", status.st_size, most);
  } else {
    out.emplace();
    // Files in /proc say 0 bytes and have more.
    std::vector<uint8_t> buffer(1 << 16);
    ssize_t n;
    while ((n = read(file, buffer.data(), buffer.size())) != 0) {
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 || out->size() + uint64_t(n) > most) {
        why = n < 0 ? std::strerror(errno) : fmt::format("it has more than {} bytes", most);
        out.reset();
        break;
      }
      out->insert(out->end(), buffer.begin(), buffer.begin() + n);
    }
  }
  close(file);
  return out;
}

std::optional<std::string> read_source(const std::string& path) {
  constexpr uint64_t kMost = 8 << 20;
  std::string why;
  const auto bytes = read_regular_file(path, kMost, why);
  if (!bytes) return {};
  return std::string(bytes->begin(), bytes->end());
}

}  // namespace tinygpu::image
