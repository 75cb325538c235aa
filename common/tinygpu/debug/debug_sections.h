// Sections of PTX that hold bytes: `.section .debug_info { .b8 1 .b64 label … }`, and what names in them mean.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace tinygpu::debug {

/// The bytes of all sections of a module. A label of the code has the number of its line as its address; one of a
/// section its offset there. Any other name is a variable: it gets an address of its own, which names it again.
struct DebugSections {
  std::map<std::string, std::string> bytes;  // by name

  /// Variable and offset of an address. Nothing: it is a number of another kind.
  struct Symbol {
    std::string name;
    uint64_t offset = 0;
  };
  Symbol symbol(uint64_t address) const;

  std::map<uint64_t, std::string> symbols;  // by their address
};

/// Throws std::runtime_error where a section cannot be read.
DebugSections debug_sections(const std::string& ptx);

}  // namespace tinygpu::debug
