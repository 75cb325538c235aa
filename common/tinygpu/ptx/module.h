// The syntax tree of one PTX module, names resolved: what the parser makes and program/ reads.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/tinygpu/ptx/opcode.h"
#include "common/tinygpu/ptx/types.h"

namespace tinygpu::ptx {

namespace forms {
struct Pattern;
}

struct Pos {
  uint32_t line = 0;  // 1-based
  uint32_t col = 0;   // 1-based
};

/// A virtual register of a function. Names are block scoped in PTX; ids are unique within the function.
struct Register {
  std::string name;
  Type type = Type::none;  // pred, b8..b128, or any typed spelling of the same width
};

struct Variable;
struct Function;

struct Operand {
  enum class Kind : uint8_t {
    reg,      // `reg`; `negated` for !%p and, in video instructions, -%r; `name`: their selector ("b0", "h10")
    integer,  // `bits` (two's complement, sign-extended to 64); `negated` for !0 / !1 on predicates
    real,     // `bits` holds the raw bits, `type` says f32 (0f…), f64 (0d… and decimal literals)
    special,  // %tid.x …: `name` without the '%', e.g. "tid.x", "clock64", "laneid"
    symbol,   // a variable, function or unresolved name, optionally plus `bits` as byte offset: `name`
    label,    // branch target: `label` id; for .branchtargets / .callprototype lists: `name`
    address,  // [base + bits]: elems[0] is reg, symbol or integer; further elems: what follows inside the brackets,
              // e.g. the coordinate vector of [map, {x, y}]
    vector,   // {a, b, …}: elems
    pair,     // d|p : elems[0], elems[1]
    list,     // (a, b) of a call: elems. A call's operands are [list of returns,] callee, [list of arguments,] [label]:
              // the returns and the arguments are `list`s, the callee a `symbol` or `reg`, the prototype or
              // .calltargets name of an indirect call a `label` with `name`
    sink,     // _
  };
  Kind kind = Kind::sink;
  bool negated = false;
  Type type = Type::none;
  uint32_t reg = 0;
  uint32_t label = 0;
  int64_t bits = 0;
  std::string name;
  std::vector<Operand> elems;
  Pos pos;
};

struct SourceLine {
  uint32_t file = 0;  // index into Module::files
  uint32_t line = 0;
  uint32_t column = 0;
  bool operator==(const SourceLine&) const = default;
};

/// A line of inlined code (`.loc …, function_name …, inlined_at …`) and the call that it was inlined into.
struct InlinedLine {
  SourceLine line;        // in the inlined function
  uint32_t function = 0;  // index into Module::inlined_functions
  SourceLine call;        // where that function is called
  int32_t outer = -1;     // index into Module::inlined if the call itself stands in inlined code: `call` is its `line`
  bool operator==(const InlinedLine&) const = default;
};

struct Instruction {
  Pos pos;
  SourceLine source;     // last .loc in force; of inlined code the outermost call: a line of the function itself
  int32_t inlined = -1;  // index into Module::inlined of the innermost line, or -1: `source` is all there is
  int32_t guard = -1;    // register id of the guard predicate, or -1
  bool guard_negated = false;
  Opcode opcode = Opcode::unknown;
  std::vector<std::string> mods;  // the modifiers after it, as written, without dots: "rn","ftz","f32"
  std::vector<Type> types;        // the type modifiers among `mods`, in order
  std::vector<Operand> operands;
  std::string text;   // the whole instruction as written, without the trailing ';', one line
  std::string fault;  // why no form takes it, if it stands here all the same (ParseOptions::assembled)
  const forms::Pattern* form = nullptr;  // the row of the table that takes it; nullptr: none, or none was asked for
  uint32_t standing = 0;                 // which of that row's operands stand here, as bits

