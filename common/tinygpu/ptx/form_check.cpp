#include "common/tinygpu/ptx/form_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_set>

#include "common/tinygpu/base/edit_distance.h"

namespace tinygpu::ptx::forms {

namespace {

bool chooses(const std::vector<std::string>& choices, std::string_view mod) {
  return std::ranges::any_of(choices, [&](const std::string& c) { return takes(c, mod); });
}

/// Where modifier `i` of the opcode stands.
Pos position_of(const Instruction& in, const Spelling& s, int i) {
  Pos p = in.pos;
  if (size_t(i) < s.columns.size()) p.col += s.columns[size_t(i)];
  return p;
}

bool is_bits(Type t) { return t >= Type::b8 && t <= Type::b1024; }
bool is_integer(Type t) { return t >= Type::u8 && t <= Type::s64; }

/// Types that have no registers of their own: their values live in .bN registers.
bool is_packed_format(Type t) {
  return t == Type::bf16 || t == Type::bf16x2 || t == Type::tf32 || t >= Type::e4m3 || t == Type::u16x2 ||
         t == Type::s16x2 || t == Type::f32x2;
}

Type twice(Type t) {
  switch (t) {
    case Type::u16: return Type::u32;
    case Type::s16: return Type::s32;
    case Type::u32: return Type::u64;
    case Type::s32: return Type::s64;
    default: return Type::none;
  }
}

/// May a register of type `r` hold a value of instruction type `t`? (PTX ISA 9.4: sizes must agree; bits fit anything;
/// signed and unsigned agree.)
bool register_holds(Type t, Type r, bool wider) {
  if (t == Type::pred || r == Type::pred) return t == r;
  const int need = size_of(t), have = size_of(r);
  if (wider ? have < need : have != need) return false;
  if (is_bits(r)) return true;
  if (is_bits(t)) return true;
  if (is_packed_format(t)) return false;
  if (is_float(t)) return r == t;
  return is_integer(r);
}

bool literal_holds(Type t, const Operand& o) {
  if (o.kind == Operand::Kind::integer) return is_bits(t) || is_integer(t) || t == Type::pred;
  // A real literal: f32 and f64 of any spelling, or their bits.
  if (t == Type::f32 || t == Type::f64) return true;
  return o.type == Type::f32 ? t == Type::b32 : t == Type::b64;
}

/// Does a register operand's selector, if any, name what the pattern takes? One part: .b0 to .b3, .h0, .h1. Lanes of a
/// source: one digit each, of both sources' lanes; of a destination: which are written, highest first.
bool selector_fits(const OperandPattern& p, const std::string& s) {
  if (s.empty()) return true;
  const std::string_view digits = std::string_view(s).substr(1);
  if (p.selector == 1) return digits.size() == 1 && digits[0] < (s[0] == 'b' ? '4' : '2');
  if (s[0] != (p.selector == 2 ? 'h' : 'b')) return false;
  if (p.kind == OperandPattern::Kind::source) return int(digits.size()) == p.selector;
  return digits[0] < '0' + p.selector && std::is_sorted(digits.begin(), digits.end(), std::greater_equal<>());
}

bool literal_in_range(const OperandPattern& p, const Operand& o) {
  if (o.kind != Operand::Kind::integer) return true;
  const bool value_ok = p.values.empty() || std::ranges::find(p.values, o.bits) != p.values.end();
  const bool range_ok = !p.low || (o.bits >= *p.low && o.bits <= *p.high);
  return value_ok && range_ok && (p.step == 1 || o.bits % p.step == 0);
}
bool sign_fits(const OperandPattern& p, const Operand& o) {
  return o.negated ? p.sign != OperandPattern::Sign::none : p.sign != OperandPattern::Sign::must;
}

std::string_view ordinal_space(std::string_view space) {
  if (space == "shared") return "shared memory";
  if (space == "global") return "global memory";
  if (space == "local") return "local memory";
  if (space == "const") return "constant memory";
  if (space == "param") return "parameter space";
  if (space == "tmem") return "Tensor Memory";
  return "memory";
}

std::string_view name_of(Space s) {
  switch (s) {
    case Space::global: return "global";
    case Space::shared:
    case Space::shared_cta:
    case Space::shared_cluster: return "shared";
    case Space::local: return "local";
    case Space::param:
    case Space::param_entry:
    case Space::param_func: return "param";
    case Space::constant: return "const";
    default: return "generic";
  }
}

/// The space that an address pattern means.
std::string_view space_of(const OperandPattern& p, const Spelling& s) {
  return p.space == "by" ? space_named(s.mods) : std::string_view(p.space);
}

/// The opcode that `text` is likeliest to mean; empty: none is near.
std::string_view opcode_alike(std::string_view text) {
  constexpr size_t kMost = 2;
  std::string_view best;
  size_t least = kMost + 1;
  for (size_t i = 1; i < kOpcodes; ++i) {
    const std::string_view name = name_of(Opcode(i));
    // As many words as the opcode has; modifiers stand behind them.
    size_t end = 0;
    for (auto words = std::ranges::count(name, '.') + 1; words && end != text.npos; --words)
      end = text.find('.', end + (end > 0));
    const size_t changes = edit_distance(text.substr(0, std::min(end, size_t{64})), name);
    if (changes < least && changes < name.size() / 2) {
      least = changes;
      best = name;
    }
  }
  return best;
}

}  // namespace

// --- modifiers

Checker::Match Checker::match_modifiers(const Pattern& p, const Spelling& s) {
  Match m;
  m.pattern = &p;
  m.bound.assign(p.modifiers.size(), -1);
  for (size_t i = 0; i < s.mods.size(); ++i) {
    bool taken = false;
    for (size_t k = 0; k < p.modifiers.size() && !taken; ++k)
      if (m.bound[k] < 0 && !(p.modifiers[k].after_previous && m.bound[k - 1] < 0) &&
          chooses(p.modifiers[k].choices, s.mods[i])) {
        m.bound[k] = int(i);
        taken = true;
      }
    if (!taken) m.strangers.push_back(int(i));
  }
  for (size_t k = 0; k < p.modifiers.size(); ++k) {
    if (m.bound[k] < 0) {
      if (p.modifiers[k].required) m.missing.push_back(int(k));
    } else if (!p.modifiers[k].companions.empty()) {
      const auto stands = [&](const std::string& c) { return std::ranges::find(s.mods, c) != s.mods.end(); };
      if (std::ranges::none_of(p.modifiers[k].companions, stands)) m.lonely.push_back(int(k));
    }
  }
  return m;
}

const Checker::Verdict& Checker::verdict(const Spelling& s) {
  const auto [it, fresh] = verdicts_.try_emplace(&s);
  Verdict& v = it->second;
  if (!fresh) return v;
  v.patterns = &patterns_of(s.opcode);
  int least = INT32_MAX;
  for (const Pattern& p : *v.patterns) {
    Match m = match_modifiers(p, s);
    const int faults = m.faults();
    if (faults == 0) v.fitting.push_back(m);
    // Of equally close rows the one that this target has.
    if (faults < least || (faults == least && available(*p.form) && !available(*v.nearest.pattern->form))) {
      least = faults;
      v.nearest = std::move(m);
    }
  }
  return v;
}

void Checker::report_modifiers(const Instruction& in, const Spelling& s, const Verdict& v, const Report& report) const {
  const Match& m = v.nearest;
  const Pattern& p = *m.pattern;
  const auto legal = [&] {
    std::string free;
    for (size_t k = 0; k < p.modifiers.size(); ++k)
      if (m.bound[k] < 0) free += (free.empty() ? "" : "; ") + p.modifiers[k].describe();
    return free.empty() ? fmt::format("{} takes no further modifier here", s.name)
                        : fmt::format("still free here: {}", free);
  };
  for (int i : m.strangers) {
    const std::string& mod = s.mods[size_t(i)];
    const Pos pos = position_of(in, s, i);
    // Taken already, by itself or by a rival?
    const ModifierPattern* rival = nullptr;
    for (size_t k = 0; k < p.modifiers.size(); ++k)
      if (m.bound[k] >= 0 && chooses(p.modifiers[k].choices, mod)) rival = &p.modifiers[k];
    if (rival) {
      const std::string& other = s.mods[size_t(m.bound[size_t(rival - p.modifiers.data())])];
      if (other == mod)
        report({pos, fmt::format("'.{}' stands twice in {}", mod, s.text), fmt::format("write it once")});
      else
        report({pos, fmt::format("'.{}' cannot be combined with '.{}' in {}", mod, other, s.name),
                fmt::format("choose one of {}", rival->describe())});
      continue;
    }
    bool elsewhere = false;
    std::vector<std::string> with;  // what this modifier goes with, in the row that has it
    for (const Pattern& q : *v.patterns) {
      if (std::ranges::none_of(q.modifiers, [&](const auto& k) { return chooses(k.choices, mod); })) continue;
      if (!elsewhere || with.empty()) {
        with.clear();
        const Match other = match_modifiers(q, s);
        for (int stranger : other.strangers) with.push_back(s.mods[size_t(stranger)]);
      }
      elsewhere = true;
    }
    if (!elsewhere)
      report({pos, fmt::format("{} has no modifier '.{}'", s.name, mod), legal()});
    else if (!with.empty())
      report(
          {pos, fmt::format("'.{}' cannot be combined with {} in {}", mod, join_choices(with, "."), s.name), legal()});
    else
      report({pos, fmt::format("'.{}' is not allowed in this form of {}", mod, s.name), legal()});
  }
  for (int k : m.missing) {
    const ModifierPattern& q = p.modifiers[size_t(k)];
    report({in.pos, fmt::format("{} needs {}", s.name, q.describe()),
            fmt::format("write {}{}", q.choices.size() > 1 ? "one of " : "", q.describe())});
  }
  for (int k : m.lonely) {
    const ModifierPattern& q = p.modifiers[size_t(k)];
    const int i = m.bound[size_t(k)];
    report({position_of(in, s, i),
            fmt::format("'.{}' needs {} beside it", s.mods[size_t(i)], join_choices(q.companions, ".")),
            fmt::format("write .{}.{}", s.mods[size_t(i)], q.companions[0])});
  }
}

// --- operands

Type Checker::type_of(const OperandPattern& p, const Instruction& in) const {
  Type t = p.type;
  if (p.type_index >= 0) t = in.type(size_t(p.type_index));
  return p.twice ? twice(t) : t;
}

int64_t Checker::count_of(const OperandPattern& p, const Spelling& s, const Match& m) const {
  std::vector<std::string_view> chosen;
  for (int i : m.bound) chosen.push_back(i < 0 ? std::string_view() : s.mods[size_t(i)]);
  return forms::count_of(p, *m.pattern, chosen);
}

Space Checker::space_of(const std::string& symbol, const Function& f) const {
  for (; indexed_locals_ < f.locals.size(); ++indexed_locals_)
    local_spaces_[f.locals[indexed_locals_].name] = f.locals[indexed_locals_].space;
  if (const auto it = local_spaces_.find(symbol); it != local_spaces_.end()) return it->second;
  for (; indexed_variables_ < module_.variables.size(); ++indexed_variables_)
    module_spaces_[module_.variables[indexed_variables_].name] = module_.variables[indexed_variables_].space;
  if (const auto it = module_spaces_.find(symbol); it != module_spaces_.end()) return it->second;
  return Space::generic;
}

std::string Checker::describe(const Operand& o, const Function& f) const {
  switch (o.kind) {
    case Operand::Kind::reg:
      return fmt::format("{}register {}{}{} of type .{}", o.negated ? "-" : "", f.registers[o.reg].name,
                         o.name.empty() ? "" : ".", o.name, ptx::name_of(f.registers[o.reg].type));
    case Operand::Kind::integer: return fmt::format("the integer {}", o.bits);
    case Operand::Kind::real: return "a floating-point literal";
    case Operand::Kind::special: return fmt::format("special register %{}", o.name);
    case Operand::Kind::symbol: return fmt::format("the symbol {}", o.name);
    case Operand::Kind::label: return "a label";
    case Operand::Kind::address: return "an address";
    case Operand::Kind::vector: return fmt::format("a vector of {}", o.elems.size());
    case Operand::Kind::pair: return "a pair d|p";
    case Operand::Kind::list: return "a list";
    case Operand::Kind::sink: return "the sink _";
  }
  return "this";
}

std::string Checker::describe(const OperandPattern& p, const Instruction& in, const Spelling& s, const Match& m) const {
  const Type t = type_of(p, in);
  const std::string type = t == Type::none ? std::string() : fmt::format(".{} ", ptx::name_of(t));
  const auto limits = [&]() -> std::string {
    std::string text;
    if (!p.values.empty()) {
      std::vector<std::string> v;
      for (int64_t x : p.values) v.push_back(std::to_string(x));
      text = " " + join_choices(v);
    } else if (p.low) {
      text = fmt::format(" in {}..{}", *p.low, *p.high);
    }
    if (p.step > 1) text += fmt::format(" that is a multiple of {}", p.step);
    return text;
  };
  switch (p.kind) {
    case OperandPattern::Kind::destination: return fmt::format("a {}register{}", type, p.sink ? " or _" : "");
    case OperandPattern::Kind::source:
      return p.register_only ? fmt::format("a {}register", type)
                             : fmt::format("a {}register or a literal{}", type, limits());
    case OperandPattern::Kind::immediate: return fmt::format("a literal{}", limits());
    case OperandPattern::Kind::predicate: return "a predicate";
    case OperandPattern::Kind::address: {
      const std::string_view space = forms::space_of(p, s);
      if (space == "tmem") return "an address in Tensor Memory: [a .b32 register + offset]";
      if (!p.parts.empty())
        return fmt::format("a tensor map's address with {} coordinates: [map, {{…}}]", count_of(p.parts[0], s, m));
      return fmt::format("an address in {}: [register + offset] or [variable + offset]", ordinal_space(space));
    }
    case OperandPattern::Kind::vector:
      return fmt::format(
          "a vector {{…}} of {} {}", count_of(p, s, m),
          p.parts[0].kind == OperandPattern::Kind::destination
              ? fmt::format("{}registers",
                            type.empty() ? fmt::format(".{} ", ptx::name_of(type_of(p.parts[0], in))) : type)
              : fmt::format(".{} values", ptx::name_of(type_of(p.parts[0], in))));
    case OperandPattern::Kind::pair:
      return p.second_optional ? describe(p.parts[0], in, s, m) + ", with or without |predicate"
                               : "a pair value|predicate";
    case OperandPattern::Kind::label: return "a label";
    case OperandPattern::Kind::anything: return "anything";
    case OperandPattern::Kind::only_sink: return "the sink _";
  }
  return {};
}

Checker::AddressFault Checker::address_fault(const Function& f, const Spelling& s, const OperandPattern& p,
                                             const Operand& base) const {
  const std::string_view space = forms::space_of(p, s);
  switch (base.kind) {
    case Operand::Kind::reg: {
      const Register& r = f.registers[base.reg];
      const auto fault = [&](const char* help) -> AddressFault {
        return {false,
                fmt::format("the address in {} is register {} of type .{}", p.name, r.name, ptx::name_of(r.type)),
                help};
      };
      if (!is_bits(r.type) && !is_integer(r.type)) return fault("an address is a .b32 or .b64 register");
      const int size = size_of(r.type);
      const bool tmem = space == "tmem";
      const bool narrow = tmem || space == "shared" || space == "local" || space == "const" || space == "param";
      if ((size == 8 && !tmem) || (size == 4 && (narrow || p.wider))) return {};
      return fault(tmem     ? "a Tensor Memory address is a .b32 register"
                   : narrow ? "write a .b32 or .b64 register"
                            : "addresses in this space are .b64 registers");
    }
    case Operand::Kind::symbol: {
      if (space == "tmem") return {false, {}, {}};
      const Space have = space_of(base.name, f);
      if (have == Space::generic || space == "generic" || name_of(have) == space) return {};
      return {false, fmt::format("{} lies in .{}, but {} addresses .{} here", base.name, name_of(have), s.name, space),
              fmt::format("name a variable of .{} or its generic address", space)};
    }
    case Operand::Kind::integer:
      if (space == "local" || space == "param") return {};
      return {false, fmt::format("a literal address in {} of {}", p.name, s.name), "put the address in a register"};
    default: return {false, {}, {}};
  }
}

/// The operands of an instruction beside those of a row.
class Checker::Operands {
 public:
  Operands(const Checker& checker, const Function& f, const Instruction& in, const Spelling& s, const Match& m,
           std::vector<Fault>* faults)
      : checker_(checker), f_(f), in_(in), s_(s), m_(m), faults_(faults) {}
  bool fit() const;

