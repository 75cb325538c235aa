// Instructions with several address operands keep them in Op::list, three words each: base slot, displacement, width.
#pragma once
#include "common/tinygpu/isa/lanes.h"

namespace tinygpu::isa {

constexpr uint32_t kAddressWords = 3;

/// The addresses of these operands; nullptr: one that does not stand.
inline OperandList addresses(Decoder& d, std::initializer_list<const ptx::Operand*> operands) {
  OperandList list;
  for (const ptx::Operand* o : operands) {
    const AddressOperand a = o ? d.address(*o) : AddressOperand{};
    list.push_back(a.base);
    list.push_word(uint32_t(int32_t(a.offset)));
    list.push_word(a.wide);
  }
  return list;
}

/// The address operand that starts at `words`, for one lane: 64 bits if the operand is, else 32.
inline uint64_t address_at(Warp& w, const uint32_t* words, int lane) {
  const int64_t offset = int32_t(words[1]);
  if (words[0] == kNoSlot) return uint64_t(offset);
  if (words[2]) return w.at<uint64_t>(words[0])[lane] + uint64_t(offset);
  return uint32_t(w.at<uint32_t>(words[0])[lane] + uint32_t(offset));
}

/// The same as a 32-bit shared::cluster address.
inline uint32_t shared_address_at(Warp& w, const uint32_t* words, int lane, const char* what) {
  return to_shared(w, address_at(w, words, lane), words[2] != 0, lane, what);
}

/// Cycles of the issuing warp beyond the op's own stall.
inline void charge_issue(Warp& w, const Op& op, uint32_t cycles) {
  const uint32_t own = op.stall - op.waits;
  if (cycles > own) w.charge(cycles - own);
}

}  // namespace tinygpu::isa
