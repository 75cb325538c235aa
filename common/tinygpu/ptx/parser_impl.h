// The parser's inside: one class, its parts in parse_module.cpp, parse_variable.cpp, parse_function.cpp and
// parse_operand.cpp.
#pragma once
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "common/tinygpu/ptx/lexer.h"
#include "common/tinygpu/ptx/parser.h"
#include "common/tinygpu/ptx/spelling.h"

namespace tinygpu::ptx {

namespace forms {
class Checker;
}

inline Operand operand_of(Operand::Kind kind, Pos pos) {
  Operand o;
  o.kind = kind;
  o.pos = pos;
  return o;
}
inline Operand register_operand(uint32_t reg, Pos pos) {
  Operand o = operand_of(Operand::Kind::reg, pos);
  o.reg = reg;
  return o;
}

/// Thrown when the limit of messages is reached.
struct TooManyErrors {};

class Parser {
 public:
  /// `text` is followed by a NUL byte.
  Parser(std::string_view text, const ParseOptions& options);
  ~Parser();
  Module run();

 private:
  static constexpr size_t kMostMessages = 20;
  static constexpr int kDeepest = 200;          // nesting of braces, parentheses and scopes
  static constexpr size_t kMostElements = 256;  // of a vector or an address
  static constexpr size_t kMostModifiers = 64;

  /// One more level of `depth_` while it lives.
  class Depth {
   public:
    Depth(int& depth, Pos pos, const char* too_deep) : depth_(depth) {
      if (++depth_ > kDeepest) fail(pos, too_deep);
    }
    ~Depth() { --depth_; }
    Depth(const Depth&) = delete;

   private:
    int& depth_;
  };

  // Tokens.
  void next() { tok_ = lex_.next(); }
  bool accept(char c);
  bool accept(std::string_view s);
  void expect(char c, std::string_view after);
  std::string_view expect_ident(std::string_view what);
  std::string expect_string(std::string_view what);
  uint64_t expect_count(std::string_view what, uint64_t most);
  [[noreturn]] void unexpected(std::string_view wanted);
  void report(ParseMessage m);
  void report(Pos pos, std::string text, std::string help = {}) { report({pos, std::move(text), std::move(help)}); }

  // parse_module.cpp
  void module_item();
  void version();
  void target();
  void file();
  void section();
  void alias();
  void pragma();
  void skip_at_module_level();
  void check_symbols();

  // parse_variable.cpp
  struct TypeSpec {
    Type type = Type::none;
    int lanes = 1;  // .v2, .v4, .v8
    uint32_t align = 0;
    bool managed = false;
    bool pointer = false;
  };
  TypeSpec type_spec(bool parameter);
  void module_variables(Space space, Linkage linkage);
  Variable declarator(const TypeSpec& spec, Space space, Linkage linkage);
  struct InitCursor {
    Variable& v;
    int element;                    // bytes
    std::vector<uint64_t> strides;  // bytes of one item at each brace level
    uint64_t limit;                 // bytes of the variable, or of the largest initialiser
  };
  void initialiser(Variable& v, const TypeSpec& spec, const std::vector<uint64_t>& dims);
  uint64_t init_list(InitCursor& c, size_t level, uint64_t at, int depth);
  void init_value(InitCursor& c, uint64_t at);
  void init_symbol(InitCursor& c, Initialiser::Reloc& r, int depth);
  std::vector<uint64_t> dimensions(bool& unsized);
  Param parameter(bool allow_reg, Function& f);
  std::vector<Param> parameter_list(bool allow_reg, Function& f);
  void check_parameter_space(const Function& f);

  // parse_function.cpp
  void function(bool entry, Linkage linkage);
  void function_directives(Function& f);
  void body();
  void statement();
  void directive_statement();
  void label_statement();
  void instruction();
  void registers();
  void line_info();
  // register_parameters.cpp
  void load_register_parameters();
  void store_register_returns(size_t before);
  void pass_registers(size_t call);
  void call_operands(Instruction& in);
  const Spelling& spelling_of(std::string_view written);
  std::string one_line(const char* begin, const char* end) const;
  void skip_statement_after_error();