 private:
  bool fits(const OperandPattern& p, const Operand& o) const;
  bool register_fits(const OperandPattern& p, const Operand& o) const {
    const Type t = checker_.type_of(p, in_);
    if (o.kind != Operand::Kind::reg || (!o.name.empty() && !p.selector) || !selector_fits(p, o.name)) return false;
    return t == Type::none || register_holds(t, f_.registers[o.reg].type, p.wider);
  }
  bool source_fits(const OperandPattern& p, const Operand& o) const;
  bool vector_fits(const OperandPattern& p, const Operand& o) const;
  bool address_fits(const OperandPattern& p, const Operand& o) const;
  bool literal_fits(const OperandPattern& p, const Operand& o) const {
    return literal_in_range(p, o) || no(p, o, fmt::format("{} of {} is {}", p.name, s_.name, o.bits));
  }
  bool wrong_number(size_t expected, uint32_t stand) const;
  /// Notes why the operand does not fit; empty: what it is, and what it must be.
  bool no(const OperandPattern& p, const Operand& o, std::string why = {}, std::string help = {}) const {
    if (!faults_) return false;
    if (why.empty()) why = fmt::format("{} of {} is {}", p.name, s_.name, checker_.describe(o, f_));
    if (help.empty()) help = fmt::format("it must be {}", checker_.describe(p, in_, s_, m_));
    faults_->push_back({o.pos, std::move(why), std::move(help)});
    return false;
  }

