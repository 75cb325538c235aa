// A row of the forms table, read once into something that can be matched.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/tinygpu/ptx/forms.h"
#include "common/tinygpu/ptx/module.h"

namespace tinygpu::ptx::forms {

struct ModifierPattern {
  std::string name;  // may be empty
  bool required = true;
  bool after_previous = false;  // must stand behind the modifier of the pattern before
  std::vector<std::string> choices;
  std::vector<std::string> companions;  // one of these must stand too, if this modifier does

  std::string describe() const;  // ".x1 .x2 or .x4"
};

struct OperandPattern {
  enum class Kind : uint8_t {
    destination,
    only_sink,
    source,
    immediate,
    predicate,
    address,
    vector,
    pair,
    label,
    anything
  };
  Kind kind = Kind::source;
  std::string name;
  Type type = Type::none;  // none: by type_index
  int type_index = -1;
  bool twice = false;  // W
  bool wider = false;  // a wider register may stand here; of an address: a .b32 one in any space
  bool sink = false, symbol = false, special = false, register_only = false;
  bool some_register = false;  // of a vector's element: not all may be literals
  int selector = 0;            // lanes of the selector that may stand behind a register; 0: none may
  enum class Sign : uint8_t { none, may, must } sign = Sign::none;  // '-' before a register
  std::string space;                                                // of an address
  std::vector<std::string> count;                                   // factors of a vector's length
  std::vector<OperandPattern> parts;  // of a vector: the element; of a pair: both; of an address: what follows
  bool second_optional = false;       // of a pair
  bool optional = false;
  std::string when;             // modifier that this operand goes with
  std::vector<int64_t> values;  // legal literals
  std::optional<int64_t> low, high;
  int64_t step = 1;
};

struct Pattern {
  const Form* form = nullptr;
  std::vector<ModifierPattern> modifiers;
  std::vector<OperandPattern> operands;
};

/// The patterns of an opcode, built on first use; none if the table has no row for it. Thread-safe.
const std::vector<Pattern>& patterns_of(Opcode opcode);

/// Which of `p`'s operands stand in `in`, as bits from the lowest: the conditional ones by their modifier, the optional
/// ones as far as operands are left.
uint32_t standing(const Pattern& p, const Instruction& in);

/// A vector's length, where `chosen` holds the modifier that each of the row's patterns has taken, or nothing.
int64_t count_of(const OperandPattern& p, const Pattern& row, const std::vector<std::string_view>& chosen);

/// Is `modifier` the one that a choice of a pattern spells, or one of them: "m64n(8..256/8)k16"?
bool takes(std::string_view choice, std::string_view modifier);

/// What a choice spells, or the least of what it spells.
std::string first_of(std::string_view choice);

/// "a", "a or b", "a, b or c"; "m64nNk16 (N: 8 to 256 by 8)" for a choice with a number in it.
std::string join_choices(const std::vector<std::string>& choices, std::string_view prefix = {});

}  // namespace tinygpu::ptx::forms
