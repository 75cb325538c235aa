#include "common/tinygpu/ptx/lexer.h"

#include <array>
#include <charconv>
#include <cstring>
#include <tuple>

namespace tinygpu::ptx {

namespace {

enum : uint8_t { kSpace = 1, kStart = 2, kDigit = 4, kWord = 8 };  // kWord: may stand inside a name

constexpr auto kClass = [] {
  std::array<uint8_t, 256> t{};
  for (char c : {' ', '\t', '\r', '\n', '\f', '\v'}) t[uint8_t(c)] = kSpace;
  for (int c = 'a'; c <= 'z'; ++c) t[c] = kStart | kWord;
  for (int c = 'A'; c <= 'Z'; ++c) t[c] = kStart | kWord;
  for (int c = '0'; c <= '9'; ++c) t[c] = kDigit | kWord;
  for (char c : {'_', '$'}) t[uint8_t(c)] = kStart | kWord;
  t[uint8_t('%')] = kStart;
  return t;
}();

bool is_space(char c) { return kClass[uint8_t(c)] & kSpace; }
bool is_start(char c) { return kClass[uint8_t(c)] & kStart; }
bool is_digit(char c) { return kClass[uint8_t(c)] & kDigit; }
bool is_word(char c) { return kClass[uint8_t(c)] & kWord; }

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string printable(char c) {
  static constexpr char digits[] = "0123456789abcdef";
  if (c >= 0x20 && c < 0x7f) return std::string("'") + c + "'";
  return std::string("byte 0x") + digits[uint8_t(c) >> 4] + digits[uint8_t(c) & 15];
}

}  // namespace

void fail(Pos pos, std::string text, std::string help) { throw Failure{{pos, std::move(text), std::move(help)}}; }

void Lexer::skip_space() {
  for (;;) {
    const char c = *p_;
    if (c == '\n') {
      ++p_;
      ++line_;
      line_begin_ = p_;
    } else if (is_space(c)) {
      ++p_;
    } else if (c == '/' && p_[1] == '/') {
      const void* nl = std::memchr(p_, '\n', size_t(end_ - p_));
      const char* comment = p_ + 2;
      p_ = nl ? static_cast<const char*>(nl) : end_;
      const std::string_view text(comment, size_t(p_ - comment));
      if (text.starts_with(" begin inline asm")) inline_assembly_ = true;
      if (text.starts_with(" end inline asm")) inline_assembly_ = false;
    } else if (c == '/' && p_[1] == '*') {
      const Pos start = pos();
      p_ += 2;
      for (;; ++p_) {
        if (p_ >= end_) fail(start, "this comment is never closed", "end it with */");
        if (*p_ == '*' && p_[1] == '/') break;
        if (*p_ == '\n') {
          ++line_;
          line_begin_ = p_ + 1;
        }
      }
      p_ += 2;
    } else {
      return;
    }
  }
}

Token Lexer::number() {
  Token t;
  t.kind = Token::Kind::integer;
  t.pos = pos();
  const char* start = p_;
  const auto done = [&] {
    if (is_word(*p_)) {
      while (is_word(*p_)) ++p_;
      fail(t.pos, "malformed number '" + std::string(start, p_) + "'",
           "numbers are 12, 0x1F, 017, 0b101 (with U for unsigned), 1.5, 0f3F800000 (f32 bits) or 0d followed by 16 "
           "hex digits");
    }
    t.text = {start, size_t(p_ - start)};
    return t;
  };
  const auto suffix = [&] {
    if (*p_ == 'U' || *p_ == 'u') {
      t.is_unsigned = true;
      ++p_;
    }
  };
  if (p_[0] == '0' && (p_[1] == 'f' || p_[1] == 'F' || p_[1] == 'd' || p_[1] == 'D')) {
    const bool f32 = p_[1] == 'f' || p_[1] == 'F';
    p_ += 2;
    int n = 0;
    for (; hex_value(*p_) >= 0; ++p_, ++n) t.bits = t.bits << 4 | uint64_t(hex_value(*p_));
    t.kind = Token::Kind::real;
    t.type = f32 ? Type::f32 : Type::f64;
    if (n != (f32 ? 8 : 16))
      fail(
          t.pos, "a " + std::string(f32 ? "0f" : "0d") + " literal has " + std::to_string(n) + " hex digits",
          f32 ? "write exactly 8 hex digits: the bits of the f32" : "write exactly 16 hex digits: the bits of the f64");
    return done();
  }
  for (const auto& [letter, shift, digits] : {std::tuple('x', 4, "hex"), std::tuple('b', 1, "binary")}) {
    if (p_[0] != '0' || (p_[1] | 0x20) != letter) continue;
    p_ += 2;
    const auto digit = [&] { return hex_value(*p_) < 1 << shift ? hex_value(*p_) : -1; };
    if (digit() < 0)
      fail(t.pos, std::string("0") + letter + " without digits",
           std::string("write ") + digits + " digits after 0" + letter);
    for (; digit() >= 0; ++p_) t.bits = t.bits << shift | uint64_t(digit());
    suffix();
    return done();
  }
  const char* q = p_;
  while (is_digit(*q)) ++q;
  const bool exponent =
      (*q == 'e' || *q == 'E') && (is_digit(q[1]) || ((q[1] == '-' || q[1] == '+') && is_digit(q[2])));
  if (*q == '.' || exponent) {
    double v = 0;
    const auto r = std::from_chars(p_, end_, v);
    if (r.ec == std::errc::invalid_argument) fail(t.pos, "malformed number", "write a decimal such as 1.5");
    p_ = r.ptr;  // out of range: v stays 0, as text like 1e-400 asks for
    t.kind = Token::Kind::real;
    t.type = Type::f64;
    std::memcpy(&t.bits, &v, 8);
    return done();
  }
  const unsigned base = *p_ == '0' ? 8 : 10;
  for (; is_digit(*p_); ++p_) {
    if (base == 8 && *p_ > '7')
      fail(t.pos, "digit '" + std::string(1, *p_) + "' in an octal number", "a leading 0 means octal");
    t.bits = t.bits * base + uint64_t(*p_ - '0');
  }
  suffix();
  return done();
}

Token Lexer::next() {
  skip_space();
  Token t;
  t.pos = pos();
  const char* start = p_;
  const char c = *p_;
  if (is_start(c) && (c != '%' || is_word(p_[1]))) {
    ++p_;
    while (is_word(*p_)) ++p_;
    t.kind = Token::Kind::ident;
    t.text = {start, size_t(p_ - start)};
    return t;
  }
  if (is_digit(c)) return number();
  if (c == '.' && is_start(p_[1])) {
    p_ += 2;
    while (is_word(*p_)) ++p_;
    t.kind = Token::Kind::directive;
    t.text = {start, size_t(p_ - start)};
    return t;
  }
  if (c == '"') {
    ++p_;
    while (p_ < end_ && *p_ != '"' && *p_ != '\n') p_ += (*p_ == '\\' && p_ + 1 < end_ && p_[1] != '\n') ? 2 : 1;
    if (p_ >= end_ || *p_ != '"') fail(t.pos, "this string is never closed", "end it with \" on the same line");
    t.kind = Token::Kind::string;
    t.text = {start + 1, size_t(p_ - start - 1)};
    ++p_;
    return t;
  }
  if (p_ >= end_) {
    t.kind = Token::Kind::end;
    t.text = {start, 0};
    return t;
  }
  static constexpr std::string_view twos[] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "::"};
  t.kind = Token::Kind::punct;
  for (std::string_view two : twos)
    if (p_[0] == two[0] && p_[1] == two[1]) {
      p_ += 2;
      t.text = {start, 2};
      return t;
    }
  static constexpr std::string_view ones = "{}[]()<>,;:=+-*/%!~&|^?@.";
  ++p_;
  if (ones.find(c) == std::string_view::npos)
    fail(t.pos, "unexpected " + printable(c), "PTX text is ASCII names, numbers and operators");
  t.text = {start, 1};
  return t;
}