  const Checker& checker_;
  const Function& f_;
  const Instruction& in_;
  const Spelling& s_;
  const Match& m_;
  std::vector<Fault>* const faults_;
};

bool Checker::Operands::fits(const OperandPattern& p, const Operand& o) const {
  using Kind = OperandPattern::Kind;
  switch (p.kind) {
    case Kind::anything: return true;
    case Kind::only_sink:
      return o.kind == Operand::Kind::sink ||
             no(p, o, fmt::format("the first operand of {} is {}", s_.text, checker_.describe(o, f_)));
    case Kind::label: return o.kind == Operand::Kind::label || no(p, o);
    case Kind::immediate: return o.kind == Operand::Kind::integer ? literal_fits(p, o) : no(p, o);
    case Kind::predicate:
      if (o.kind == Operand::Kind::integer) return true;
      return (o.kind == Operand::Kind::reg && f_.registers[o.reg].type == Type::pred) || no(p, o);
    case Kind::destination:
      return (o.kind == Operand::Kind::sink ? p.sink : !o.negated && register_fits(p, o)) || no(p, o);
    case Kind::source: return source_fits(p, o);
    case Kind::pair:
      if (o.kind == Operand::Kind::pair) return fits(p.parts[0], o.elems[0]) && fits(p.parts[1], o.elems[1]);
      return p.second_optional ? fits(p.parts[0], o) : no(p, o);
    case Kind::vector: return vector_fits(p, o);
    case Kind::address: return address_fits(p, o);
  }
  return true;
}

bool Checker::Operands::source_fits(const OperandPattern& p, const Operand& o) const {
  if (o.kind == Operand::Kind::symbol) return p.symbol || no(p, o);
  if (o.kind == Operand::Kind::special) return p.special || no(p, o);
  if (o.kind != Operand::Kind::integer && o.kind != Operand::Kind::real)
    return (sign_fits(p, o) && register_fits(p, o)) || no(p, o);
  const Type t = checker_.type_of(p, in_);
  if (p.register_only || p.sign == OperandPattern::Sign::must || (t != Type::none && !literal_holds(t, o)))
    return no(p, o);
  // Bits of a float may stand for values (mov, st, selp), not for addresses and counts.
  if (o.kind == Operand::Kind::real && p.type_index < 0 && is_bits(t)) return no(p, o);
  return literal_fits(p, o);
}

bool Checker::Operands::vector_fits(const OperandPattern& p, const Operand& o) const {
  if (o.kind != Operand::Kind::vector) return no(p, o);
  if (p.count[0] != "any" && int64_t(o.elems.size()) != checker_.count_of(p, s_, m_)) return no(p, o);
  if (!std::ranges::all_of(o.elems, [&](const Operand& e) { return fits(p.parts[0], e); })) return false;
  const auto is_register = [](const Operand& e) { return e.kind == Operand::Kind::reg; };
  if (p.parts[0].some_register && std::ranges::none_of(o.elems, is_register))
    return no(p, o, fmt::format("{} of {} holds only literals", p.name, s_.name),
              "put at least one element in a register");
  return true;
}

bool Checker::Operands::address_fits(const OperandPattern& p, const Operand& o) const {
  if (o.kind != Operand::Kind::address || o.elems.size() != p.parts.size() + 1) return no(p, o);
  if (auto fault = checker_.address_fault(f_, s_, p, o.elems[0]); !fault.fits)
    return no(p, o, std::move(fault.why), std::move(fault.help));
  for (size_t i = 0; i < p.parts.size(); ++i)
    if (!fits(p.parts[i], o.elems[i + 1])) return false;
  return true;
}

bool Checker::Operands::fit() const {
  const std::vector<OperandPattern>& patterns = m_.pattern->operands;
  if (patterns.size() == 1 && patterns[0].kind == OperandPattern::Kind::anything) return true;
  const uint32_t stand = standing(*m_.pattern, in_);
  size_t at = 0;
  bool all = true;
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (!(stand >> i & 1)) continue;
    if (at < in_.operands.size() && !fits(patterns[i], in_.operands[at])) all = false;
    if (!all && !faults_) return false;
    ++at;
  }
  return at == in_.operands.size() ? all : wrong_number(at, stand);
}

