#include "common/tinygpu/image/fatbin.h"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "common/tinygpu/base/range.h"
#include "common/tinygpu/image/host_memory.h"

namespace tinygpu::image {

namespace {

constexpr uint32_t kContainerMagic = 0xBA55ED50;
constexpr uint64_t kMaxContainer = uint64_t(1) << 32;

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
  return bytes.size() >= sizeof(ContainerHeader) && begins_with(bytes.data(), &kContainerMagic, 4);
}

namespace {

/// Size of the container with this header.
uint64_t whole_size(const ContainerHeader& h) {
  if (h.magic != kContainerMagic) throw FatbinError(fmt::format("no fatbin: magic number {:#x}", h.magic));
  if (h.version != 1 || h.header_size < sizeof h || h.size > kMaxContainer)
    throw FatbinError(fmt::format("fatbin of an unknown version ({}, header of {} bytes, {} bytes of entries)",
                                  h.version, h.header_size, h.size));
  return h.header_size + h.size;
}

ContainerHeader header_of(Bytes bytes) {
  ContainerHeader h;
  std::memcpy(&h, bytes.data(), sizeof h);
  return h;
}

}  // namespace

bool begins_as_fatbin(const void* data) { return begins_with(data, &kContainerMagic, 4); }

uint64_t fatbin_size(const void* data) {
  if (!host_accessible(data, 1, false) || !begins_as_fatbin(data))
    throw FatbinError("no fatbin: the magic number 0xba55ed50 is missing");
  if (!host_accessible(data, sizeof(ContainerHeader), false)) throw FatbinError("fatbin cut off in its header");
  const uint64_t size = whole_size(header_of({static_cast<const uint8_t*>(data), sizeof(ContainerHeader)}));
  if (!host_accessible(data, size, false))
    throw FatbinError(fmt::format("fatbin cut off: memory ends before its {} bytes do", size));
  return size;
}

std::vector<FatbinEntry> read_fatbin(Bytes bytes) {
  if (!is_fatbin(bytes)) throw FatbinError("no fatbin: the magic number 0xba55ed50 is missing");
  const uint64_t size = whole_size(header_of(bytes));
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
    if (h.extension >= sizeof h && inside(0, h.header_size, h.extension, 8)) {
      uint32_t where[2];
      std::memcpy(where, bytes.data() + at + h.extension, 8);
      if (inside(0, h.header_size, where[0], where[1])) {
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
    at += (whole_size(header_of(section.subspan(at))) + 7) / 8 * 8;
    at = std::min<uint64_t>(at, section.size());
  }
  return out;
}

std::string FatbinEntry::image() const {
  std::string out;
  if (!(flags & (kLz4 | kZstd))) {
    out.assign(reinterpret_cast<const char*>(payload.data()), payload.size());
  } else {
    if (compressed > payload.size() || compressed > LZ4_MAX_INPUT_SIZE)
      throw FatbinError(
          fmt::format("fatbin entry: {} compressed bytes in a payload of {}", compressed, payload.size()));
    if (plain_size > kMaxImage)
      throw FatbinError(
          fmt::format("fatbin entry: an image of {} bytes; at most {} are unpacked", plain_size, kMaxImage));
    if (flags & kZstd) {
      // The frame knows its size as well: memory is taken only for what both say.
      const auto framed = ZSTD_getFrameContentSize(payload.data(), compressed);
      if (framed == ZSTD_CONTENTSIZE_ERROR) throw FatbinError("fatbin entry: no zstd frame");
      if (framed != ZSTD_CONTENTSIZE_UNKNOWN && framed != plain_size)
        throw FatbinError(fmt::format("fatbin entry: zstd says {} bytes, the header {}", framed, plain_size));
      out.resize(plain_size);
      const size_t n = ZSTD_decompress(out.data(), out.size(), payload.data(), compressed);
      if (ZSTD_isError(n)) throw FatbinError(fmt::format("fatbin entry: zstd says {}", ZSTD_getErrorName(n)));
      if (n != plain_size) throw FatbinError(fmt::format("fatbin entry: zstd gave {} of {} bytes", n, plain_size));
    } else {
      constexpr uint64_t kMostPerByte = 255;  // of an LZ4 block: a length grows by 255 with each byte of it
      if (plain_size / kMostPerByte > compressed)
        throw FatbinError(fmt::format("fatbin entry: {} bytes of LZ4 cannot hold {}", compressed, plain_size));
      out.resize(plain_size);
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

bool is_wrapper(const void* p) { return begins_with(p, &FatbinWrapper::kMagic, 4); }

std::vector<Bytes> containers_of(const FatbinWrapper* w) {
  if (!host_accessible(w, 1, false)) throw FatbinError("no fatbin wrapper: a null or wild pointer");
  if (!is_wrapper(w)) throw FatbinError("no fatbin wrapper: the magic number 0x466243b1 is missing");
  if (!host_accessible(w, sizeof *w, false)) throw FatbinError("fatbin wrapper cut off");
  auto whole = [](const void* p) { return Bytes(static_cast<const uint8_t*>(p), fatbin_size(p)); };
  std::vector<Bytes> out;
  if (w->version == 2 && w->prelinked) {
    for (const void* const* p = w->prelinked;; ++p) {
      if (!host_accessible(p, sizeof *p, false)) throw FatbinError("fatbin wrapper: its list of containers has no end");
      if (!*p) break;
      out.push_back(whole(*p));
    }
  } else {
    out.push_back(whole(w->data));
  }
  return out;
}

std::string_view ptx_target(std::string_view ptx) {
  constexpr std::string_view kDirective = ".target", kSpace = " \t\r\n";
  const auto behind = [&](size_t at, std::string_view end) {  // the first byte behind the next `end`
    const size_t found = ptx.find(end, at);
    return found == std::string_view::npos ? ptx.size() : found + end.size();
  };
  for (size_t at = 0; at < ptx.size();) {
    const std::string_view rest = ptx.substr(at);
    if (rest.starts_with("//")) {
      at = behind(at, "\n");
    } else if (rest.starts_with("/*")) {
      at = behind(at + 2, "*/");
    } else if (rest[0] == '"') {
      at = behind(at + 1, "\"");
    } else if (rest.starts_with(kDirective) && rest.find_first_of(kSpace) == kDirective.size()) {
      const size_t begin = ptx.find_first_not_of(kSpace, at + kDirective.size());
      if (begin == std::string_view::npos) return {};
      return ptx.substr(begin, ptx.find_first_of(" \t,\r\n/", begin) - begin);
    } else {
      ++at;
    }
  }
  return {};
}

}  // namespace tinygpu::image
