// Module scope: directives, and what holds the parser together.
#include <fmt/format.h>

#include <filesystem>

#include "common/tinygpu/ptx/form_check.h"
#include "common/tinygpu/ptx/parser_impl.h"

namespace tinygpu::ptx {

namespace {

constexpr int kNewestMajor = 9, kNewestMinor = 4;
constexpr uint64_t kMostFiles = 1 << 16;

/// The PTX version that brought a target (ptxas 13.0: "PTX .version 8.3 does not support .target sm_100a").
struct TargetAge {
  std::string_view target;
  int major, minor;
};
constexpr TargetAge kTargetAges[] = {{"sm_90", 7, 8},   {"sm_90a", 8, 0},  {"sm_100", 8, 6},  {"sm_100a", 8, 6},
                                     {"sm_100f", 8, 8}, {"sm_101", 8, 6},  {"sm_101a", 8, 6}, {"sm_101f", 8, 8},
                                     {"sm_103", 8, 8},  {"sm_103a", 8, 8}, {"sm_103f", 8, 8}, {"sm_110", 9, 0},
                                     {"sm_110a", 9, 0}, {"sm_110f", 9, 0}, {"sm_120", 8, 7},  {"sm_120a", 8, 7},
                                     {"sm_120f", 8, 8}, {"sm_121", 8, 8},  {"sm_121a", 8, 8}, {"sm_121f", 8, 8}};

}  // namespace

Parser::Parser(std::string_view text, const ParseOptions& options) : text_(text), options_(options), lex_(text) {
  m_.name = options.name;
  checker_ = std::make_unique<forms::Checker>(m_);
}

Parser::~Parser() = default;

// --- tokens ---------------------------------------------------------------------------------------------------------

bool Parser::accept(char c) {
  if (!tok_.is(c)) return false;
  next();
  return true;
}

bool Parser::accept(std::string_view s) {
  if (!tok_.is(s)) return false;
  next();
  return true;
}

void Parser::unexpected(std::string_view wanted) {
  if (tok_.kind == Token::Kind::end) fail(tok_.pos, fmt::format("the text ends where {} should stand", wanted));
  fail(tok_.pos, fmt::format("'{}' where {} should stand", tok_.text, wanted));
}

void Parser::expect(char c, std::string_view after) {
  if (tok_.is(c)) {
    next();
    return;
  }
  unexpected(fmt::format("'{}' after {}", c, after));
}

std::string_view Parser::expect_ident(std::string_view what) {
  if (!tok_.ident()) unexpected(what);
  const std::string_view name = tok_.text;
  next();
  return name;
}

std::string Parser::expect_string(std::string_view what) {
  if (tok_.kind != Token::Kind::string) unexpected(what);
  std::string s(tok_.text);
  next();
  return s;
}

uint64_t Parser::expect_count(std::string_view what, uint64_t most) {
  const Pos pos = tok_.pos;
  const int64_t v = integer_constant(what);
  if (v < 0 || uint64_t(v) > most) fail(pos, fmt::format("{} is {}; it lies in 0..{}", what, v, most));
  return uint64_t(v);
}

void Parser::report(ParseMessage m) {
  messages_.push_back(std::move(m));
  if (messages_.size() >= kMostMessages) throw TooManyErrors{};
}

// --- the module -----------------------------------------------------------------------------------------------------

Module Parser::run() {
  try {
    // Out of line: LLVM 19 to 22, for WebAssembly, loses the handler where a first round is taken out of the loop.
    bool started = false;
    const auto item_or_report = [&]() __attribute__((noinline)) {
      try {
        if (!started) {
          started = true;
          next();
        }
        if (tok_.kind == Token::Kind::end) return false;
        module_item();
      } catch (Failure& f) {
        report(std::move(f.message));
        skip_at_module_level();
      }
      return true;
    };
    while (item_or_report()) {
    }
    if (!has_version_ && messages_.empty())
      report({1, 1}, "the module has no .version", "begin it with .version 9.0 and .target sm_100a");
    if (!has_target_ && messages_.empty())
      report({1, 1}, "the module has no .target", "write .target sm_100a after .version");
    check_symbols();
    m_.inlined_functions.resize(inlined_functions_.size());
    for (const auto& [label, index] : inlined_functions_) m_.inlined_functions[index] = debug_strings_[label];
    if (options_.check_forms && !options_.assembled) checker_->finish([this](ParseMessage m) { report(std::move(m)); });
  } catch (const TooManyErrors&) {
  }
  if (!messages_.empty()) throw ParseError(m_.name, std::move(messages_));
  return std::move(m_);
}

void Parser::skip_at_module_level() {
  // To the end of a directive, or past a function's whole body.
  f_ = nullptr;
  scopes_.clear();
  depth_ = 0;
  for (;;) {
    try {
      if (tok_.kind == Token::Kind::end) return;
      if (tok_.is(';')) {
        next();
        return;
      }
      if (tok_.is('{')) {
        lex_.skip_block();
        next();
        return;
      }
      next();
      // A new item: no statement was ever ended here.
      if (tok_.directive() && (tok_.text == ".visible" || tok_.text == ".entry" || tok_.text == ".func" ||
                               tok_.text == ".extern" || tok_.text == ".weak" || tok_.text == ".target"))
        return;
    } catch (const Failure&) {
    }
  }
}

void Parser::module_item() {
  if (tok_.is(';')) {
    next();
    return;
  }
  if (tok_.is('@')) {  // @@DWARF lines of PTX before 2.0
    const uint32_t line = tok_.pos.line;
    while (tok_.kind != Token::Kind::end && tok_.pos.line == line) next();
    return;
  }
  if (!tok_.directive()) unexpected("a module directive such as .version, .global, .entry or .func");
  const std::string_view d = tok_.text;
  if (d == ".version") return version();
  if (d == ".target") return target();
  if (!has_version_ || !has_target_)
    fail(tok_.pos, fmt::format("'{}' before .version and .target", d), "begin the module with .version and .target");
  if (d == ".address_size") {
    next();
    const Pos pos = tok_.pos;
    const int64_t bits = integer_constant("the address size");
    if (bits != 64 && bits != 32) fail(pos, "the address size is 32 or 64");
    if (bits == 32) fail(pos, ".address_size 32 is not supported on this target", "write .address_size 64");
    m_.address_size = int(bits);
    return;
  }
  if (d == ".file") return file();
  if (d == ".section") return section();
  if (d == ".alias") return alias();
  if (d == ".loc") return line_info();
  if (d == ".pragma") return pragma();
  Linkage linkage = Linkage::internal;
  for (;; next()) {
    if (tok_.is(".visible"))
      linkage = Linkage::visible;
    else if (tok_.is(".extern"))
      linkage = Linkage::external;
    else if (tok_.is(".weak"))
      linkage = Linkage::weak;
    else if (tok_.is(".common"))
      linkage = Linkage::common;
    else
      break;
  }
  if (accept(".entry")) return function(true, linkage);
  if (accept(".func")) return function(false, linkage);
  if (accept(".global")) return module_variables(Space::global, linkage);
  if (accept(".const")) return module_variables(Space::constant, linkage);
  if (accept(".shared")) return module_variables(Space::shared, linkage);
  if (accept(".local")) return module_variables(Space::local, linkage);
  if (tok_.directive())
    fail(
        tok_.pos, fmt::format("unknown directive '{}'", tok_.text),
        "at module scope stand .version .target .address_size .file .section .pragma .alias, variables (.global .const "
        ".shared) and functions (.entry .func)");
  unexpected("a directive");
}

void Parser::version() {
  next();
  const Pos pos = tok_.pos;
  if (tok_.kind != Token::Kind::real) unexpected("a version number such as 9.0");
  const std::string_view t = tok_.text;
  const size_t dot = t.find('.');
  const auto digits = [&](std::string_view s) {
    if (s.empty() || s.size() > 3 || s.find_first_not_of("0123456789") != std::string_view::npos)
      fail(pos, fmt::format("'{}' is no version", t), "write .version 9.0");
    return std::stoi(std::string(s));
  };
  m_.version_major = digits(t.substr(0, dot));
  m_.version_minor = digits(dot == std::string_view::npos ? "" : t.substr(dot + 1));
  if (m_.version_major > kNewestMajor || (m_.version_major == kNewestMajor && m_.version_minor > kNewestMinor))
    fail(pos, fmt::format("PTX version {} is newer than {}.{}", t, kNewestMajor, kNewestMinor),
         "use a version up to 9.4");
  has_version_ = true;
  next();
}

void Parser::target() {
  if (!has_version_) fail(tok_.pos, "'.target' before .version", "begin the module with .version and .target");
  do {
    next();
    const Pos pos = tok_.pos;
    const std::string_view name = expect_ident("a target such as sm_100a");
    if (name.starts_with("sm_")) {
      std::string_view number = name.substr(3);
      if (!number.empty() && (number.back() == 'a' || number.back() == 'f')) number.remove_suffix(1);
      if (number.empty() || number.find_first_not_of("0123456789") != std::string_view::npos)
        fail(pos, fmt::format("unknown target '{}'", name), "targets look like sm_90a, sm_100a, sm_100f");
      for (const TargetAge& t : kTargetAges)
        if (t.target == name && std::pair(m_.version_major, m_.version_minor) < std::pair(t.major, t.minor))
          fail(pos, fmt::format("PTX {}.{} does not know the target {}", m_.version_major, m_.version_minor, name),
               fmt::format("write .version {}.{} or later", t.major, t.minor));
      m_.target = name;
      has_target_ = true;
    } else if (name == "texmode_unified" || name == "texmode_independent" || name == "debug" ||
               name == "map_f64_to_f32") {
      m_.target_options.emplace_back(name);
    } else {
      fail(pos, fmt::format("unknown target '{}'", name), "targets look like sm_90a, sm_100a, sm_100f");
    }
  } while (tok_.is(','));
}

void Parser::file() {
  next();
  const uint64_t index = expect_count("the file number", kMostFiles);
  const std::string name = expect_string("a file name");
  while (accept(',')) expect_count("the time stamp or size", INT64_MAX);
  if (m_.files.size() <= index) m_.files.resize(index + 1);
  // A compiler cache may have made the path relative to the build folder, up and down again.
  m_.files[index] = std::filesystem::path(name).lexically_normal().string();
}

void Parser::section() {
  const Pos pos = tok_.pos;
  next();
  if (!tok_.directive() && !tok_.ident()) unexpected("a section name such as .debug_info");
  const bool strings = tok_.is(".debug_str");
  next();
  if (!tok_.is('{')) unexpected("'{' after the section's name");
  // .debug_str: a label before each string, then its bytes, the last of them 0.
  std::string* string = nullptr;
  Token before;
  const bool closed = lex_.skip_block([&](const Token& t) {
    if (!strings) return;
    if (t.is(':')) string = &debug_strings_[before.text];
    if (t.kind == Token::Kind::integer && !t.bits) string = nullptr;
    if (t.kind == Token::Kind::integer && string) *string += char(t.bits);
    before = t;
  });
  if (!closed) fail(pos, "this section is never closed", "end it with }");
  next();
}

void Parser::pragma() {
  next();
  expect_string("a string");
  while (accept(',')) expect_string("a string");
  expect(';', "the pragma");
}

void Parser::alias() {
  next();
  std::string name(expect_ident("the alias"));
  expect(',', "the alias");
  const Pos pos = tok_.pos;
  std::string of(expect_ident("a function"));
  expect(';', "the alias");
  if (used_.insert(of).second) uses_.push_back({of, pos});
  module_names_.insert(name);
  m_.aliases.emplace_back(std::move(name), std::move(of));
}

void Parser::check_symbols() {
  for (const Use& u : uses_)
    if (!module_names_.contains(u.name))
      report(u.pos, fmt::format("unknown symbol '{}'", u.name),
             "declare it before use: a register, a variable, a label or a function");
}

}  // namespace tinygpu::ptx
