// The table of instruction forms: what may be written, since which PTX version and for which targets.
//
// A form is one row of text. Several rows may share an opcode; an instruction is legal if one of them fits.
//
// clang-format off
//
// Modifiers. Their order in the source is free; two modifiers of one row that name the same thing bind in order.
//   sync                 required
//   [trans]              optional
//   x1|x2|x4             one of them; [x1|x2]: one of them or none
//   num=x1|x2            the same with a name, for messages and counts
//   m64n(8..256/8)k16    a number in a name: from, to, by
//   $int32               a list of choices by name (form_pattern.cpp, kLists)
//   relaxed&cta|cluster  `relaxed` requires one of the others; used as [relaxed&cta|cluster] for "sem with scope"
//   <shared::cta         behind the one before it: of two state spaces the destination's comes first
//
// Operands, separated by commas, each with the name that decoders ask for (Instruction::operand):
//   d=b32                a destination register of that type
//   a:b32                a source: a register or a literal of that type
//   [a:shared]           an address in that space: generic global shared local const param tmem; `by`: as modifiers say
//   [m:global, {c:b32*dim}]   a tensor map's address with coordinates
//   {d=b32*num*2}        a vector; counts are numbers or names of modifiers, whose digits count (x16: 16, 3d: 3; of
//                        m64n(…)k16 the number in brackets), with `-2` less two, with `/2` half of it; `any`: any count
//   d=b32|p=pred         a pair; `|?p=pred`: the second part may be left out
//   p:pred               a predicate, !predicate or literal
//   l:label              a branch target
//   _=sink               the sink and nothing else
//   *                    anything: a row whose operands are not checked and have no names
// Types, behind `=` or `:`
//   T T1 T2              the instruction's first, second, third type; W: twice as wide as T; any: any register or literal
//   imm                  a literal; (1|2|4) or (0..15/4) behind any type: a literal's values, or their range and divisor
// Marks, behind a type
//   +                    a wider register may stand there; in an address: a .b32 register may hold it in any space
//   _                    so may the sink
//   @                    so may a symbol or a special register
//   %                    so may a special register
//   !                    no literal
//   ~                    in a vector: not all of its elements may be literals
//   ^1 ^2 ^4             a selector may stand behind the register: of a part, or of as many lanes
//   - --                 '-' may, or must, stand before the register
// Conditions, at the end of an operand
//   x:b32?               it may be left out
//   x:b16?multicast::cluster   it stands exactly if the modifier does
//
// clang-format on
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/tinygpu/ptx/module.h"

namespace tinygpu::ptx::forms {

struct Version {
  int major = 1, minor = 0;
  auto operator<=>(const Version&) const = default;
};

struct Form {
  Opcode opcode;
  std::string_view modifiers;
  std::string_view operands;
  Version since = {1, 0};
  std::string_view targets = {};  // names and "sm_90+"; empty: all
};

/// Every form of an opcode; none: only the syntax is checked.
std::vector<const Form*> forms_of(Opcode opcode);
/// All forms, family by family.
std::vector<const Form*> all_forms();
/// What is wrong with a spelling such as "tcgen05.mma.cta_group::1.kind::f16" on that target and version; empty if some
/// form takes its modifiers. Operands are not looked at.
std::string fault_of_spelling(std::string_view spelling, std::string_view target = "sm_100a", Version version = {9, 4});
/// The shortest legal instruction of a form, in the registers that sample_module() declares; empty for rows that leave
/// their operands open.
std::string sample_instruction(const Form& form);
/// A module whose kernel `kernel` holds that instruction first, for a target that has it.
std::string sample_module(const Form& form, std::string_view kernel = "k");

/// How one instruction reads: the form that it takes and what each of its operands is.
struct Reading {
  const Form* form = nullptr;         // nullptr: no form fits, or the table has none for this opcode
  std::vector<std::string> operands;  // "columns: a .b32 register or a literal 32, 64, 128, 256 or 512"
};
Reading read_instruction(const Module& module, const Function& function, const Instruction& instruction);

/// True if `target` ("sm_100a") is in a form's list.
bool target_in(std::string_view targets, std::string_view target);

// Target lists: what ptxas 13.0 accepts for which .target (tests/ptx/forms_test.cpp holds them).
inline constexpr std::string_view kTcgen05 = "sm_100a sm_100f sm_101a sm_101f sm_103a sm_103f sm_110a sm_110f";
inline constexpr std::string_view kTcgen05Specific = "sm_100a sm_101a sm_103a sm_110a";
inline constexpr std::string_view kTcgen05Int8 = "sm_100a sm_101a sm_110a";
inline constexpr std::string_view kSm100Family = "sm_100a sm_100f sm_103a sm_103f";
inline constexpr std::string_view kLoadReduce = "sm_101a sm_101f sm_103a sm_103f sm_110a sm_110f";
inline constexpr std::string_view kSm100 = "sm_100+";
inline constexpr std::string_view kSm90 = "sm_90+";
inline constexpr std::string_view kSm90a = "sm_90a";
/// The architecture- and family-specific targets from Blackwell on.
inline constexpr std::string_view kBlackwellSpecific =
    "sm_100a sm_100f sm_101a sm_101f sm_103a sm_103f sm_110a sm_110f sm_120a sm_120f sm_121a sm_121f";
inline constexpr std::string_view kHopperOrBlackwellSpecific =
    "sm_90a sm_100a sm_100f sm_101a sm_101f sm_103a sm_103f sm_110a sm_110f sm_120a sm_120f sm_121a sm_121f";
inline constexpr std::string_view kSm100aOr103a = "sm_100a sm_103a";
inline constexpr std::string_view kSm103a = "sm_103a";

// The table's parts (forms_*.cpp).
std::span<const Form> arithmetic_forms();
std::span<const Form> convert_forms();
std::span<const Form> memory_forms();
std::span<const Form> control_forms();
std::span<const Form> warp_forms();
std::span<const Form> matrix_forms();
std::span<const Form> mbarrier_forms();
std::span<const Form> copy_forms();
std::span<const Form> cluster_forms();
std::span<const Form> tcgen05_forms();
std::span<const Form> tcgen05_mma_forms();
std::span<const Form> wgmma_forms();
std::span<const Form> video_forms();
std::span<const Form> mma_forms();
std::span<const Form> multimem_forms();

}  // namespace tinygpu::ptx::forms
