#include "common/tinygpu/ptx/form_pattern.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>

#include "common/tinygpu/ptx/spelling.h"

namespace tinygpu::ptx::forms {

namespace {

// Choices that many rows share.
const std::map<std::string_view, std::string_view> kLists = {
    {"$int", "u16|u32|u64|s16|s32|s64"},
    {"$int32", "u32|s32|u64|s64"},
    {"$bits", "b16|b32|b64"},
    {"$any", "b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64"},
    {"$num", "b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64"},
    {"$round", "rn|rz|rm|rp"},
    {"$scope", "cta|cluster|gpu|sys"},
    {"$shared", "shared|shared::cta"},
    {"$all_shared", "shared|shared::cta|shared::cluster"},
    {"$l1", "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate"},
    {"$l2", "L2::evict_normal|L2::evict_first|L2::evict_last"},
    {"$l2pre", "L2::64B|L2::128B|L2::256B"},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void add_choices(std::vector<std::string>& to, std::string_view text) {
  for (const std::string& c : split(text, '|')) {
    if (const auto list = kLists.find(c); list != kLists.end())
      add_choices(to, list->second);
    else
      to.push_back(c);
  }
}

std::vector<ModifierPattern> read_modifiers(std::string_view text) {
  std::vector<ModifierPattern> out;
  for (std::string word : split(text, ' ')) {
    if (word.empty()) continue;
    ModifierPattern m;
    if (word.front() == '[') {
      m.required = false;
      word = word.substr(1, word.size() - 2);
    }
    if (word.front() == '<') {
      m.after_previous = true;
      word.erase(0, 1);
    }
    if (const size_t eq = word.find('='); eq != std::string::npos) {
      m.name = word.substr(0, eq);
      word.erase(0, eq + 1);
    }
    if (const size_t amp = word.find('&'); amp != std::string::npos) {
      add_choices(m.companions, word.substr(amp + 1));
      word.resize(amp);
    }
    add_choices(m.choices, word);
    out.push_back(std::move(m));
  }
  return out;
}

/// Splits at commas outside brackets.
std::vector<std::string> split_operands(std::string_view s) {
  std::vector<std::string> out;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= s.size(); ++i) {
    if (i < s.size() && (s[i] == '[' || s[i] == '{' || s[i] == '(')) ++depth;
    if (i < s.size() && (s[i] == ']' || s[i] == '}' || s[i] == ')')) --depth;
    if (i == s.size() || (s[i] == ',' && depth == 0)) {
      std::string_view part = s.substr(start, i - start);
      while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
      while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
      if (!part.empty()) out.emplace_back(part);
      start = i + 1;
    }
  }
  return out;
}

OperandPattern read_operand(std::string text);

/// "b32+_(0..15/4)" after the name.
void read_type(OperandPattern& p, std::string text) {
  if (const size_t open = text.find('('); open != std::string::npos) {
    std::string limits = text.substr(open + 1, text.find(')') - open - 1);
    text.resize(open);
    if (const size_t slash = limits.find('/'); slash != std::string::npos) {
      p.step = std::atoll(limits.c_str() + slash + 1);
      limits.resize(slash);
    }
    if (const size_t dots = limits.find(".."); dots != std::string::npos) {
      p.low = std::atoll(limits.c_str());
      p.high = std::atoll(limits.c_str() + dots + 2);
    } else {
      for (const std::string& v : split(limits, '|')) p.values.push_back(std::atoll(v.c_str()));
    }
  }
  for (; !text.empty(); text.pop_back()) {
    if (text.back() == '+')
      p.wider = true;
    else if (text.back() == '_')
      p.sink = true;
    else if (text.back() == '@')
      p.symbol = p.special = true;
    else if (text.back() == '%')
      p.special = true;
    else if (text.back() == '!')
      p.register_only = true;
    else if (text.back() == '~')
      p.some_register = true;
    else if (text.back() == '-')
      p.sign = p.sign == OperandPattern::Sign::none ? OperandPattern::Sign::may : OperandPattern::Sign::must;
    else if (text.size() > 1 && text[text.size() - 2] == '^') {
      p.selector = text.back() - '0';
      text.pop_back();
    } else
      break;
  }
  if (text == "sink") {
    p.kind = OperandPattern::Kind::only_sink;
  } else if (text == "imm") {
    p.kind = OperandPattern::Kind::immediate;
  } else if (text == "label") {
    p.kind = OperandPattern::Kind::label;
  } else if (text == "W") {
    p.type_index = 0;
    p.twice = true;
  } else if (text[0] == 'T') {
    p.type_index = text.size() > 1 ? text[1] - '0' : 0;
  } else {
    p.type = type_from_name(text);
    if (p.type == Type::none && text != "any") throw std::logic_error("forms: no type '" + text + "'");
    if (p.type == Type::pred && p.kind == OperandPattern::Kind::source) p.kind = OperandPattern::Kind::predicate;
  }
}

OperandPattern read_operand(std::string text) {
  OperandPattern p;
  // The condition: behind the last '?' that is not inside brackets.
  if (text.front() != '|') {
    int depth = 0;
    for (size_t i = text.size(); i-- > 0;) {
      if (text[i] == ']' || text[i] == '}' || text[i] == ')') ++depth;
      if (text[i] == '[' || text[i] == '{' || text[i] == '(') --depth;
      if (text[i] == '?' && depth == 0 && (i == 0 || text[i - 1] != '|')) {
        p.when = text.substr(i + 1);
        p.optional = p.when.empty();
        text.resize(i);
        break;
      }
    }
  }
  if (text == "*") {
    p.kind = OperandPattern::Kind::anything;
    return p;
  }
  if (text.front() == '[') {
    p.kind = OperandPattern::Kind::address;
    const std::vector<std::string> parts = split_operands(std::string_view(text).substr(1, text.size() - 2));
    const size_t colon = parts[0].find(':');
    p.name = parts[0].substr(0, colon);
    p.space = parts[0].substr(colon + 1);
    p.wider = p.space.ends_with('+');
    if (p.wider) p.space.pop_back();
    for (size_t i = 1; i < parts.size(); ++i) p.parts.push_back(read_operand(parts[i]));
    return p;
  }
  if (text.front() == '{') {
    p.kind = OperandPattern::Kind::vector;
    std::vector<std::string> factors = split(std::string_view(text).substr(1, text.size() - 2), '*');
    p.parts.push_back(read_operand(factors[0]));
    p.name = p.parts[0].name;
    p.count.assign(factors.begin() + 1, factors.end());
    return p;
  }
  if (const size_t bar = text.find('|'); bar != std::string::npos && text.find('(') == std::string::npos) {
    p.kind = OperandPattern::Kind::pair;
    p.second_optional = text[bar + 1] == '?';
    p.parts.push_back(read_operand(text.substr(0, bar)));
    p.parts.push_back(read_operand(text.substr(bar + (p.second_optional ? 2 : 1))));
    p.name = p.parts[0].name;
    return p;
  }
  const size_t at = text.find_first_of(":=");
  if (at == std::string::npos) throw std::logic_error("forms: no type in operand '" + text + "'");
  p.name = text.substr(0, at);
  p.kind = text[at] == '=' ? OperandPattern::Kind::destination : OperandPattern::Kind::source;
  read_type(p, text.substr(at + 1));
  return p;
}

/// By opcode.
const std::vector<std::vector<Pattern>>& table() {
  static const auto t = [] {
    std::vector<std::vector<Pattern>> made(kOpcodes);
    for (const Form* f : all_forms()) {
      Pattern p;
      p.form = f;
      p.modifiers = read_modifiers(f->modifiers);
      for (const std::string& o : split_operands(f->operands)) p.operands.push_back(read_operand(o));
      made[size_t(f->opcode)].push_back(std::move(p));
    }
    return made;
  }();
  return t;
}

/// A choice's number: "m64n" "(8..256/8)" "k16".
struct Numbered {
  std::string_view before, after;
  int low = 0, high = 0, step = 1;
};

std::optional<Numbered> numbered(std::string_view choice) {
  const size_t open = choice.find('(');
  if (open == std::string_view::npos) return std::nullopt;
  const size_t close = choice.find(')');
  Numbered n{choice.substr(0, open), choice.substr(close + 1)};
  if (std::sscanf(std::string(choice.substr(open)).c_str(), "(%d..%d/%d)", &n.low, &n.high, &n.step) != 3)
    throw std::logic_error("forms: no range in '" + std::string(choice) + "'");
  return n;
}

}  // namespace

bool takes(std::string_view choice, std::string_view modifier) {
  if (choice == modifier) return true;
  const auto n = numbered(choice);
  if (!n || modifier.size() <= n->before.size() + n->after.size()) return false;
  if (!modifier.starts_with(n->before) || !modifier.ends_with(n->after)) return false;
  modifier.remove_prefix(n->before.size());
  modifier.remove_suffix(n->after.size());
  int value = 0;
  const auto read = std::from_chars(modifier.data(), modifier.data() + modifier.size(), value);
  return read.ec == std::errc() && read.ptr == modifier.data() + modifier.size() && modifier[0] != '0' &&
         value >= n->low && value <= n->high && (value - n->low) % n->step == 0;
}

std::string first_of(std::string_view choice) {
  const auto n = numbered(choice);
  return n ? std::string(n->before) + std::to_string(n->low) + std::string(n->after) : std::string(choice);
}

int64_t count_of(const OperandPattern& p, const Pattern& row, const std::vector<std::string_view>& chosen) {
  int64_t n = 1;
  for (const std::string& factor : p.count) {
    if (is_digit(factor[0])) {
      n *= std::atoll(factor.c_str());
      continue;
    }
    const size_t operation = factor.find_first_of("-/");
    const int64_t by = operation == std::string::npos ? 0 : std::atoll(factor.c_str() + operation + 1);
    for (size_t k = 0; k < row.modifiers.size(); ++k) {
      if (row.modifiers[k].name != factor.substr(0, operation) || chosen[k].empty()) continue;
      size_t digit = chosen[k].find_first_of("0123456789");
      for (const std::string& c : row.modifiers[k].choices)
        if (const auto at = numbered(c); at && takes(c, chosen[k])) digit = at->before.size();
      if (digit == std::string_view::npos) continue;
      const int64_t number = std::atoll(std::string(chosen[k].substr(digit)).c_str());
      n *= by == 0 ? number : factor[operation] == '-' ? number - by : number / by;
    }
  }
  return n;
}

std::string join_choices(const std::vector<std::string>& choices, std::string_view prefix) {
  std::string s;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) s += i + 1 == choices.size() ? " or " : ", ";
    s += prefix;
    if (const auto n = numbered(choices[i]))
      s += std::string(n->before) + "N" + std::string(n->after) + " (N: " + std::to_string(n->low) + " to " +
           std::to_string(n->high) + " by " + std::to_string(n->step) + ")";
    else
      s += choices[i];
  }
  return s;
}