bool Checker::Operands::wrong_number(size_t expected, uint32_t stand) const {
  if (!faults_) return false;
  faults_->clear();  // what was said of shifted operands misleads
  std::string shape;
  for (size_t i = 0; i < m_.pattern->operands.size(); ++i)
    if (const OperandPattern& p = m_.pattern->operands[i]; (stand >> i & 1) || p.optional)
      shape += (shape.empty() ? "" : ", ") + p.name + (p.optional ? "?" : "");
  const size_t given = in_.operands.size();
  faults_->push_back(
      {given > expected ? in_.operands[expected].pos : in_.pos,
       fmt::format("{} takes {} operand{} here, {} given", s_.text, expected, expected == 1 ? "" : "s", given),
       shape.empty() ? "write it without operands" : fmt::format("the operands are {}", shape), true});
  return false;
}

bool Checker::operands_fit(const Function& f, const Instruction& in, const Spelling& s, const Match& m,
                           std::vector<Fault>* faults) const {
  return Operands(*this, f, in, s, m, faults).fit();
}

const Checker::Match* Checker::taken(const Function& f, const Instruction& in, const Spelling& s, const Verdict& v) {
  const Match* fits = nullptr;
  for (const Match& m : v.fitting) {
    if (!operands_fit(f, in, s, m, nullptr)) continue;
    if (!fits || available(*m.pattern->form)) fits = &m;
    if (available(*fits->pattern->form)) break;
  }
  return fits;
}