  // Names of a function (parse_function.cpp).
  struct Range {
    Type type;
    uint32_t count, order;     // `order` among the ranges of its block
    uint32_t used;             // registers that have been named
    std::vector<int32_t> ids;  // register ids, -1 until used
    std::unordered_map<uint32_t, uint32_t> sparse;
  };
  struct Name {
    enum class Kind : uint8_t { reg, vector, variable, param };
    Kind kind;
    uint32_t id = 0;  // register id, index of vectors_, or index of Function::locals
  };
  struct PendingLabel {
    uint32_t instruction;  // or index into Function::targets when in_targets
    uint32_t operand;
    bool in_targets;
    std::string_view name;
    Pos pos;
  };
  struct Scope {
    std::unordered_map<std::string_view, Name> names;
    std::unordered_map<std::string_view, Range> ranges;      // by the name before '<'
    std::unordered_map<std::string_view, uint32_t> labels;   // label ids
    std::unordered_map<std::string_view, uint32_t> targets;  // index into Function::targets
    std::unordered_set<std::string_view> prototypes;
    std::vector<PendingLabel> pending;
    Pos open;
  };
  enum class ListKind : uint8_t { branch_targets, call };
  Operand list_name(ListKind kind);
  std::optional<Name> find_name(std::string_view name);
  std::optional<uint32_t> find_in_range(Scope& s, std::string_view name);
  uint32_t register_of(Range& r, uint32_t n, std::string_view name);
  void declare(std::string_view name, Name what, Pos pos);
  uint32_t new_register(std::string_view name, Type type);
  std::string unique_local_name(std::string_view name);
  void open_scope(Pos pos);
  void close_scope();

  // parse_operand.cpp
  Operand operand();
  Operand address_operand();
  Operand vector_operand();
  Operand name_operand();
  Operand name_operand(const Token& t);
  Operand number_operand();
  Operand list_operand();
  struct Constant {
    bool real = false;
    Type type = Type::none;  // of a real
    uint64_t bits = 0;
    bool is_unsigned = false;
    int64_t as_signed() const { return int64_t(bits); }
  };
  Constant constant();  // a constant expression
  Constant constant_ternary();
  Constant constant_binary(int level);
  static Constant apply(std::string_view op, const Constant& a, const Constant& b, Pos pos);
  Constant constant_unary();
  int64_t integer_constant(std::string_view what);
  int64_t address_offset();

  std::string_view text_;
  const ParseOptions& options_;
  Lexer lex_;
  Token tok_;
  Module m_;
  std::vector<ParseMessage> messages_;
  std::unique_ptr<forms::Checker> checker_;
  std::unordered_map<std::string_view, std::unique_ptr<Spelling>> spellings_;
  std::unordered_set<std::string> module_names_;  // variables and functions
  std::unordered_set<std::string> defined_;       // with a definition
  struct Use {
    std::string name;
    Pos pos;
  };
  std::vector<Use> uses_;                                             // symbols to be checked when the module is whole
  std::unordered_set<std::string> used_;                              // names in uses_
  std::unordered_map<std::string_view, std::string> debug_strings_;   // by the label before them
  std::unordered_map<std::string_view, uint32_t> inlined_functions_;  // labels of names → Module::inlined_functions
  bool has_version_ = false, has_target_ = false;
  uint64_t constant_bytes_ = 0, initial_bytes_ = 0;  // of .const variables, of initialisers so far

  // The function being parsed.
  Function* f_ = nullptr;
  std::vector<Scope> scopes_;
  std::vector<std::vector<uint32_t>> vectors_;             // .v2/.v4 registers: their elements
  std::unordered_map<std::string, uint32_t> local_names_;  // and how often each was declared
  SourceLine line_;                                        // of the last .loc: Instruction::source
  int32_t inlined_ = -1;                                   // and Instruction::inlined
  struct Inlined {
    int32_t index;  // of Module::inlined
    SourceLine outermost;
  };
  std::map<std::array<uint32_t, 3>, Inlined> inlined_lines_;  // by file, line and column of inlined code
  int braces_ = 0;                                            // open inside the current statement
  int depth_ = 0;                                             // recursion
  bool selectors_ = false;  // operands may name parts of registers: %r1.b0, -%r2 (video instructions)
};

}  // namespace tinygpu::ptx
