// Characters → tokens. One token is looked at a time; opcodes, whose modifiers may start with a digit, have a scan of
// their own.
#pragma once
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "common/tinygpu/ptx/module.h"
#include "common/tinygpu/ptx/parser.h"

namespace tinygpu::ptx {

struct Token {
  enum class Kind : uint8_t {
    end,
    ident,      // name, %name, $name, _
    directive,  // .name
    integer,    // bits; `is_unsigned` for the U suffix
    real,       // bits, with type f32 or f64
    string,     // text without the quotes
    punct,      // one or two characters
  };
  Kind kind = Kind::end;
  Type type = Type::none;
  bool is_unsigned = false;
  std::string_view text;
  uint64_t bits = 0;
  Pos pos;

  bool is(char c) const { return kind == Kind::punct && text.size() == 1 && text[0] == c; }
  bool is(std::string_view s) const { return (kind == Kind::punct || kind == Kind::directive) && text == s; }
  bool ident() const { return kind == Kind::ident; }
  bool directive() const { return kind == Kind::directive; }
};

/// A parse that cannot go on at this statement. Caught where the parser resumes.
struct Failure {
  ParseMessage message;
};
[[noreturn]] void fail(Pos pos, std::string text, std::string help = {});

class Lexer {
 public:
  /// `text` must be followed by a NUL byte at text.data()[text.size()].
  explicit Lexer(std::string_view text) : p_(text.data()), end_(text.data() + text.size()), line_begin_(text.data()) {}

  /// The next token. Throws Failure, having moved past the offending character.
  Token next();
  /// True if the next token is a single ':' (not "::"); nothing is consumed.
  bool colon_follows();
  /// Extends `t`, the identifier just read, over ".mod" and "::mod" parts, across white space: an opcode's spelling.
  void extend_opcode(Token& t);
  /// Extends `t`, the identifier just read, over a directly following ".x" part (special registers, vector elements).
  void extend_dotted(Token& t);
  /// Resumes after an error: moves past the next ';' at this depth, or up to the '}' that closes the block around it.
  /// `open` braces are already open inside the statement.
  void skip_statement(int open);
  /// Moves past the '}' that matches a '{' just read, shows each token before it; false at the end of the text.
  bool skip_block(const std::function<void(const Token&)>& each = {});
  /// True if the token read last lies between the comments that compilers write around inline assembly.
  bool in_inline_assembly() const { return inline_assembly_; }
  const char* position() const { return p_; }
  Pos pos() const { return {line_, uint32_t(p_ - line_begin_) + 1}; }

 private:
  void skip_space();
  Token number();

  const char* p_;
  const char* end_;
  const char* line_begin_;
  uint32_t line_ = 1;
  bool inline_assembly_ = false;
};

}  // namespace tinygpu::ptx
