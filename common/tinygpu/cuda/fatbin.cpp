#include "common/tinygpu/cuda/fatbin.h"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

namespace tinygpu::cuda {

namespace {

constexpr uint32_t kContainerMagic = 0xBA55ED50;
constexpr uint64_t kMaxImage = uint64_t(1) << 32;

struct ContainerHeader {
  uint32_t magic;
  uint16_t version, header_size;
  uint64_t size;  // of the entries
};
static_assert(sizeof(ContainerHeader) == 16);

struct EntryHeader {
  uint16_t kind, version;
  uint32_t header_size, payload_size, unused0, compressed_size, extension;
  uint16_t minor, major;
  uint32_t arch, unused1, unused2;
  uint64_t flags, unused3, plain_size;
};
static_assert(sizeof(EntryHeader) == 64);

}  // namespace

bool is_fatbin(Bytes bytes) {
  uint32_t magic;
  if (bytes.size() < sizeof(ContainerHeader)) return false;
  std::memcpy(&magic, bytes.data(), 4);
  return magic == kContainerMagic;
}

uint64_t fatbin_size(const void* data) {
  ContainerHeader h;
  std::memcpy(&h, data, sizeof h);
  if (h.magic != kContainerMagic) throw FatbinError(fmt::format("no fatbin: magic number {:#x}", h.magic));
  if (h.version != 1 || h.header_size < sizeof h || h.size > kMaxImage)
    throw FatbinError(fmt::format("fatbin of an unknown version ({}, header of {} bytes)", h.version, h.header_size));
  return h.header_size + h.size;
}

std::vector<FatbinEntry> read_fatbin(Bytes bytes) {
  if (!is_fatbin(bytes)) throw FatbinError("no fatbin: the magic number 0xba55ed50 is missing");
  const uint64_t size = fatbin_size(bytes.data());
  if (size > bytes.size()) throw FatbinError(fmt::format("fatbin cut off: {} of {} bytes", bytes.size(), size));
  uint16_t header_size;
  std::memcpy(&header_size, bytes.data() + 6, 2);
  std::vector<FatbinEntry> out;
  uint64_t at = header_size;
  while (size - at >= sizeof(EntryHeader)) {
    EntryHeader h;
    std::memcpy(&h, bytes.data() + at, sizeof h);
    if (h.header_size < sizeof h || h.header_size > size - at || h.payload_size > size - at - h.header_size)
      throw FatbinError(fmt::format("fatbin entry at byte {}: header of {} and payload of {} bytes pass the end", at,
                                    h.header_size, h.payload_size));
    FatbinEntry e;
    e.kind = h.kind == 1 ? FatbinEntry::Kind::ptx : h.kind == 2 ? FatbinEntry::Kind::cubin : FatbinEntry::Kind::other;
    e.arch = h.arch;
    e.version_major = h.major;
    e.version_minor = h.minor;
    e.flags = h.flags;
    e.payload = bytes.subspan(at + h.header_size, h.payload_size);
    e.compressed = h.compressed_size;
    e.plain_size = h.plain_size;
    // The extension block holds the offset and length of ptxas' options.
    if (h.extension >= 64 && h.extension + 8u <= h.header_size) {
      uint32_t where[2];
      std::memcpy(where, bytes.data() + at + h.extension, 8);
      if (where[0] <= h.header_size && where[1] <= h.header_size - where[0]) {
        const char* text = reinterpret_cast<const char*>(bytes.data() + at + where[0]);
        e.options.assign(text, strnlen(text, where[1]));
      }
    }
    out.push_back(std::move(e));
    at += h.header_size + uint64_t(h.payload_size);
  }
  return out;
}

std::vector<FatbinEntry> read_fatbin_section(Bytes section) {
  std::vector<FatbinEntry> out;
  for (uint64_t at = 0; section.size() - at >= sizeof(ContainerHeader);) {
    if (!is_fatbin(section.subspan(at))) {
      at += 8;
      continue;
    }
    for (FatbinEntry& e : read_fatbin(section.subspan(at))) out.push_back(std::move(e));
    at += (fatbin_size(section.data() + at) + 7) / 8 * 8;
    at = std::min<uint64_t>(at, section.size());
  }
  return out;
}

std::string FatbinEntry::image() const {
  std::string out;
  if (!(flags & (kLz4 | kZstd))) {
    out.assign(reinterpret_cast<const char*>(payload.data()), payload.size());
  } else {
    if (compressed > payload.size() || plain_size > kMaxImage)
      throw FatbinError(
          fmt::format("fatbin entry: {} compressed bytes in a payload of {}", compressed, payload.size()));
    out.resize(plain_size);
    if (flags & kZstd) {
      const size_t n = ZSTD_decompress(out.data(), out.size(), payload.data(), compressed);
      if (ZSTD_isError(n)) throw FatbinError(fmt::format("fatbin entry: zstd says {}", ZSTD_getErrorName(n)));
      if (n != plain_size) throw FatbinError(fmt::format("fatbin entry: zstd gave {} of {} bytes", n, plain_size));
    } else {
      const int n = LZ4_decompress_safe(reinterpret_cast<const char*>(payload.data()), out.data(), int(compressed),
                                        int(out.size()));
      if (n < 0 || uint64_t(n) != plain_size)
        throw FatbinError(fmt::format("fatbin entry: the LZ4 block is damaged ({} of {} bytes)", n, plain_size));
    }
  }
  if (kind == Kind::ptx)
    while (!out.empty() && out.back() == '\0') out.pop_back();
  return out;
}

std::vector<Bytes> containers_of(const FatbinWrapper& w) {
  if (w.magic != FatbinWrapper::kMagic)
    throw FatbinError(fmt::format("no fatbin wrapper: magic number {:#x}", w.magic));
  auto whole = [](const void* p) { return Bytes(static_cast<const uint8_t*>(p), fatbin_size(p)); };
  std::vector<Bytes> out;
  if (w.version == 2 && w.prelinked)
    for (const void* const* p = w.prelinked; *p; ++p) out.push_back(whole(*p));
  else
    out.push_back(whole(w.data));
  return out;
}

std::string_view ptx_target(std::string_view ptx) {
  for (size_t at = ptx.find(".target"); at != std::string_view::npos; at = ptx.find(".target", at + 1)) {
    if (at > 0 && ptx[at - 1] != '\n' && ptx[at - 1] != ' ' && ptx[at - 1] != '\t')
      continue;  // inside a comment's word
    const size_t line = ptx.rfind('\n', at) + 1;
    if (ptx.substr(line, at - line).find("//") != std::string_view::npos) continue;
    const size_t begin = ptx.find_first_not_of(" \t", at + 7);
    if (begin == std::string_view::npos) return {};
    return ptx.substr(begin, ptx.find_first_of(" \t,\r\n", begin) - begin);
  }
  return {};
}

}  // namespace tinygpu::cuda