std::string ModifierPattern::describe() const { return join_choices(choices, "."); }

const std::vector<Pattern>& patterns_of(Opcode opcode) { return table()[size_t(opcode)]; }

std::vector<const Form*> all_forms() {
  std::vector<const Form*> all;
  for (const auto part : {arithmetic_forms(), convert_forms(), memory_forms(), control_forms(), warp_forms(),
                          matrix_forms(), mbarrier_forms(), copy_forms(), cluster_forms(), tcgen05_forms(),
                          tcgen05_mma_forms(), wgmma_forms(), video_forms(), mma_forms(), multimem_forms()})
    for (const Form& f : part) all.push_back(&f);
  return all;
}

std::vector<const Form*> forms_of(Opcode opcode) {
  std::vector<const Form*> out;
  for (const Pattern& p : patterns_of(opcode)) out.push_back(p.form);
  return out;
}

uint32_t standing(const Pattern& p, const Instruction& in) {
  size_t fixed = 0;
  for (const OperandPattern& o : p.operands) fixed += !o.optional && (o.when.empty() || in.has(o.when));
  size_t extra = in.operands.size() > fixed ? in.operands.size() - fixed : 0;
  size_t at = 0;
  uint32_t stand = 0;
  for (size_t i = 0; i < p.operands.size(); ++i) {
    const OperandPattern& o = p.operands[i];
    if (o.optional) {
      const bool vector = o.kind == OperandPattern::Kind::vector;
      if (!extra || at >= in.operands.size() || vector != (in.operands[at].kind == Operand::Kind::vector)) continue;
      --extra;
    } else if (!o.when.empty() && !in.has(o.when)) {
      continue;
    }
    stand |= 1u << i;
    ++at;
  }
  return stand;
}