// --- versions and targets

bool Checker::available(const Form& f) const {
  return target_in(f.targets, module_.target) && Version{module_.version_major, module_.version_minor} >= f.since;
}

void Checker::report_unavailable(const Instruction& in, const Form& f, const Report& report) const {
  const std::string spelling = in.spelling();
  if (!target_in(f.targets, module_.target)) {
    std::string list;
    for (char c : f.targets) list += c == ' ' ? std::string(", ") : std::string(1, c);
    report({in.pos, fmt::format("{} does not exist on {}", spelling, module_.target),
            fmt::format("targets that have it: {}", list)});
  } else {
    report({in.pos,
            fmt::format("{} needs PTX {}.{}, this module is .version {}.{}", spelling, f.since.major, f.since.minor,
                        module_.version_major, module_.version_minor),
            fmt::format("write .version {}.{} or later", f.since.major, f.since.minor)});
  }
}

// --- the whole

void Checker::begin(const Function& f) {
  local_spaces_.clear();
  indexed_locals_ = 0;
  for (const std::vector<Param>* list : {&f.params, &f.returns})
    for (const Param& p : *list) local_spaces_[p.name] = Space::param;
  use_ = &uses_[f.name];
  use_->entry = f.entry;
  use_->pos = f.pos;
  order_.push_back(f.name);
}

