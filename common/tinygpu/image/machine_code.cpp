#include "common/tinygpu/image/machine_code.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <string_view>

namespace tinygpu::image {
namespace {

constexpr std::string_view kText = ".text.";
constexpr size_t kSize = 16;
constexpr uint32_t kAlways = 7, kNever = 15;  // the guards that are true and false

/// Bits [first, first + count) of an instruction.
uint64_t bits(const uint64_t (&words)[2], unsigned first, unsigned count) {
  return words[first / 64] >> first % 64 & ((1ull << count) - 1);
}

/// Instructions from the branch's successor to its target.
int64_t distance(const uint64_t (&words)[2]) {
  // In units of four bytes: eight bits, ten bits behind them, and 40 more.
  const uint64_t low = bits(words, 16, 8), middle = bits(words, 34, 30), high = bits(words, 64, 18);
  const int64_t value = int64_t((high << 38 | middle << 8 | low) << 8) >> 8;
  return value / int64_t(kSize / 4);
}

struct Unit {
  uint16_t operation;
  InstructionKind kind;
  Pipe pipe = Pipe::none;
  uint8_t occupies = 0;
  bool floating = false;
  uint8_t latency = 0;
};

/// Of special registers and constants that an instruction brings: S2UR takes 33 cycles on an H200, the others are taken
/// to be as far away (inferred).
constexpr uint8_t kFar = 33;

/// By the lowest nine bits. Names are nvdisasm's.
constexpr Unit kUnits[] = {
    {0x002, InstructionKind::other, Pipe::alu, 2},                // MOV
    {0x006, InstructionKind::vote},                               // VOTE
    {0x007, InstructionKind::other, Pipe::alu, 2},                // SEL
    {0x008, InstructionKind::other, Pipe::alu, 2},                // FSEL
    {0x009, InstructionKind::other, Pipe::alu, 2},                // FMNMX
    {0x00b, InstructionKind::other, Pipe::alu, 2},                // FSETP
    {0x00c, InstructionKind::other, Pipe::alu, 2},                // ISETP
    {0x00f, InstructionKind::other, Pipe::alu, 2},                // VIMNMX3
    {0x010, InstructionKind::other, Pipe::alu, 2},                // IADD3
    {0x011, InstructionKind::other, Pipe::alu, 2},                // LEA
    {0x012, InstructionKind::other, Pipe::alu, 2},                // LOP3
    {0x013, InstructionKind::other, Pipe::alu, 2},                // IABS
    {0x016, InstructionKind::other, Pipe::alu, 2},                // PRMT
    {0x019, InstructionKind::other, Pipe::alu, 2},                // SHF
    {0x01c, InstructionKind::other, Pipe::alu, 2},                // PLOP3
    {0x020, InstructionKind::other, Pipe::fma, 2, true},          // FMUL
    {0x021, InstructionKind::other, Pipe::fma, 2, true},          // FADD
    {0x023, InstructionKind::other, Pipe::fma, 2, true},          // FFMA
    {0x024, InstructionKind::other, Pipe::fma_heavy, 2},          // IMAD
    {0x025, InstructionKind::other, Pipe::fma_heavy, 4},          // IMAD.WIDE
    {0x027, InstructionKind::other, Pipe::fma_heavy, 4},          // IMAD.HI
    {0x028, InstructionKind::other, Pipe::fp64, 2, true},         // DMUL
    {0x029, InstructionKind::other, Pipe::fp64, 2, true},         // DADD
    {0x02a, InstructionKind::other, Pipe::fp64, 2},               // DSETP
    {0x02b, InstructionKind::other, Pipe::fp64, 2, true},         // DFMA
    {0x031, InstructionKind::other, Pipe::fma, 2},                // HFMA2
    {0x035, InstructionKind::other, Pipe::fma, 2},                // HFMA2.MMA
    {0x036, InstructionKind::other, Pipe::alu, 2},                // VIADD
    {0x03b, InstructionKind::shared_load},                        // LDSM
    {0x03c, InstructionKind::matrix},                             // HMMA
    {0x03e, InstructionKind::other, Pipe::alu, 2},                // F2FP
    {0x044, InstructionKind::shared_store},                       // STSM
    {0x045, InstructionKind::other, Pipe::alu, 2},                // I2FP
    {0x046, InstructionKind::other, Pipe::alu, 2},                // VIADDMNMX
    {0x048, InstructionKind::other, Pipe::alu, 2},                // VIMNMX
    {0x076, InstructionKind::other, Pipe::alu, 2},                // FMNMX3
    {0x100, InstructionKind::other, Pipe::xu, 8},                 // FLO
    {0x104, InstructionKind::other, Pipe::xu, 8},                 // F2F
    {0x105, InstructionKind::other, Pipe::xu, 8},                 // F2I
    {0x106, InstructionKind::other, Pipe::xu, 8},                 // I2F
    {0x108, InstructionKind::other, Pipe::xu, 8},                 // MUFU
    {0x109, InstructionKind::other, Pipe::xu, 8},                 // POPC
    {0x110, InstructionKind::other, Pipe::xu, 8},                 // F2F, 64 bits
    {0x111, InstructionKind::other, Pipe::xu, 8},                 // F2I
    {0x112, InstructionKind::other, Pipe::xu, 8},                 // I2F
    {0x119, InstructionKind::other, Pipe::none, 0, false, kFar},  // S2R
    {0x11a, InstructionKind::copy_wait},                          // DEPBAR
    {0x11d, InstructionKind::barrier},                            // BAR
    {0x180, InstructionKind::load},                               // LD
    {0x181, InstructionKind::global_load},                        // LDG
    {0x182, InstructionKind::other, Pipe::none, 0, false, kFar},  // LDC
    {0x183, InstructionKind::local},                              // LDL
    {0x184, InstructionKind::shared_load},                        // LDS
    {0x185, InstructionKind::global_store},                       // ST
    {0x186, InstructionKind::global_store},                       // STG
    {0x187, InstructionKind::local},                              // STL
    {0x188, InstructionKind::shared_store},                       // STS
    {0x189, InstructionKind::shuffle},                            // SHFL
    {0x18c, InstructionKind::shared_atomic},                      // ATOMS
    {0x18e, InstructionKind::global_atomic},                      // REDG
    {0x1a6, InstructionKind::global_atomic},                      // REDG
    {0x1a7, InstructionKind::engine},                             // SYNCS
    {0x1a8, InstructionKind::global_atomic},                      // ATOMG
    {0x1a9, InstructionKind::global_atomic},                      // ATOMG
    {0x1ae, InstructionKind::copy},                               // LDGSTS
    {0x1af, InstructionKind::copy_group},                         // LDGDEPBAR
    {0x1b2, InstructionKind::engine},                             // SYNCS
    {0x1b4, InstructionKind::engine},                             // UTMALDG
    {0x1b5, InstructionKind::engine},                             // UTMASTG
    {0x1b6, InstructionKind::engine},                             // UTMAREDG
    {0x1ba, InstructionKind::engine},                             // UBLKCP
    {0x1c3, InstructionKind::other, Pipe::none, 0, false, kFar},  // S2UR
    {0x1c4, InstructionKind::vote},                               // REDUX
    {0x1f0, InstructionKind::engine},                             // HGMMA
};

/// IMAD computes moves, sums and shifts too, whose first factor is RZ or whose second is 1 or, with no addend, a power
/// of two; nvdisasm calls them IMAD.MOV, IMAD.IADD and IMAD.SHL.
bool is_product(const uint64_t (&words)[2], uint16_t operation) {
  constexpr uint16_t kImad = 0x024, kImadWide = 0x025, kImadHigh = 0x027;
  constexpr uint32_t kZero = 255, kFactorStandsInCode = 4;
  if (operation != kImad && operation != kImadWide && operation != kImadHigh) return false;
  if (bits(words, 24, 8) == kZero) return false;
  if (bits(words, 9, 3) != kFactorStandsInCode) return true;
  const uint64_t factor = bits(words, 32, 32);
  return factor != 1 && !(std::has_single_bit(factor) && bits(words, 64, 8) == kZero);
}

constexpr uint16_t kLdc = 0x182, kTensorLoad = 0x1b4, kBulkCopy = 0x1ba;  // LDC, UTMALDG, UBLKCP

/// Which line of constants an instruction looks at, and in which cache; −1: none that is known.
int32_t line_of_constants(const uint64_t (&words)[2]) {
  constexpr uint32_t kConstant = 5, kNoRegister = 255;
  const bool loads = bits(words, 0, 9) == kLdc;
  if (bits(words, 9, 3) != kConstant || bits(words, 54, 5) != 0) return -1;
  if (loads && bits(words, 24, 8) != kNoRegister) return -1;
  return int32_t(bits(words, 38, 16) / 64 * 2 + loads);
}

/// SassCode::lines_before_copy. `lines`: of each instruction; `copies`: those that copy in bulk.
uint32_t lines_before_copy(const std::vector<SassInstruction>& code, const std::vector<int32_t>& lines,
                           const std::vector<bool>& copies) {
  constexpr uint32_t kNew = ~0u;
  std::vector<uint32_t> from(code.size(), kNew), order;
  const auto reach = [&](size_t k, uint32_t before) {
    if (k >= code.size() || from[k] != kNew) return;
    from[k] = before;
    order.push_back(uint32_t(k));
  };
  reach(0, 0);
  for (size_t n = 0; n < order.size(); ++n) {
    const uint32_t k = order[n];
    if (copies[k]) {
      std::set<int32_t> seen;
      for (uint32_t at = k;; at = from[at]) {
        if (lines[at] >= 0) seen.insert(lines[at]);
        if (!at) return uint32_t(seen.size());
      }
    }
    const SassInstruction& i = code[k];
    if (i.guarded || (!i.branches && !i.leaves)) reach(k + 1, k);
    if (i.target >= 0) reach(size_t(i.target), k);
  }
  return 0;
}

constexpr uint16_t kExit = 0x14d, kBra = 0x147, kRet = 0x150, kCall = 0x144;

SassInstruction instruction(const uint64_t (&words)[2], size_t at, size_t count) {
  SassInstruction out;
  const uint16_t operation = uint16_t(bits(words, 0, 9));
  const auto unit = std::ranges::find(kUnits, operation, &Unit::operation);
  if (unit != std::end(kUnits)) {
    out.kind = unit->kind;
    out.pipe = unit->pipe;
    out.occupies = unit->occupies;
    out.floating = unit->floating;
    out.latency = unit->latency;
  }
  out.guarded = bits(words, 12, 4) != kAlways;
  // What is never executed only takes its turn.
  if (bits(words, 12, 4) == kNever) out.kind = InstructionKind::other;
  out.stall = uint8_t(std::max<uint64_t>(1, bits(words, 105, 4)));
  out.sets = uint8_t(bits(words, 110, 3));
  out.reads = uint8_t(bits(words, 113, 3));
  out.waits = uint8_t(bits(words, 116, 6));
  out.product = is_product(words, operation);
  out.leaves = operation == kExit || operation == kRet;
  out.calls = operation == kCall;
  if (operation != kBra) return out;
  out.branches = true;
  const int64_t target = int64_t(at) + 1 + distance(words);
  if (target >= 0 && target < int64_t(count)) out.target = int32_t(target);
  return out;
}

}  // namespace

SassCode read_instructions(Bytes code) {
  SassCode out;
  const size_t count = code.size() / kSize;
  std::vector<int32_t> lines(count);
  std::vector<bool> copies(count);
  for (size_t i = 0; i < count; ++i) {
    uint64_t words[2];
    std::memcpy(words, code.data() + i * kSize, kSize);
    out.code.push_back(instruction(words, i, count));
    lines[i] = line_of_constants(words);
    const uint64_t operation = bits(words, 0, 9);
    copies[i] = operation == kTensorLoad || operation == kBulkCopy;
  }
  out.lines_before_copy = lines_before_copy(out.code, lines, copies);
  return out;
}

std::map<std::string, std::shared_ptr<const SassCode>> read_machine_code(Bytes cubin) {
  std::map<std::string, std::shared_ptr<const SassCode>> out;
  const auto elf = Elf::read(cubin);
  if (!elf || elf->machine() != kMachineCuda) return out;
  for (const Elf::Section& s : elf->sections())
    if (s.name.starts_with(kText) && s.name.size() > kText.size())
      out[std::string(s.name.substr(kText.size()))] = std::make_shared<const SassCode>(read_instructions(s.bytes));
  return out;
}

}  // namespace tinygpu::image