bool Lexer::colon_follows() {
  skip_space();
  return *p_ == ':' && p_[1] != ':';
}

void Lexer::extend_opcode(Token& t) {
  const char* start = t.text.data();
  for (;;) {
    const char* word_end = p_;
    const char* save_line = line_begin_;
    const uint32_t save = line_;
    skip_space();
    if (p_[0] == '.' && is_word(p_[1]))
      p_ += 1;
    else if (p_ == word_end && p_[0] == ':' && p_[1] == ':' && is_word(p_[2]))
      p_ += 2;
    else {
      p_ = word_end;
      line_begin_ = save_line;
      line_ = save;
      break;
    }
    while (is_word(*p_)) ++p_;
  }
  t.text = {start, size_t(p_ - start)};
}

void Lexer::extend_dotted(Token& t) {
  const char* start = t.text.data();
  if (*p_ == '.' && is_start(p_[1])) {
    ++p_;
    while (is_word(*p_)) ++p_;
    t.text = {start, size_t(p_ - start)};
  }
}

void Lexer::skip_statement(int open) {
  for (;;) {
    const char* before = p_;
    const uint32_t line = line_;
    const char* line_begin = line_begin_;
    Token t;
    try {
      t = next();
    } catch (const Failure&) {  // the lexer has moved past it
      continue;
    }
    if (t.kind == Token::Kind::end) return;
    if (t.is('{')) ++open;
    if (t.is('}')) {
      if (open == 0) {
        p_ = before;
        line_ = line;
        line_begin_ = line_begin;
        return;
      }
      --open;
    }
    if (t.is(';') && open <= 0) return;
  }
}

bool Lexer::skip_block(const std::function<void(const Token&)>& each) {
  for (int depth = 1; depth > 0;) {
    Token t;
    try {
      t = next();
    } catch (const Failure&) {
      if (p_ >= end_) return false;
      continue;
    }
    if (t.kind == Token::Kind::end) return false;
    if (t.is('{')) ++depth;
    if (t.is('}')) --depth;
    if (each) each(t);
  }
  return true;
}

}  // namespace tinygpu::ptx
