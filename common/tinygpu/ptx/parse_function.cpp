// Functions: headers, scopes, statements and instructions.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "common/tinygpu/ptx/form_check.h"
#include "common/tinygpu/ptx/parser_impl.h"

namespace tinygpu::ptx {

namespace {

constexpr uint32_t kMostRegisters = 1 << 22;  // of one function
constexpr uint64_t kMostThreads = uint64_t(1) << 31;

}  // namespace

// --- names

uint32_t Parser::new_register(std::string_view name, Type type) {
  if (f_->registers.size() >= kMostRegisters) fail(tok_.pos, "this function has too many registers");
  f_->registers.push_back({std::string(name), type});
  return uint32_t(f_->registers.size() - 1);
}

/// The register of a range, `%r12` of `%r<20>`, if `name` is one: its number has no leading zero.
std::optional<uint32_t> Parser::find_in_range(Scope& s, std::string_view name) {
  if (s.ranges.empty()) return {};
  Range* found = nullptr;
  uint32_t number = 0;
  uint64_t n = 0, unit = 1;
  for (size_t i = name.size(); i-- > 1 && name.size() - i <= 9 && name[i] >= '0' && name[i] <= '9'; unit *= 10) {
    n += uint64_t(name[i] - '0') * unit;
    if (name[i] == '0' && i + 1 < name.size()) continue;
    const auto it = s.ranges.find(name.substr(0, i));
    // `%r<20>` and `%r1<5>` both have a %r12: the one that was declared first.
    if (it == s.ranges.end() || n >= it->second.count || (found && found->order < it->second.order)) continue;
    found = &it->second;
    number = uint32_t(n);
  }
  if (!found) return {};
  return register_of(*found, number, name);
}

/// Made when it is first named. Numbers far above those in use have a map of their own: a range may be declared larger
/// than anybody needs.
uint32_t Parser::register_of(Range& r, uint32_t n, std::string_view name) {
  if (n < r.ids.size() && r.ids[n] >= 0) return uint32_t(r.ids[n]);
  if (const auto it = r.sparse.find(n); it != r.sparse.end()) return it->second;
  const uint32_t id = new_register(name, r.type);
  ++r.used;
  if (n < 2 * uint64_t(r.used) + 64) {
    if (n >= r.ids.size()) r.ids.resize(std::min<size_t>(r.count, std::max<size_t>(n + 1, r.ids.size() * 2)), -1);
    r.ids[n] = int32_t(id);
  } else {
    r.sparse[n] = id;
  }
  return id;
}

std::optional<Parser::Name> Parser::find_name(std::string_view name) {
  const bool numbered = name.back() >= '0' && name.back() <= '9';
  for (size_t i = scopes_.size(); i-- > 0;) {
    Scope& s = scopes_[i];
    if (numbered)
      if (const auto id = find_in_range(s, name)) return Name{Name::Kind::reg, *id};
    if (!s.names.empty())
      if (const auto it = s.names.find(name); it != s.names.end()) return it->second;
  }
  return {};
}

void Parser::declare(std::string_view name, Name what, Pos pos) {
  if (name == "_") return;
  Scope& s = scopes_.back();
  if (s.labels.contains(name) || s.targets.contains(name) || find_in_range(s, name) ||
      !s.names.emplace(name, what).second)
    fail(pos, fmt::format("'{}' is declared twice in this block", name),
         "rename one of the two, or open a block with { }");
}

std::string Parser::unique_local_name(std::string_view name) {
  std::string unique(name);
  uint32_t& count = local_names_[unique];  // references into an unordered_map stay valid
  if (count++ == 0 && !module_names_.contains(unique)) return unique;
  do unique = fmt::format("{}${}", name, count++);
  while (local_names_.contains(unique) || module_names_.contains(unique));
  local_names_[unique] = 1;
  return unique;
}

void Parser::open_scope(Pos pos) {
  if (scopes_.size() >= size_t(kDeepest)) fail(pos, "blocks are nested too deeply");
  scopes_.emplace_back();
  scopes_.back().open = pos;
}

/// Leaves a block: branches to labels of this block are resolved, the others are the outer block's.
void Parser::close_scope() {
  Scope s = std::move(scopes_.back());
  scopes_.pop_back();
  for (const PendingLabel& p : s.pending) {
    if (const auto label = s.labels.find(p.name); label != s.labels.end())
      (p.in_targets ? f_->targets[p.instruction].labels[p.operand]
                    : f_->body[p.instruction].operands[p.operand].label) = label->second;
    else if (scopes_.empty())
      report(p.pos, fmt::format("unknown label '{}'", p.name),
             "a branch reaches labels of its own block and of the blocks around it");
    else
      scopes_.back().pending.push_back(p);
  }
}

/// The list or prototype that a brx.idx or call names: the innermost that stands before the instruction, as everything
/// but a label that a branch leads to.
Operand Parser::list_name(ListKind kind) {
  const bool branch = kind == ListKind::branch_targets;
  Operand o = operand_of(Operand::Kind::label, tok_.pos);
  const std::string_view name = tok_.text;
  const std::string_view wanted = branch ? "a list of branch targets" : "a prototype or a list of functions";
  const std::string_view help = branch ? "name a list: targets: .branchtargets L1, L2;"
                                       : "name a list: fs: .calltargets f, g; or a prototype: p: .callprototype _;";
  const auto wrong = [&](std::string_view what) {
    fail(o.pos, fmt::format("{} with the {} '{}', not {}", branch ? "brx.idx" : "call", what, name, wanted),
         std::string(help));
  };
  for (size_t i = scopes_.size(); i-- > 0;) {
    const Scope& s = scopes_[i];
    const auto list = s.targets.find(name);
    if (list != s.targets.end()) {
      if (f_->targets[list->second].functions.empty() != branch) wrong(branch ? "list of functions" : "list of labels");
      o.label = list->second;
      break;
    }
    if (s.prototypes.contains(name)) {
      if (branch) wrong("prototype");
      break;
    }
    if (s.labels.contains(name)) wrong("label");
    if (i == 0)
      fail(o.pos,
           fmt::format("{} names '{}', and no such {} stands before it", branch ? "brx.idx" : "call", name,
                       wanted.substr(2)),
           std::string(help));
  }
  o.name = name;
  next();
  return o;
}

// --- function headers

void Parser::function_directives(Function& f) {
  const auto positive = [&](std::string_view directive, std::string_view what) {
    const Pos pos = tok_.pos;
    const uint64_t n = expect_count(what, kMostThreads);
    if (n == 0) fail(pos, fmt::format("{} of 0", directive), "write 1 or more, or leave the directive out");
    return uint32_t(n);
  };
  const auto triple = [&](std::string_view d, uint32_t(&to)[3]) {
    to[0] = to[1] = to[2] = 1;
    for (int i = 0; i < 3; ++i) {
      if (i > 0 && !accept(',')) break;
      to[i] = d == ".reqnctapercluster" ? uint32_t(expect_count("the size", kMostThreads)) : positive(d, "the size");
    }
  };
  while (tok_.directive()) {
    const Pos pos = tok_.pos;
    const std::string_view d = tok_.text;
    next();
    if (d == ".maxntid") {
      triple(d, f.maxntid);
    } else if (d == ".reqntid") {
      triple(d, f.reqntid);
    } else if (d == ".reqnctapercluster") {
      triple(d, f.reqnctapercluster);
    } else if (d == ".minnctapersm") {
      f.minnctapersm = positive(d, "the number");
    } else if (d == ".maxnreg") {
      f.maxnreg = positive(d, "the number");
    } else if (d == ".maxnctapersm" || d == ".local_maxnreg") {
      positive(d, "the number");
    } else if (d == ".maxclusterrank") {
      f.maxclusterrank = uint32_t(expect_count("the number", kMostThreads));
    } else if (d == ".explicitcluster" || d == ".blocksareclusters") {
      f.explicit_cluster = true;
    } else if (d == ".noreturn") {
      f.noreturn = true;
    } else if (d == ".abi_preserve" || d == ".abi_preserve_control") {
      expect_count("the register count", kMostThreads);
    } else if (d == ".pragma") {
      expect_string("a string");
      while (accept(',')) expect_string("a string");
      accept(';');
    } else if (d == ".attribute") {
      expect('(', ".attribute");
      for (int depth = 1; depth > 0; next()) {
        if (tok_.kind == Token::Kind::end) unexpected("')'");
        if (tok_.is('(')) ++depth;
        if (tok_.is(')')) --depth;
      }
    } else {
      fail(pos, fmt::format("unknown directive '{}' of a function", d),
           ".maxntid .reqntid .minnctapersm .maxnreg .reqnctapercluster .explicitcluster .maxclusterrank .noreturn "
           ".pragma stand here");
    }
  }
}

void Parser::function(bool entry, Linkage linkage) {
  auto owned = std::make_unique<Function>();
  Function& f = *owned;
  f.entry = entry;
  f.linkage = linkage;
  f.pos = tok_.pos;
  // `.func (.param .b32 r) name (...)`; .noreturn and attributes may stand before the name.
  while (tok_.directive()) {
    if (accept(".noreturn"))
      f.noreturn = true;
    else if (tok_.is(".attribute"))
      function_directives(f);
    else
      unexpected("the function's name");
  }
  if (!entry && tok_.is('(')) f.returns = parameter_list(true, f);
  f.pos = tok_.pos;
  f.name = expect_ident("the function's name");
  if (tok_.is('(')) f.params = parameter_list(!entry, f);
  if (entry) check_parameter_space(f);
  function_directives(f);
  if (f.maxntid[0] && f.reqntid[0]) fail(f.pos, "a function has both .maxntid and .reqntid", "keep one of them");
  module_names_.insert(f.name);
  if (tok_.is(';')) {  // a prototype
    next();
    m_.functions.push_back(std::move(owned));
    return;
  }
  if (!tok_.is('{')) unexpected("'{' or ';' after the function's header");
  if (!defined_.insert(f.name).second)
    fail(f.pos, fmt::format("'{}' is defined twice", f.name), "rename one of the two");
  f.has_body = true;
  f_ = &f;
  scopes_.clear();
  vectors_.clear();
  local_names_.clear();
  line_ = {};
  inlined_ = -1;
  inlined_lines_.clear();
  checker_->begin(f);
  const Pos open = tok_.pos;
  open_scope(open);
  for (const std::vector<Param>* list : {&f.returns, &f.params})
    for (const Param& p : *list) {
      if (p.name == "_") continue;
      ++local_names_[p.name];
      const Name n = p.is_reg ? Name{Name::Kind::reg, p.reg} : Name{Name::Kind::param, 0};
      // The module's own string may move; the text does not.
      if (!scopes_.back().names.emplace(p.name, n).second)
        fail(f.pos, fmt::format("parameter '{}' is declared twice", p.name));
    }
  next();
  load_register_parameters();
  body();
  const bool runs_past_end = f.body.empty() || f.body.back().guard >= 0 || f.body.back().opcode != Opcode::ret;
  if (runs_past_end) store_register_returns(f.body.size());
  f_ = nullptr;
  m_.functions.push_back(std::move(owned));
}

void Parser::body() {
  while (!scopes_.empty()) {
    braces_ = 0;
    depth_ = 0;
    try {
      if (tok_.kind == Token::Kind::end)
        fail(scopes_.back().open, fmt::format("the block of '{}' that opens here is never closed", f_->name),
             "end it with }");
      if (tok_.is('{')) {
        open_scope(tok_.pos);
        next();
      } else if (tok_.is('}')) {
        close_scope();
        next();
      } else {
        statement();
      }
    } catch (Failure& failure) {
      const bool at_end = tok_.kind == Token::Kind::end;
      report(std::move(failure.message));
      if (at_end) {
        scopes_.clear();
        return;
      }
      if (!scopes_.empty()) skip_statement_after_error();
    }
  }
}

void Parser::skip_statement_after_error() {
  // tok_ is the token that did not fit: it may end the statement itself.
  for (;;) {
    try {
      if (tok_.is(';')) {
        next();
        return;
      }
      if (tok_.is('}') && braces_ == 0) return;
      if (tok_.is('}')) --braces_;
      if (tok_.kind == Token::Kind::end) return;
      lex_.skip_statement(braces_);
      next();
      return;
    } catch (const Failure&) {
      tok_ = Token{};
      tok_.kind = Token::Kind::punct;  // whatever could not be read
    }
  }
}

// --- statements

void Parser::statement() {
  if (tok_.ident()) {
    if (lex_.colon_follows()) return label_statement();
    return instruction();
  }
  if (tok_.is('@')) return instruction();
  if (tok_.directive()) return directive_statement();
  if (accept(';')) return;
  unexpected("an instruction, a label or a declaration");
}

void Parser::directive_statement() {
  const std::string_view d = tok_.text;
  if (d == ".loc") return line_info();
  if (d == ".reg") return registers();
  if (d == ".file") return file();
  if (d == ".section") return section();
  if (d == ".pragma") return pragma();
  static constexpr struct {
    std::string_view name;
    Space space;
  } kSpaces[] = {{".shared", Space::shared},
                 {".local", Space::local},
                 {".param", Space::param},
                 {".global", Space::global},
                 {".const", Space::constant}};
  const bool external = d == ".extern";
  if (external) next();
  for (const auto& s : kSpaces)
    if (accept(s.name)) {
      const TypeSpec spec = type_spec(s.space == Space::param);
      do {
        const Pos pos = tok_.pos;
        const std::string_view name = tok_.text;
        Variable v = declarator(spec, s.space, external ? Linkage::external : Linkage::internal);
        if (v.unsized_array && !v.has_init && !external)
          fail(pos, fmt::format("'{}' has no size", v.name), "give the array a size");
        if (!external) v.name = unique_local_name(name);
        declare(name, {Name::Kind::variable, uint32_t(f_->locals.size())}, pos);
        f_->locals.push_back(std::move(v));
      } while (accept(','));
      expect(';', "the variable");
      return;
    }
  if (d == ".branchtargets" || d == ".calltargets" || d == ".callprototype")
    fail(tok_.pos, fmt::format("'{}' without a label", d), fmt::format("write name: {} …;", d));
  fail(tok_.pos, fmt::format("unknown directive '{}'", d),
       "inside a function stand .reg .shared .local .param .loc .pragma and labelled .branchtargets .calltargets "
       ".callprototype");
}

void Parser::registers() {
  next();
  const TypeSpec spec = type_spec(false);
  do {
    const Pos pos = tok_.pos;
    const std::string_view name = expect_ident("a register's name");
    if (accept('<')) {
      const Pos at = tok_.pos;
      const Constant c = constant_unary();  // not an expression: '>' closes the range
      if (c.real || c.bits > UINT32_MAX) fail(at, "the register count is a number below 2^32");
      const uint64_t count = c.bits;
      expect('>', "the register count");
      if (spec.lanes > 1) fail(pos, "a range of vector registers", "declare vector registers one by one");
      auto& ranges = scopes_.back().ranges;
      if (!ranges.emplace(name, Range{spec.type, uint32_t(count), uint32_t(ranges.size()), 0, {}, {}}).second)
        fail(pos, fmt::format("'{}<>' is declared twice in this block", name),
             "rename one of the two, or open a block with { }");
      continue;
    }
    if (spec.lanes > 1) {
      std::vector<uint32_t> regs;
      for (int i = 0; i < spec.lanes; ++i)
        regs.push_back(new_register(fmt::format("{}.{}", name, "xyzw01234"[i]), spec.type));
      vectors_.push_back(std::move(regs));
      declare(name, {Name::Kind::vector, uint32_t(vectors_.size() - 1)}, pos);
    } else {
      declare(name, {Name::Kind::reg, new_register(name, spec.type)}, pos);
    }
  } while (accept(','));
  expect(';', "the registers");
}

/// .loc file line column [, function_name label [+ n], inlined_at file line column]
/// An instruction of inlined code counts as the line of the outermost call; Module::inlined has the way there. A .loc
/// inside inline assembly was written by its author and names no line of the program.
void Parser::line_info() {
  const bool counts = !lex_.in_inline_assembly();
  next();
  const auto position = [&] {
    std::array<uint32_t, 3> p;
    for (uint32_t& v : p) v = uint32_t(expect_count("the file, line or column", UINT32_MAX));
    return p;
  };
  const auto line_of = [](const std::array<uint32_t, 3>& p) { return SourceLine{p[0], p[1], p[2]}; };
  const std::array<uint32_t, 3> here = position();
  std::optional<std::array<uint32_t, 3>> call;
  std::string_view function;
  while (accept(',')) {
    const std::string_view what = expect_ident("function_name or inlined_at");
    if (what == "function_name") {
      function = expect_ident("a label");
      if (accept('+')) expect_count("the offset", UINT32_MAX);
    } else if (what == "inlined_at") {
      call = position();
    } else {
      fail(tok_.pos, fmt::format("'{}' in .loc", what), "function_name or inlined_at may follow");
    }
  }
  if (!counts) return;
  inlined_ = -1;
  line_ = line_of(here);
  if (!call) {
    inlined_lines_.erase(here);
    return;
  }
  const auto outer = inlined_lines_.find(*call);
  const bool nested = outer != inlined_lines_.end();
  const auto named = inlined_functions_.try_emplace(function, uint32_t(inlined_functions_.size())).first;
  const InlinedLine line{line_, named->second, line_of(*call), nested ? outer->second.index : -1};
  line_ = nested ? outer->second.outermost : line.call;
  const auto known = inlined_lines_.find(here);
  if (known != inlined_lines_.end() && m_.inlined[size_t(known->second.index)] == line) {
    inlined_ = known->second.index;
    return;
  }
  inlined_ = int32_t(m_.inlined.size());
  inlined_lines_[here] = {inlined_, line_};
  m_.inlined.push_back(line);
}

void Parser::label_statement() {
  const Pos pos = tok_.pos;
  const std::string_view name = tok_.text;
  next();
  expect(':', "the label");
  Scope& s = scopes_.back();
  if (s.labels.contains(name) || s.targets.contains(name) || s.prototypes.contains(name) || s.names.contains(name))
    fail(pos, fmt::format("label '{}' is defined twice in this block", name),
         "rename one of the two, or open a block with { }");
  if (tok_.is(".branchtargets")) {
    next();
    TargetList list;
    list.name = name;
    const uint32_t index = uint32_t(f_->targets.size());
    std::vector<PendingLabel> pending;
    do {
      const Pos at = tok_.pos;
      const std::string_view label = expect_ident("a label");
      pending.push_back({index, uint32_t(list.labels.size()), true, label, at});
      list.labels.push_back(0);
    } while (accept(','));
    if (!tok_.is(';')) unexpected("',' or ';' after a target");
    s.targets.emplace(name, index);
    f_->targets.push_back(std::move(list));
    s.pending.insert(s.pending.end(), pending.begin(), pending.end());
    next();
    return;
  }
  if (tok_.is(".calltargets")) {
    next();
    TargetList list;
    list.name = name;
    do {
      const Pos at = tok_.pos;
      list.functions.emplace_back(expect_ident("a function"));
      if (used_.insert(list.functions.back()).second) uses_.push_back({list.functions.back(), at});
    } while (accept(','));
    s.targets.emplace(name, uint32_t(f_->targets.size()));
    f_->targets.push_back(std::move(list));
    expect(';', "the targets");
    return;
  }
  if (tok_.is(".callprototype")) {
    next();
    Function p;
    p.name = name;
    p.pos = pos;
    if (tok_.is('(')) p.returns = parameter_list(true, p);
    expect_ident("'_'");
    if (tok_.is('(')) p.params = parameter_list(true, p);
    function_directives(p);
    expect(';', "the prototype");
    s.prototypes.insert(name);
    f_->prototypes.push_back(std::move(p));
    return;
  }
  s.labels.emplace(name, uint32_t(f_->labels.size()));
  f_->labels.push_back({std::string(name), uint32_t(f_->body.size())});
}

// --- instructions

/// Up to PTX 3.1 mad.f32 may lack its rounding, which then is .rn; of code for targets before sm_20, where it was no
/// fused operation, a compiler for later ones makes .rn.ftz (PTX ISA, mad). Empty for what says all.
static std::string with_rounding(const Module& m, const std::string& text) {
  if (std::pair(m.version_major, m.version_minor) > std::pair(3, 1)) return {};
  if (text != "mad.f32" && text != "mad.sat.f32" && text != "mad.ftz.f32" && text != "mad.ftz.sat.f32") return {};
  const bool flushes = m.target.starts_with("sm_1") && m.target.size() == 5;
  return std::string(flushes ? "mad.rn.ftz" : "mad.rn") + text.substr(3);
}

const Spelling& Parser::spelling_of(std::string_view written) {
  std::unique_ptr<Spelling>& s = spellings_[written];
  if (!s) {
    s = std::make_unique<Spelling>(cut_spelling(written));
    if (const std::string whole = with_rounding(m_, s->text); !whole.empty()) *s = cut_spelling(whole);
  }
  return *s;
}

/// Source text with white space and comments folded to single spaces.
std::string Parser::one_line(const char* begin, const char* end) const {
  std::string out;
  out.reserve(size_t(end - begin));
  bool space = false;
  for (const char* p = begin; p < end; ++p) {
    if (p[0] == '/' && p + 1 < end && p[1] == '/') {
      while (p < end && *p != '\n') ++p;
      space = true;
    } else if (p[0] == '/' && p + 1 < end && p[1] == '*') {
      p += 2;
      while (p + 1 < end && !(p[0] == '*' && p[1] == '/')) ++p;
      ++p;
      space = true;
    } else if (std::isspace(static_cast<unsigned char>(*p))) {
      space = true;
    } else {
      if (space && !out.empty()) out += ' ';
      space = false;
      out += *p;
    }
  }
  return out;
}

void Parser::instruction() {
  const char* begin = tok_.text.data();
  f_->body.emplace_back();
  // A failed instruction leaves no trace.
  struct Undo {
    std::vector<Instruction>& body;
    std::vector<PendingLabel>& pending;
    size_t pending_size;
    bool armed = true;
    ~Undo() {
      if (!armed) return;
      body.pop_back();
      pending.resize(pending_size, PendingLabel{});
    }
  } undo{f_->body, scopes_.back().pending, scopes_.back().pending.size()};
  Instruction& in = f_->body.back();
  in.pos = tok_.pos;
  in.source = line_;
  in.inlined = inlined_;
  if (accept('@')) {
    if (accept('!')) in.guard_negated = true;
    const Token guard = tok_;
    if (!guard.ident()) unexpected("the guard predicate");
    next();
    const std::optional<Name> n = find_name(guard.text);
    if (!n || n->kind != Name::Kind::reg)
      fail(guard.pos, fmt::format("guard '{}' is not a declared predicate", guard.text), "declare it with .reg .pred");
    if (f_->registers[n->id].type != Type::pred)
      fail(guard.pos, fmt::format("guard '{}' is .{}, not a predicate", guard.text, name_of(f_->registers[n->id].type)),
           "a guard is a .pred register: compare with setp first");
    in.guard = int32_t(n->id);
    in.pos = tok_.pos;
  }
  if (!tok_.ident()) unexpected("an instruction");
  lex_.extend_opcode(tok_);
  if (size_t(std::count(tok_.text.begin(), tok_.text.end(), '.')) > kMostModifiers)
    fail(tok_.pos, fmt::format("an instruction with more than {} modifiers", kMostModifiers));
  const Spelling& s = spelling_of(tok_.text);
  in.opcode = s.opcode;
  in.mods = s.mods;
  in.types = s.types;
  selectors_ = in.traits().subject == Subject::video;  // operands may be parts of registers (PTX ISA 9.7.18)
  next();
  if (in.traits().control == Control::call) {
    call_operands(in);
  } else if (!tok_.is(';')) {
    const bool branch = in.traits().control == Control::branch;
    const bool table = in.traits().control == Control::branch_table;
    in.operands.reserve(4);
    do {
      if (branch && tok_.ident()) {
        scopes_.back().pending.push_back(
            {uint32_t(f_->body.size() - 1), uint32_t(in.operands.size()), false, tok_.text, tok_.pos});
        in.operands.push_back(operand_of(Operand::Kind::label, tok_.pos));
        next();
      } else if (table && in.operands.size() == 1 && tok_.ident()) {
        in.operands.push_back(list_name(ListKind::branch_targets));
      } else {
        in.operands.push_back(operand());
      }
    } while (accept(','));
  }
  if (!tok_.is(';')) unexpected(fmt::format("',' or ';' after an operand of {}", s.text));
  // LLVM writes scalars of these as vectors of one; ptxas takes them so.
  if (in.opcode == Opcode::ld || in.opcode == Opcode::st || in.opcode == Opcode::mov || in.opcode == Opcode::ldu ||
      in.opcode == Opcode::st_async)
    for (Operand& o : in.operands)
      if (o.kind == Operand::Kind::vector && o.elems.size() == 1) {
        Operand element = std::move(o.elems[0]);
        o = std::move(element);
      }
  in.text = one_line(begin, tok_.text.data());
  undo.armed = false;
  if (options_.check_forms)
    checker_->check(*f_, in, s, [&](ParseMessage m) {
      if (!options_.assembled)
        report(std::move(m));
      else if (in.fault.empty())
        in.fault = std::move(m.text);
    });
  if (s.opcode == Opcode::ret)
    store_register_returns(f_->body.size() - 1);
  else if (s.opcode == Opcode::call)
    pass_registers(f_->body.size() - 1);
  next();
}

/// call{.uni} [(returns),] callee [, (arguments)] [, prototype or targets];
void Parser::call_operands(Instruction& in) {
  if (tok_.is('(')) {
    in.operands.push_back(list_operand());
    expect(',', "the returned values");
  }
  if (!tok_.ident()) unexpected("the function to call");
  in.operands.push_back(name_operand());
  if (const Operand::Kind k = in.operands.back().kind; k != Operand::Kind::symbol && k != Operand::Kind::reg)
    fail(in.operands.back().pos, "only a function or a register that holds its address can be called");
  if (accept(',')) {
    if (tok_.is('(')) {
      in.operands.push_back(list_operand());
      if (!accept(',')) return;
    }
    if (!tok_.ident()) unexpected("the call's prototype or targets");
    in.operands.push_back(list_name(ListKind::call));
  }
}

}  // namespace tinygpu::ptx
