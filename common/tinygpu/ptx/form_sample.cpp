// A legal instruction for each row of the table: for tests and for asking what executes.
#include <fmt/format.h>

#include <algorithm>

#include "common/tinygpu/ptx/form_pattern.h"
#include "common/tinygpu/ptx/spelling.h"

namespace tinygpu::ptx::forms {

namespace {

class Sampler {
 public:
  explicit Sampler(const Pattern& p) : pattern_(p) {
    chosen_.resize(p.modifiers.size());
    for (size_t i = 0; i < p.modifiers.size(); ++i)
      if (p.modifiers[i].required) chosen_[i] = first_of(p.modifiers[i].choices[0]);
    for (const std::string& m : chosen_) {
      if (m.empty()) continue;
      mods_.push_back(m);
      if (const Type t = type_from_name(m); t != Type::none) types_.push_back(t);
    }
  }

  std::string text() const {
    const Opcode opcode = pattern_.form->opcode;
    std::string s(name_of(opcode));
    const bool colons = opcode == Opcode::tcgen05_wait || opcode == Opcode::tcgen05_fence;
    for (size_t i = 0; i < mods_.size(); ++i) s += (colons && i == 0 ? "::" : ".") + mods_[i];
    bool first = true;
    for (const OperandPattern& p : pattern_.operands) {
      if (p.optional || (!p.when.empty() && std::find(mods_.begin(), mods_.end(), p.when) == mods_.end())) continue;
      s += (first ? " " : ", ") + operand(p);
      first = false;
    }
    return s;
  }

 private:
  using Kind = OperandPattern::Kind;

  Type type_of(const OperandPattern& p) const {
    Type t = p.type;
    if (p.type_index >= 0) t = size_t(p.type_index) < types_.size() ? types_[size_t(p.type_index)] : Type::none;
    if (!p.twice) return t == Type::none ? Type::b32 : t;
    return size_of(t) == 2 ? Type::b32 : Type::b64;
  }

  static std::string register_of(Type t) {
    if (t == Type::pred) return "%p1";
    if (t == Type::f32) return "%f1";
    if (t == Type::f64) return "%fd1";
    switch (size_of(t)) {
      case 1: return "%b1";
      case 2: return "%h1";
      case 8: return "%rd1";
      case 16: return "%q1";
      default: return "%r1";
    }
  }

  int64_t count_of(const OperandPattern& p) const {
    return forms::count_of(p, pattern_, {chosen_.begin(), chosen_.end()});
  }

  std::string operand(const OperandPattern& p) const {
    switch (p.kind) {
      case Kind::only_sink: return "_";
      case Kind::label: return pattern_.form->opcode == Opcode::brx_idx ? "T" : "L";
      case Kind::predicate: return "%p1";
      case Kind::anything: return "%r1";
      case Kind::immediate:
        if (!p.values.empty()) return std::to_string(p.values[0]);
        return std::to_string(p.low ? (*p.low + p.step - 1) / p.step * p.step : 0);
      case Kind::destination:
      case Kind::source: return register_of(type_of(p));
      case Kind::pair: return operand(p.parts[0]) + "|" + operand(p.parts[1]);
      case Kind::vector: {
        std::string s = "{";
        for (int64_t i = count_of(p); i > 0; --i) s += register_of(type_of(p.parts[0])) + (i > 1 ? "," : "}");
        return s;
      }
      case Kind::address: {
        const std::string_view space = p.space == "by" ? space_named(mods_) : p.space;
        std::string s = space == "param"                                           ? "[param"
                        : space == "shared" || space == "tmem" || space == "local" ? "[%r1"
                                                                                   : "[%rd1";
        for (const OperandPattern& q : p.parts) s += ", " + operand(q);
        return s + "]";
      }
    }
    return {};
  }

  const Pattern& pattern_;
  std::vector<std::string> chosen_, mods_;
  std::vector<Type> types_;
};

}  // namespace

std::string sample_instruction(const Form& form) {
  for (const Pattern& p : patterns_of(form.opcode))
    if (p.form == &form && form.operands != "*") return Sampler(p).text();
  return {};
}

std::string sample_module(const Form& form, std::string_view kernel) {
  const std::string_view first = form.targets.substr(0, form.targets.find(' '));
  // Old forms still stand in today's version; sm_90+ is read as sm_90.
  std::string target = first.empty() || target_in(form.targets, "sm_100a") ? "sm_100a" : std::string(first);
  const std::string_view parameter = form.opcode == Opcode::st ? "" : "(.param .align 64 .b8 param[128])";
  const std::string_view local = form.opcode == Opcode::st ? ".param .align 64 .b8 param[128];" : "";
  return fmt::format(
      ".version 9.4\n.target {}\n.address_size 64\n.visible .entry {}{} {{ {}\n"
      ".reg .pred %p<4>; .reg .b8 %b<4>; .reg .b16 %h<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .b128 %q<4>;\n"
      ".reg .f32 %f<4>; .reg .f64 %fd<4>;\n{}{};\nL: ret; }}\n",
      target, kernel, parameter, local, form.opcode == Opcode::brx_idx ? "T: .branchtargets L;\n" : "",
      sample_instruction(form));
}

}  // namespace tinygpu::ptx::forms