void Checker::note_cta_group(const Instruction& in, const Report& report) {
  if (in.traits().subject != Subject::tensor_memory) return;
  const std::string_view group = in.after("cta_group::");
  Pos* mine = group == "1" ? &use_->one : group == "2" ? &use_->two : nullptr;
  if (!mine || mine->line) return;
  *mine = in.pos;
  const Pos& other = group == "1" ? use_->two : use_->one;
  if (other.line)
    report({in.pos,
            fmt::format(".cta_group::{} in a kernel that uses .cta_group::{} in line {}", group,
                        group == "1" ? "2" : "1", other.line),
            "all tcgen05 instructions of a kernel name the same CTA group"});
}

void Checker::check(const Function& f, Instruction& in, const Spelling& s, const Report& report) {
  if (in.traits().control == Control::call) {
    for (const Operand& o : in.operands)
      if (o.kind == Operand::Kind::symbol) use_->calls.push_back(o.name);
  }
  if (s.opcode == Opcode::unknown) {
    const std::string_view alike = opcode_alike(s.text);
    report({in.pos, fmt::format("unknown instruction '{}'", s.text),
            fmt::format("{}`gen5 isa` lists the instructions that exist",
                        alike.empty() ? "" : fmt::format("did you mean {}? ", alike))});
    return;
  }
  if ((s.opcode == Opcode::tcgen05_wait || s.opcode == Opcode::tcgen05_fence) && !in.mods.empty() &&
      s.text.find("::") == std::string::npos) {
    report({in.pos, fmt::format("unknown instruction '{}'", s.text), fmt::format("write {}::{}", s.name, in.mods[0])});
    return;
  }
  note_cta_group(in, report);
  const Verdict& v = verdict(s);
  if (v.patterns->empty()) return;
  if (v.fitting.empty()) {
    report_modifiers(in, s, v, report);
    return;
  }
  const Match* fits = taken(f, in, s, v);
  if (!fits) {
    // The row that comes closest: fewest complaints.
    std::vector<Fault> best;
    int least = INT32_MAX;
    for (const Match& m : v.fitting) {
      std::vector<Fault> faults;
      operands_fit(f, in, s, m, &faults);
      int weight = available(*m.pattern->form) ? 0 : 1;  // of equals, what this target has
      for (const Fault& fault : faults) weight += fault.count ? 8 : 2;
      if (weight < least) {
        least = weight;
        best = std::move(faults);
      }
    }
    for (Fault& fault : best) report({fault.pos, std::move(fault.text), std::move(fault.help)});
    return;
  }
  in.form = fits->pattern;
  in.standing = standing(*fits->pattern, in);
  if (!available(*fits->pattern->form)) report_unavailable(in, *fits->pattern->form, report);
}

