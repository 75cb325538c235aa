// Operands and constant expressions (PTX ISA 4.5, 6).
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "common/tinygpu/ptx/parser_impl.h"

namespace tinygpu::ptx {

namespace {

/// Special registers with elements .x .y .z .w.
bool has_elements(std::string_view special) {
  static constexpr std::string_view names[] = {"tid",       "ntid",       "ctaid",         "nctaid",
                                               "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid"};
  return std::ranges::find(names, special) != std::end(names);
}

/// Special registers by the word before a '.'.
bool is_special(std::string_view name) {
  static const std::unordered_set<std::string_view> names = {"laneid",
                                                             "warpid",
                                                             "nwarpid",
                                                             "smid",
                                                             "nsmid",
                                                             "gridid",
                                                             "cluster_ctarank",
                                                             "cluster_nctarank",
                                                             "is_explicit_cluster",
                                                             "lanemask_eq",
                                                             "lanemask_le",
                                                             "lanemask_lt",
                                                             "lanemask_ge",
                                                             "lanemask_gt",
                                                             "clock",
                                                             "clock_hi",
                                                             "clock64",
                                                             "globaltimer",
                                                             "globaltimer_lo",
                                                             "globaltimer_hi",
                                                             "dynamic_smem_size",
                                                             "total_smem_size",
                                                             "aggr_smem_size",
                                                             "reserved_smem_offset_begin",
                                                             "reserved_smem_offset_end",
                                                             "reserved_smem_offset_cap",
                                                             "reserved_smem_offset_0",
                                                             "reserved_smem_offset_1",
                                                             "current_graph_exec"};
  if (names.contains(name) || has_elements(name)) return true;
  const auto numbered = [&](std::string_view stem, unsigned most) {
    if (!name.starts_with(stem)) return false;
    name.remove_prefix(stem.size());
    if (name.ends_with("_64") && stem == "pm") name.remove_suffix(3);
    if (name.empty() || name.size() > 2) return false;
    unsigned v = 0;
    for (char c : name) {
      if (c < '0' || c > '9') return false;
      v = v * 10 + unsigned(c - '0');
    }
    return v <= most;
  };
  return numbered("envreg", 31) || numbered("pm", 7);
}

/// ".b0", ".h10", ".b3210": the parts of a register that a video instruction takes (PTX ISA 9.7.18).
bool is_selector(std::string_view element) {
  if (element.size() < 2 || element.size() > 5 || (element[0] != 'b' && element[0] != 'h')) return false;
  const char last = element[0] == 'b' ? '7' : '3';
  return std::all_of(element.begin() + 1, element.end(), [&](char c) { return c >= '0' && c <= last; });
}

}  // namespace

// --- operands

Operand Parser::operand() {
  const Depth depth(depth_, tok_.pos, "operands are nested too deeply");
  const Pos pos = tok_.pos;
  Operand o;
  if (tok_.is('[')) return address_operand();
  if (tok_.is('{')) {
    o = vector_operand();
  } else if (tok_.is('(')) {
    o = number_operand();  // a parenthesised constant expression; call lists are read by call_operands()
  } else if (tok_.is('!')) {
    next();
    o = operand();
    if (o.kind != Operand::Kind::reg && o.kind != Operand::Kind::integer)
      fail(pos, "'!' negates a predicate", "write !%p1");
    o.negated = !o.negated;
    o.pos = pos;
    return o;
  } else if (selectors_ && tok_.is('-')) {
    next();
    const bool name = tok_.ident() && tok_.text != "WARP_SZ";
    o = name ? name_operand() : number_operand();
    if (name && o.kind != Operand::Kind::reg) fail(pos, "'-' stands before a register or a number");
    if (name)
      o.negated = true;
    else
      o.bits = -o.bits;
    o.pos = pos;
  } else if (tok_.ident() && tok_.text != "WARP_SZ") {
    o = name_operand();
  } else {
    o = number_operand();
  }
  if (tok_.is('|')) {  // d|p
    next();
    Operand pair = operand_of(Operand::Kind::pair, pos);
    pair.elems.reserve(2);
    pair.elems.push_back(std::move(o));
    pair.elems.push_back(operand());
    return pair;
  }
  return o;
}

Operand Parser::number_operand() {
  Operand o;
  o.pos = tok_.pos;
  if (tok_.kind != Token::Kind::integer && tok_.kind != Token::Kind::real && !tok_.is('-') && !tok_.is('+') &&
      !tok_.is('~') && !tok_.is('(') && !tok_.ident())
    unexpected("an operand");
  const Constant c = constant();
  o.bits = int64_t(c.bits);
  o.kind = c.real ? Operand::Kind::real : Operand::Kind::integer;
  if (c.real) o.type = c.type;
  return o;
}

Operand Parser::name_operand() {
  Token t = tok_;
  lex_.extend_dotted(t);
  next();
  return name_operand(t);
}

/// A register, special register, variable, function, label: whatever the name is here.
Operand Parser::name_operand(const Token& t) {
  Operand o;
  o.pos = t.pos;
  std::string_view name = t.text;
  if (name == "_") return o;  // the sink
  std::string_view element;
  if (const size_t dot = name.find('.'); dot != std::string_view::npos) {
    element = name.substr(dot + 1);
    name = name.substr(0, dot);
  }
  if (const std::optional<Name> n = find_name(name)) {
    switch (n->kind) {
      case Name::Kind::reg:
        if (!element.empty() && !(selectors_ && is_selector(element)))
          fail(t.pos, fmt::format("'{}' has no element '.{}'", name, element),
               selectors_ ? "parts are .b0 to .b3, .h0 and .h1; of two or four lanes .h10 and .b3210"
                          : "only .v2 and .v4 registers have elements");
        o.kind = Operand::Kind::reg;
        o.reg = n->id;
        o.name = element;
        return o;
      case Name::Kind::vector: {
        const std::vector<uint32_t>& regs = vectors_[n->id];
        if (element.empty()) {
          o.kind = Operand::Kind::vector;
          for (uint32_t r : regs) o.elems.push_back(register_operand(r, t.pos));
          return o;
        }
        static constexpr std::string_view kElements = "xyzw", kColours = "rgba";
        size_t i = element.size() == 1 ? std::min(kElements.find(element[0]), kColours.find(element[0]))
                                       : std::string_view::npos;
        if (i >= regs.size()) fail(t.pos, fmt::format("'{}' has no element '.{}'", name, element));
        o.kind = Operand::Kind::reg;
        o.reg = regs[i];
        return o;
      }
      case Name::Kind::variable: o.name = f_->locals[n->id].name; break;
      case Name::Kind::param: o.name = name; break;
    }
    o.kind = Operand::Kind::symbol;
  } else if (name[0] == '%' && is_special(name.substr(1))) {
    if (!element.empty() && !(has_elements(name.substr(1)) && element.size() == 1 &&
                              std::string_view("xyzw").find(element[0]) != std::string_view::npos))
      fail(t.pos, fmt::format("'{}' has no element '.{}'", name, element),
           "%tid, %ntid, %ctaid, %nctaid and the cluster ids have .x .y .z");
    o.kind = Operand::Kind::special;
    o.name = t.text.substr(1);
    return o;
  } else if (name[0] == '%') {
    fail(t.pos, fmt::format("'{}' is not declared", t.text),
         "declare it with .reg, or use a special register such as %tid.x");
  } else {
    o.kind = Operand::Kind::symbol;
    o.name = name;
    if (used_.insert(o.name).second) uses_.push_back({o.name, t.pos});
  }
  o.bits = address_offset();
  return o;
}

/// What may stand behind a register, a symbol or generic(symbol): nothing, or `+` and a constant expression.
int64_t Parser::address_offset() {
  if (tok_.is('-')) fail(tok_.pos, "'-' behind an address", "ptxas takes '+' alone: write [%rd1+-4]");
  if (!accept('+')) return 0;
  const Pos at = tok_.pos;
  const Constant k = constant();
  if (k.real) fail(at, "an address offset must be an integer");
  return k.as_signed();
}

/// [reg], [reg+imm], [sym+imm], [imm], [base, more…].
Operand Parser::address_operand() {
  Operand o = operand_of(Operand::Kind::address, tok_.pos);
  expect('[', "the opcode");
  Operand base;
  if (tok_.ident() && tok_.text != "WARP_SZ") {
    base = name_operand();
    if (base.kind == Operand::Kind::sink)
      fail(base.pos, "'_' is no address", "write a register or a symbol between the brackets");
    if (base.kind == Operand::Kind::reg) {
      o.bits = address_offset();
    } else {
      o.bits = base.bits;  // the displacement is the address operand's
      base.bits = 0;
    }
  } else if (tok_.is('{') || tok_.is('[')) {
    fail(tok_.pos, fmt::format("'{}' where an address should begin", tok_.text),
         "an address begins with a register, a symbol or a number");
  } else {
    base = number_operand();
    if (base.kind == Operand::Kind::real) fail(base.pos, "an address must be an integer");
  }
  o.elems.push_back(std::move(base));
  while (accept(',')) {
    if (o.elems.size() >= kMostElements)
      fail(o.pos, fmt::format("more than {} operands in one address", kMostElements));
    o.elems.push_back(operand());
  }
  expect(']', "the address");
  return o;
}

Operand Parser::vector_operand() {
  Operand o = operand_of(Operand::Kind::vector, tok_.pos);
  ++braces_;
  expect('{', "the opcode");
  if (!tok_.is('}')) {
    do {
      if (o.elems.size() >= kMostElements) fail(o.pos, fmt::format("a vector of more than {} elements", kMostElements));
      o.elems.push_back(operand());
    } while (accept(','));
  }
  if (tok_.is('}')) --braces_;
  expect('}', "the vector's elements");
  return o;
}

/// (a, b) of a call.
Operand Parser::list_operand() {
  Operand o = operand_of(Operand::Kind::list, tok_.pos);
  expect('(', "call");
  if (!tok_.is(')')) {
    do o.elems.push_back(operand());
    while (accept(','));
  }
  expect(')', "the list");
  return o;
}

// --- constant expressions

int64_t Parser::integer_constant(std::string_view what) {
  const Pos pos = tok_.pos;
  if (tok_.kind != Token::Kind::integer && !tok_.is('-') && !tok_.is('+') && !tok_.is('~') && !tok_.is('!') &&
      !tok_.is('(') && !(tok_.ident() && tok_.text == "WARP_SZ"))
    unexpected(what);
  const Constant c = constant();
  if (c.real) fail(pos, fmt::format("{} must be an integer", what));
  return c.as_signed();
}

Parser::Constant Parser::constant() {
  if (tok_.kind == Token::Kind::integer || tok_.kind == Token::Kind::real) {  // nearly always a lone literal
    const char* p = lex_.position();
    while (*p == ' ') ++p;
    if (*p == ',' || *p == ';' || *p == ']' || *p == '}') return constant_unary();
  }
  return constant_ternary();
}

Parser::Constant Parser::constant_ternary() {
  const Depth depth(depth_, tok_.pos, "parentheses are nested too deeply");
  Constant c = constant_binary(0);
  if (!tok_.is('?')) return c;
  next();
  const Constant yes = constant_ternary();
  expect(':', "the first choice");
  const Constant no = constant_ternary();
  return c.bits ? yes : no;
}

namespace {

// C's levels, loosest first. '|' binds operands as d|p too, and only stands in a constant inside parentheses.
constexpr std::string_view kLevels[][4] = {
    {"||"},       {"&&"},     {"|"},          {"^"}, {"&"}, {"==", "!="}, {"<", ">", "<=", ">="},
    {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}};
constexpr int kLevelCount = int(std::size(kLevels));

}  // namespace

/// `a op b` as C has it; `pos` is where the operator stands.
Parser::Constant Parser::apply(std::string_view op, const Constant& a, const Constant& b, Pos pos) {
  if (a.real || b.real) fail(pos, fmt::format("'{}' on floating-point constants", op), "write the value itself");
  const bool uns = a.is_unsigned || b.is_unsigned;
  const uint64_t x = a.bits, y = b.bits;
  const int64_t sx = a.as_signed(), sy = b.as_signed();
  const auto value = [](uint64_t bits, bool is_unsigned) {
    Constant r;
    r.bits = bits;
    r.is_unsigned = is_unsigned;
    return r;
  };
  if (op == "||") return value(x || y, false);
  if (op == "&&") return value(x && y, false);
  if (op == "==") return value(x == y, false);
  if (op == "!=") return value(x != y, false);
  if (op == "<") return value(uns ? x < y : sx < sy, false);
  if (op == ">") return value(uns ? x > y : sx > sy, false);
  if (op == "<=") return value(uns ? x <= y : sx <= sy, false);
  if (op == ">=") return value(uns ? x >= y : sx >= sy, false);
  if (op == "|") return value(x | y, uns);
  if (op == "^") return value(x ^ y, uns);
  if (op == "&") return value(x & y, uns);
  if (op == "<<") return value(y < 64 ? x << y : 0, a.is_unsigned);
  if (op == ">>" && a.is_unsigned) return value(y < 64 ? x >> y : 0, true);
  if (op == ">>") return value(uint64_t(sx >> std::min<uint64_t>(y, 63)), false);
  if (op == "+") return value(x + y, uns);
  if (op == "-") return value(x - y, uns);
  if (op == "*") return value(x * y, uns);
  if (y == 0) fail(pos, "division by zero in a constant expression");
  const bool overflow = !uns && sx == std::numeric_limits<int64_t>::min() && sy == -1;
  if (op == "/") return value(uns ? x / y : overflow ? x : uint64_t(sx / sy), uns);
  return value(uns ? x % y : overflow ? 0 : uint64_t(sx % sy), uns);
}

Parser::Constant Parser::constant_binary(int level) {
  if (level == kLevelCount) return constant_unary();
  Constant a = constant_binary(level + 1);
  for (;;) {
    std::string_view op;
    if (tok_.kind == Token::Kind::punct)
      for (std::string_view candidate : kLevels[level])
        if (!candidate.empty() && tok_.text == candidate) op = candidate;
    if (op.empty()) return a;
    const Pos pos = tok_.pos;
    next();
    a = apply(op, a, constant_binary(level + 1), pos);
  }
}

Parser::Constant Parser::constant_unary() {
  const Depth depth(depth_, tok_.pos, "this constant is nested too deeply");
  const Pos pos = tok_.pos;
  if (tok_.is('-') || tok_.is('+') || tok_.is('~') || tok_.is('!')) {
    const char op = tok_.text[0];
    next();
    Constant c = constant_unary();
    if (c.real) {
      if (op == '-') c.bits ^= c.type == Type::f32 ? uint64_t(1) << 31 : uint64_t(1) << 63;
      if (op == '~' || op == '!') fail(pos, fmt::format("'{}' on a floating-point constant", op));
      return c;
    }
    if (op == '-') c.bits = 0 - c.bits;
    if (op == '~') c.bits = ~c.bits;
    if (op == '!') {
      c.bits = c.bits == 0;
      c.is_unsigned = false;
    }
    return c;
  }
  if (tok_.is('(')) {
    next();
    if (tok_.is(".s64") || tok_.is(".u64")) {  // a cast
      const bool uns = tok_.text == ".u64";
      next();
      expect(')', "the cast");
      Constant c = constant_unary();
      if (c.real) fail(pos, "a cast of a floating-point constant");
      c.is_unsigned = uns;
      return c;
    }
    const Constant c = constant_ternary();
    expect(')', "the expression");
    return c;
  }
  Constant c;
  if (tok_.kind == Token::Kind::integer) {
    c.bits = tok_.bits;
    c.is_unsigned = tok_.is_unsigned || (tok_.bits >> 63);
  } else if (tok_.kind == Token::Kind::real) {
    c.real = true;
    c.bits = tok_.bits;
    c.type = tok_.type;
  } else if (tok_.ident() && tok_.text == "WARP_SZ") {
    c.bits = 32;
  } else {
    unexpected("a number");
  }
  next();
  return c;
}

}  // namespace tinygpu::ptx
