// Variables, their initialisers, and function parameters (PTX ISA 5.4, 5.5).
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "common/tinygpu/ptx/parser_impl.h"

namespace tinygpu::ptx {

namespace {

constexpr uint64_t kMostBytes = uint64_t(1) << 40;         // of a variable
constexpr uint64_t kMostParameter = uint64_t(1) << 30;     // of a parameter
constexpr uint64_t kMostInitialBytes = uint64_t(1) << 28;  // of a module's initialisers
constexpr uint64_t kMostAlign = uint64_t(1) << 16;
// What ptxas 13.0 grants, in all: .const variables of a module; an entry's parameters before PTX 8.1 and from then on.
constexpr uint64_t kMostConstantBytes = 65536;
constexpr uint64_t kMostParameterBytesOld = 4352, kMostParameterBytes = 32764;

/// The smallest offset >= at that is a multiple of `unit` past `base`.
uint64_t align_from(uint64_t base, uint64_t at, uint64_t unit) { return base + (at - base + unit - 1) / unit * unit; }

}  // namespace

/// Everything between the space and the name: .align, .attribute, .ptr, .v4, the type — in any order.
Parser::TypeSpec Parser::type_spec(bool parameter) {
  TypeSpec s;
  for (; tok_.directive();) {
    const std::string_view d = tok_.text.substr(1);
    const Pos pos = tok_.pos;
    if (d == "align") {
      next();
      const uint64_t a = expect_count("the alignment", kMostAlign);
      if (!std::has_single_bit(a))
        fail(pos, fmt::format("alignment {} is no power of two", a), "write .align 16, for example");
      // .ptr .align speaks of what the pointer points to.
      if (!s.pointer) s.align = uint32_t(a);
    } else if (d == "attribute") {
      next();
      expect('(', ".attribute");
      do {
        const Pos at = tok_.pos;
        if (!tok_.directive()) unexpected("an attribute");
        const std::string_view name = tok_.text;
        next();
        if (name == ".managed") {
          s.managed = true;
        } else if (name == ".unified") {
          expect('(', ".unified");
          integer_constant("a uuid word");
          expect(',', "the first uuid word");
          integer_constant("a uuid word");
          expect(')', "the uuid");
        } else {
          fail(at, fmt::format("unknown attribute '{}'", name), "attributes are .managed and .unified(a, b)");
        }
      } while (accept(','));
      expect(')', "the attributes");
    } else if (parameter && d == "ptr") {
      s.pointer = true;
      next();
    } else if (parameter && s.pointer &&
               (d == "global" || d == "shared" || d == "local" || d == "const" || d == "param")) {
      next();
    } else if (d == "v2" || d == "v4" || d == "v8") {
      s.lanes = d[1] - '0';
      next();
    } else if (d == "texref" || d == "samplerref" || d == "surfref") {
      s.type = Type::b64;  // opaque handles
      next();
    } else {
      const Type t = type_from_name(d);
      if (t == Type::none)
        fail(pos, fmt::format("'.{}' is no type", d),
             "types are .b8 .b16 .b32 .b64 .b128 .u8….s64 .f16 .f32 .f64 .pred");
      if (s.type != Type::none) fail(pos, fmt::format("a second type '.{}'", d), "a declaration has one type");
      s.type = t;
      next();
    }
  }
  if (s.type == Type::none) unexpected("a type");
  return s;
}

/// [4][8], [] — empty if there is none.
std::vector<uint64_t> Parser::dimensions(bool& unsized) {
  std::vector<uint64_t> dims;
  unsized = false;
  uint64_t total = 1;
  while (tok_.is('[')) {
    const Pos pos = tok_.pos;
    if (dims.size() >= 16) fail(pos, "an array has at most 16 dimensions");
    next();
    if (accept(']')) {
      if (!dims.empty()) fail(pos, "only the first dimension may be left open");
      unsized = true;
      dims.push_back(0);
      continue;
    }
    const uint64_t n = expect_count("the array size", kMostBytes);
    expect(']', "the array size");
    dims.push_back(n);
    if (n != 0 && total > kMostBytes / n) fail(pos, "this array is larger than any memory");
    total *= n ? n : 1;
  }
  return dims;
}

Variable Parser::declarator(const TypeSpec& spec, Space space, Linkage linkage) {
  Variable v;
  v.pos = tok_.pos;
  v.name = expect_ident("a name");
  v.space = space;
  v.type = spec.type;
  v.linkage = linkage;
  v.managed = spec.managed;
  const uint64_t element = uint64_t(std::max(1, size_of(spec.type))) * uint64_t(spec.lanes);
  v.align = spec.align ? spec.align : uint32_t(element);
  const std::vector<uint64_t> dims = dimensions(v.unsized_array);
  uint64_t count = 1;
  for (size_t i = v.unsized_array ? 1 : 0; i < dims.size(); ++i) count *= dims[i];
  if (count > kMostBytes / element) fail(v.pos, fmt::format("'{}' is larger than any memory", v.name));
  v.size = v.unsized_array ? 0 : count * element;
  if (tok_.is('=')) {
    if (space != Space::global && space != Space::constant)
      fail(tok_.pos, fmt::format("'{}' may not have an initialiser", v.name),
           "only .global and .const variables are initialised");
    next();
    initialiser(v, spec, dims);
  }
  return v;
}

void Parser::module_variables(Space space, Linkage linkage) {
  const TypeSpec spec = type_spec(false);
  if (spec.type == Type::pred) fail(tok_.pos, "a variable in memory can't be .pred", "use .b8 and setp");
  do {
    Variable v = declarator(spec, space, linkage);
    if (v.unsized_array && !v.has_init && linkage != Linkage::external)
      fail(v.pos, fmt::format("'{}' has no size", v.name), "give the array a size, or declare it .extern");
    if (linkage != Linkage::external && !defined_.insert(v.name).second)
      fail(v.pos, fmt::format("'{}' is defined twice", v.name), "rename one of the two");
    if (space == Space::constant && linkage != Linkage::external) {
      constant_bytes_ += v.size;
      if (constant_bytes_ > kMostConstantBytes)
        fail(v.pos, fmt::format("the .const variables of this module take more than {} bytes", kMostConstantBytes),
             "put large tables into .global");
    }
    module_names_.insert(v.name);
    m_.variables.push_back(std::move(v));
  } while (accept(','));
  expect(';', "the variable");
}

// --- initialisers ----------------------------------------------------------------------------------------------------

void Parser::initialiser(Variable& v, const TypeSpec& spec, const std::vector<uint64_t>& dims) {
  v.has_init = true;
  InitCursor c{v,
               std::max(1, size_of(spec.type)),
               {},
               v.unsized_array ? kMostInitialBytes : std::min(v.size, kMostInitialBytes)};
  // strides[0] is one item of the outermost list.
  uint64_t stride = uint64_t(c.element);
  if (spec.lanes > 1) {
    c.strides.push_back(stride);
    stride *= uint64_t(spec.lanes);
  }
  for (size_t i = dims.size(); i-- > 0;) {
    c.strides.insert(c.strides.begin(), stride);
    stride *= std::max<uint64_t>(1, dims[i]);
  }
  if (tok_.is('{')) {
    const uint64_t end = init_list(c, 0, 0, 0);
    if (v.unsized_array) v.size = align_from(0, end, c.strides.empty() ? 1 : c.strides[0]);
  } else {
    if (v.unsized_array) unexpected("'{' before the array's values");
    init_value(c, 0);
  }
}

uint64_t Parser::init_list(InitCursor& c, size_t level, uint64_t at, int depth) {
  if (depth > kDeepest) fail(tok_.pos, "braces are nested too deeply");
  expect('{', "=");
  const uint64_t base = at;
  const uint64_t stride = level < c.strides.size() ? c.strides[level] : uint64_t(c.element);
  while (!tok_.is('}')) {
    if (tok_.is('{')) {
      at = align_from(base, at, stride);
      init_list(c, level + 1, at, depth + 1);
      at += stride;
    } else {
      init_value(c, at);
      at += uint64_t(c.element);
    }
    if (!accept(',')) break;
  }
  expect('}', "the values");
  return at;
}

void Parser::init_value(InitCursor& c, uint64_t at) {
  const Pos pos = tok_.pos;
  if (at + uint64_t(c.element) > c.limit)
    fail(pos, fmt::format("'{}' has more values than it has room for", c.v.name), "make the array larger");
  // A symbol's address, or a mask over one: 0xFF00(symbol).
  bool symbol = tok_.ident() && tok_.text != "WARP_SZ";
  int mask = -1;
  if (tok_.kind == Token::Kind::integer) {
    const Token number = tok_;
    const char* p = lex_.position();
    while (*p == ' ' || *p == '\t') ++p;
    if (*p == '(') {
      next();
      next();
      symbol = true;
      mask = std::countr_zero(number.bits) / 8;
      if (number.bits == 0 || number.bits != uint64_t(0xff) << (mask * 8))
        fail(number.pos, fmt::format("{} is no mask", number.text),
             "a mask selects one byte: 0xFF, 0xFF00, … 0xFF00000000000000");
    }
  }
  if (symbol) {
    Initialiser::Reloc r;
    r.offset = at;
    r.size = c.element;
    r.shift_mask = mask;
    init_symbol(c, r, 0);
    if (mask >= 0) expect(')', "the masked address");
    if (mask < 0 && c.element != 8 && c.element != 4)
      fail(pos, fmt::format("an address does not fit in {} bytes", c.element),
           "use .u64, or the mask operators 0xFF(symbol) …");
    c.v.init.relocs.push_back(std::move(r));
    return;
  }
  const Constant k = constant();
  uint64_t bits = k.bits;
  double value = 0;
  if (k.real && k.type == Type::f32) {
    value = double(std::bit_cast<float>(uint32_t(k.bits)));
  } else if (k.real) {
    value = std::bit_cast<double>(k.bits);
  } else {
    value = k.is_unsigned ? double(k.bits) : double(k.as_signed());
  }
  if (c.v.type == Type::f32)
    bits = k.real && k.type == Type::f32 ? k.bits : std::bit_cast<uint32_t>(float(value));
  else if (c.v.type == Type::f64)
    bits = std::bit_cast<uint64_t>(value);
  else if (k.real && k.type == Type::f64 && c.element == 4)
    bits = std::bit_cast<uint32_t>(float(value));
  std::vector<uint8_t>& bytes = c.v.init.bytes;
  if (bits != 0) {
    if (const uint64_t end = at + uint64_t(c.element); bytes.size() < end) {
      initial_bytes_ += end - bytes.size();
      if (initial_bytes_ > kMostInitialBytes)
        fail(pos, fmt::format("the initialisers of this module take more than {} bytes", kMostInitialBytes));
      bytes.resize(end);
    }
    std::memcpy(bytes.data() + at, &bits, std::min<size_t>(size_t(c.element), 8));
  }
}

/// symbol, generic(symbol), either + constant, in parentheses or not.
void Parser::init_symbol(InitCursor& c, Initialiser::Reloc& r, int depth) {
  if (depth > kDeepest) fail(tok_.pos, "parentheses are nested too deeply");
  const Pos pos = tok_.pos;
  if (accept('(')) {
    init_symbol(c, r, depth + 1);
    expect(')', "the address");
  } else {
    const std::string_view name = expect_ident("a symbol");
    if (name == "generic" && tok_.is('(')) {
      next();
      r.generic = true;
      init_symbol(c, r, depth + 1);
      expect(')', "the address");
    } else {
      r.symbol = name;
      if (used_.insert(r.symbol).second) uses_.push_back({r.symbol, pos});
    }
  }
  r.addend = int64_t(uint64_t(r.addend) + uint64_t(address_offset()));
}

// --- parameters ------------------------------------------------------------------------------------------------------

Param Parser::parameter(bool allow_reg, Function& f) {
  Param p;
  const Pos pos = tok_.pos;
  if (accept(".reg")) {
    if (!allow_reg) fail(pos, "a kernel's parameter can't be a register", "write .param");
    p.is_reg = true;
  } else if (!accept(".param")) {
    unexpected("a parameter: .param or .reg");
  }
  const TypeSpec spec = type_spec(true);
  p.type = spec.type;
  p.pointer = spec.pointer;
  const uint64_t element = uint64_t(std::max(1, size_of(spec.type))) * uint64_t(spec.lanes);
  p.align = spec.align ? spec.align : uint32_t(element);
  const Pos name_pos = tok_.pos;
  p.name = expect_ident("the parameter's name");
  bool unsized = false;
  uint64_t count = 1;
  for (uint64_t d : dimensions(unsized)) count *= unsized && d == 0 ? 1 : d;
  if (count > kMostParameter / element) fail(name_pos, "this parameter is too large");
  p.size = unsized ? 0 : count * element;
  if (unsized) f.variadic = true;
  if (p.is_reg) {
    if (size_of(p.type) < 4)
      fail(pos, fmt::format("a parameter of type .{} in a register", name_of(p.type)),
           "registers pass 32 bits or more: write .b32, or .param for the space");
    p.reg = uint32_t(f.registers.size());
    f.registers.push_back({p.name, p.type});
  }
  return p;
}

/// Parameters of a kernel lie in a bank of constant memory.
void Parser::check_parameter_space(const Function& f) {
  const uint64_t most =
      std::pair(m_.version_major, m_.version_minor) < std::pair(8, 1) ? kMostParameterBytesOld : kMostParameterBytes;
  uint64_t bytes = 0;
  for (const Param& p : f.params) {
    bytes = align_from(0, bytes, std::max(1u, p.align)) + p.size;
    if (bytes > most)
      fail(f.pos, fmt::format("the parameters of '{}' take more than {} bytes", f.name, most),
           most == kMostParameterBytesOld ? "write .version 8.1 or later for up to 32764 bytes, or pass a pointer"
                                          : "pass a pointer to global memory");
  }
}

std::vector<Param> Parser::parameter_list(bool allow_reg, Function& f) {
  std::vector<Param> list;
  expect('(', "the name");
  if (!tok_.is(')')) {
    do list.push_back(parameter(allow_reg, f));
    while (accept(','));
  }
  expect(')', "the parameters");
  return list;
}

}  // namespace tinygpu::ptx