void Checker::finish(const Report& report) {
  for (const std::string& name : order_) {
    const Use& k = uses_[name];
    if (!k.entry) continue;
    Pos one, two;
    std::vector<const std::string*> work = {&name};
    std::unordered_set<std::string_view> seen = {name};
    while (!work.empty()) {
      const auto it = uses_.find(*work.back());
      work.pop_back();
      if (it == uses_.end()) continue;
      if (it->second.one.line && it->second.two.line) {  // said already
        one = two = {};
        break;
      }
      if (it->second.one.line) one = it->second.one;
      if (it->second.two.line) two = it->second.two;
      for (const std::string& c : it->second.calls)
        if (seen.insert(c).second) work.push_back(&c);
    }
    if (one.line && two.line)
      report(
          {k.pos,
           fmt::format("kernel {} uses .cta_group::1 (line {}) and .cta_group::2 (line {})", name, one.line, two.line),
           "all tcgen05 instructions of a kernel and of what it calls name the same CTA group"});
  }
}

std::string Checker::fault_of(const Spelling& s) {
  if (s.opcode == Opcode::unknown) return fmt::format("unknown instruction '{}'", s.text);
  const Verdict& v = verdict(s);
  if (v.patterns->empty()) return {};
  std::string text;
  const Report collect = [&](ParseMessage m) { text += (text.empty() ? "" : "; ") + m.text; };
  Instruction in;
  in.opcode = s.opcode;
  in.mods = s.mods;
  in.text = s.text;
  if (v.fitting.empty()) {
    report_modifiers(in, s, v, collect);
    return text;
  }
  for (const Match& m : v.fitting)
    if (available(*m.pattern->form)) return {};
  report_unavailable(in, *v.fitting[0].pattern->form, collect);
  return text;
}

std::string fault_of_spelling(std::string_view spelling, std::string_view target, Version version) {
  Module module;
  module.target = target;
  module.version_major = version.major;
  module.version_minor = version.minor;
  const Spelling s = cut_spelling(spelling);
  return Checker(module).fault_of(s);
}

Reading Checker::read(const Function& f, const Instruction& in, const Spelling& s) {
  const Match* m = taken(f, in, s, verdict(s));
  if (!m) return {};
  Reading r{m->pattern->form, {}};
  const uint32_t stand = standing(*m->pattern, in);
  for (size_t i = 0; i < m->pattern->operands.size() && r.operands.size() < in.operands.size(); ++i)
    if (stand >> i & 1)
      r.operands.push_back(m->pattern->operands[i].name + ": " + describe(m->pattern->operands[i], in, s, *m));
  return r;
}

Reading read_instruction(const Module& module, const Function& function, const Instruction& instruction) {
  const Spelling s = cut_spelling(instruction.spelling());
  Checker checker(module);
  checker.begin(function);
  return checker.read(function, instruction, s);
}

}  // namespace tinygpu::ptx::forms
