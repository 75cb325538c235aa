// Just enough of ELF64 to read cubins and host programs: sections, symbols, the dynamic table. Every read is bounds
// checked.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tinygpu::image {

using Bytes = std::span<const uint8_t>;

/// A little-endian ELF64 file in memory. Views point into the caller's bytes.
class Elf {
 public:
  struct Section {
    std::string_view name;
    uint32_t type = 0, info = 0, link = 0;
    uint64_t flags = 0;
    Bytes bytes;  // empty for SHT_NOBITS
  };

  /// Empty if `file` is no ELF64, or its section table is cut off.
  static std::optional<Elf> read(Bytes file);

  uint16_t machine() const { return machine_; }  // 62 x86-64, 190 CUDA
  uint32_t flags() const { return flags_; }
  const std::vector<Section>& sections() const { return sections_; }
  const Section* section(std::string_view name) const;
  /// Names of .symtab by index.
  std::vector<std::string_view> symbol_names() const;
  /// Functions of .symtab that are defined here: name, address in the file's own numbering, size.
  struct Function {
    std::string_view name;
    uint64_t address, size;
  };
  std::vector<Function> functions() const;
  /// DT_NEEDED entries, or those of another string tag (15 DT_RPATH, 29 DT_RUNPATH).
  std::vector<std::string> dynamic_strings(int64_t tag = 1) const;

  /// Size of the file that starts at `file`: the end of its last section, table or segment; the largest number if one
  /// ends behind 64 bits. 0 if it is no ELF64.
  static uint64_t size_of(Bytes file);

 private:
  uint16_t machine_ = 0;
  uint32_t flags_ = 0;
  std::vector<Section> sections_;
};

constexpr uint8_t kElfMagic[4] = {0x7f, 'E', 'L', 'F'};
constexpr uint16_t kMachineCuda = 190;  // Elf::machine() of a cubin
/// True if the bytes begin with ELF's magic number.
bool is_elf(Bytes bytes);

}  // namespace tinygpu::image
