#include "common/tinygpu/image/cubin.h"

#include <cstring>

namespace tinygpu::image {

namespace {

constexpr uint8_t kFormatSized = 4;       // {u8 format, u8 attribute, u16 size, size bytes}
constexpr uint8_t kRegisterCount = 0x2f;  // {u32 symbol, u32 registers}
constexpr uint8_t kFrameSize = 0x11;      // {u32 symbol, u32 bytes}
/// What a thread can have at most (CUDA programming guide, compute capabilities).
constexpr uint32_t kMostRegisters = 255, kMostLocalBytes = 512 << 10;

}  // namespace

std::map<std::string, CubinKernel> read_cubin(Bytes cubin) {
  std::map<std::string, CubinKernel> out;
  const auto elf = Elf::read(cubin);
  if (!elf || elf->machine() != kMachineCuda) return out;
  const Elf::Section* info = elf->section(".nv.info");
  if (!info) return out;
  const auto names = elf->symbol_names();
  const Bytes b = info->bytes;
  for (size_t at = 0; at + 4 <= b.size();) {
    const uint8_t format = b[at], attribute = b[at + 1];
    uint16_t size = 0;
    std::memcpy(&size, b.data() + at + 2, 2);
    at += 4;
    if (format != kFormatSized) continue;  // the other formats hold their value in the size field
    if (at + size > b.size()) break;
    if (size >= 8 && (attribute == kRegisterCount || attribute == kFrameSize)) {
      uint32_t symbol, value;
      std::memcpy(&symbol, b.data() + at, 4);
      std::memcpy(&value, b.data() + at + 4, 4);
      const bool possible = value <= (attribute == kRegisterCount ? kMostRegisters : kMostLocalBytes);
      if (symbol < names.size() && possible) {
        CubinKernel& k = out[std::string(names[symbol])];
        (attribute == kRegisterCount ? k.registers : k.frame_bytes) = value;
      }
    }
    at += size;
  }
  return out;
}

}  // namespace tinygpu::image