  bool has(std::string_view mod) const {
    for (const auto& m : mods)
      if (m == mod) return true;
    return false;
  }
  /// The first of `names` that is a modifier here, or an empty view.
  template <class... S>
  std::string_view one_of(S... names) const {
    for (std::string_view n : {std::string_view(names)...})
      if (has(n)) return n;
    return {};
  }
  /// The modifier that starts with `prefix` ("cta_group::"), without the prefix; empty if none.
  std::string_view after(std::string_view prefix) const {
    for (const auto& m : mods)
      if (m.size() > prefix.size() && std::string_view(m).substr(0, prefix.size()) == prefix)
        return std::string_view(m).substr(prefix.size());
    return {};
  }
  Type type(size_t i = 0) const { return i < types.size() ? types[i] : Type::none; }
  const OpcodeTraits& traits() const { return traits_of(opcode); }
  /// The opcode's text; of an unknown one the first word of `text`.
  std::string_view name() const;
  std::string spelling() const;  // the name and the modifiers joined
  /// The operand that the form calls `name` ("d", "idesc"); nullptr if it does not stand here, or no form was asked
  /// for. Names inside brackets and pairs count too: "c" of `[map:global, {c:b32*dim}]`, "p" of `d=T|p=pred`.
  const Operand* operand(std::string_view name) const;
};

/// A function body is instructions with label marks between them.
struct Label {
  std::string name;
  uint32_t at = 0;  // index into Function::body of the instruction it precedes (== body.size() at the end)
};

/// `ts: .branchtargets a, b;` — and `.calltargets`.
struct TargetList {
  std::string name;
  std::vector<uint32_t> labels;        // label ids of .branchtargets
  std::vector<std::string> functions;  // names of .calltargets
};

struct Initialiser {
  /// A relocation: the address of `symbol` (+ addend) written at byte `offset`, `size` bytes; generic() or plain.
  struct Reloc {
    uint64_t offset = 0;
    int size = 8;
    std::string symbol;
    int64_t addend = 0;
    bool generic = false;
    int shift_mask = -1;  // mask(expr) operators: byte index taken, or -1
  };
  std::vector<uint8_t> bytes;  // shorter than the variable: the rest is zero
  std::vector<Reloc> relocs;
};

enum class Linkage : uint8_t { internal, visible, external, weak, common };

struct Variable {
  std::string name;
  Space space = Space::generic;
  Type type = Type::none;
  uint32_t align = 1;
  uint64_t size = 0;           // bytes of the whole object; 0 for `.extern .shared x[]`
  bool unsized_array = false;  // x[]
  Linkage linkage = Linkage::internal;
  bool managed = false;  // .attribute(.managed)
  Initialiser init;
  bool has_init = false;
  Pos pos;
};

struct Param {
  std::string name;
  Type type = Type::none;
  uint32_t align = 1;
  uint64_t size = 0;
  bool is_reg = false;  // old style .reg parameter of a .func
  uint32_t reg = 0;
  bool pointer = false;  // .ptr
};

struct Function {
  std::string name;
  bool entry = false;
  Linkage linkage = Linkage::internal;
  bool has_body = false;  // false: a prototype
  bool noreturn = false;
  std::vector<Param> returns;
  std::vector<Param> params;  // in order; offsets by the C layout rule
  bool variadic = false;
  // Performance directives (PTX ISA 11.4); 0 means absent.
  uint32_t maxntid[3] = {0, 0, 0}, reqntid[3] = {0, 0, 0};
  uint32_t minnctapersm = 0, maxnreg = 0, maxclusterrank = 0;
  uint32_t reqnctapercluster[3] = {0, 0, 0};
  bool explicit_cluster = false;
  std::vector<Register> registers;
  std::vector<Variable> locals;  // .local/.shared/.param declared inside; names made unique
  std::vector<Label> labels;
  std::vector<TargetList> targets;
  std::vector<Function> prototypes;  // label: .callprototype
  std::vector<Instruction> body;
  Pos pos;
};

struct Module {
  std::string name;  // for messages
  int version_major = 0, version_minor = 0;
  std::string target;  // "sm_100a"
  std::vector<std::string> target_options;
  int address_size = 64;
  std::vector<std::string> files;              // .file table, index = .file number
  std::vector<InlinedLine> inlined;            // from Instruction::inlined by `outer`: innermost first
  std::vector<std::string> inlined_functions;  // mangled names; empty ones if the module has no .debug_str
  std::vector<Variable> variables;
  std::vector<std::unique_ptr<Function>> functions;
  std::vector<std::pair<std::string, std::string>> aliases;  // .alias name, function;
};

}  // namespace tinygpu::ptx
