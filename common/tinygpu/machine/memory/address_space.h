// Where device addresses come from, and the host's bytes behind them.
#pragma once
#include <cstdint>

namespace tinygpu {

/// Device addresses are real addresses of this process that are mapped PROT_NONE, so a host dereference faults as on
/// hardware; their bytes lie elsewhere, but for what the host shall reach as well. (Where a process has no pages,
/// they are numbers alone: web/port/address_space.cpp.)
class AddressSpace {
 public:
  /// Throws std::runtime_error where the host has no such range.
  explicit AddressSpace(uint64_t bytes);
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  uint64_t first() const { return first_; }
  /// Zeroed bytes for [address, address + size), which has none yet; null if the host gives none. `host_visible`: the
  /// host reaches them at `address`, which begins a page.
  uint8_t* provide(uint64_t address, uint64_t size, bool host_visible);
  /// Takes back what provide() gave.
  void withdraw(uint64_t address, uint64_t size, uint8_t* bytes, bool host_visible);

 private:
  uint64_t bytes_, first_ = 0;
  uint8_t* backing_ = nullptr;  // a range of the same size, readable and writable
};

/// So many words of zero, as real as what is touched.
class ZeroWords {
 public:
  explicit ZeroWords(uint64_t count);
  ~ZeroWords();
  ZeroWords(const ZeroWords&) = delete;
  ZeroWords& operator=(const ZeroWords&) = delete;
  uint64_t& operator[](uint64_t i) { return words_[i]; }
  uint64_t operator[](uint64_t i) const { return words_[i]; }

 private:
  uint64_t count_;
  uint64_t* words_;
};

}  // namespace tinygpu