namespace {

const Operand* find(const OperandPattern& p, const Operand& o, std::string_view name) {
  using Kind = OperandPattern::Kind;
  if (p.kind == Kind::pair && o.kind == Operand::Kind::pair) {
    for (size_t i = 0; i < 2; ++i)
      if (const Operand* found = find(p.parts[i], o.elems[i], name)) return found;
    return nullptr;
  }
  if (p.name == name) return &o;
  if (p.kind == Kind::address)  // what follows the address inside the brackets
    for (size_t i = 0; i < p.parts.size(); ++i)
      if (const Operand* found = find(p.parts[i], o.elems[i + 1], name)) return found;
  return nullptr;
}

}  // namespace

bool target_in(std::string_view targets, std::string_view target) {
  if (targets.empty()) return true;
  const auto number = [](std::string_view t) { return std::atoi(std::string(t.substr(3)).c_str()); };
  for (const std::string& t : split(targets, ' ')) {
    if (t == target) return true;
    if (t.ends_with('+') && number(target) >= number(t)) return true;
  }
  return false;
}

}  // namespace tinygpu::ptx::forms

namespace tinygpu::ptx {

const Operand* Instruction::operand(std::string_view name) const {
  if (!form) return nullptr;
  size_t at = 0;
  for (size_t i = 0; i < form->operands.size(); ++i)
    if (standing >> i & 1)
      if (const Operand* found = forms::find(form->operands[i], operands[at++], name)) return found;
  return nullptr;
}

}  // namespace tinygpu::ptx
