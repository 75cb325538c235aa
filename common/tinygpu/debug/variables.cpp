#include "common/tinygpu/debug/variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>

#include "common/tinygpu/debug/module_files.h"
#include "common/tinygpu/debug/print.h"

namespace tinygpu::debug {
namespace {

using Kind = SourceType::Kind;
constexpr uint64_t kMostRead = 1024;  // bytes of one variable in one text
constexpr uint64_t kMostElements = 1000, kElementsInText = 16;

const char* text_of(SourceVariable::Where where) {
  switch (where) {
    case SourceVariable::Where::not_yet: return "the function has not stored this parameter yet";
    case SourceVariable::Where::unreadable: return "where it is is described in a way that is not understood here";
    default: return "optimised out";
  }
}

std::string bytes_of_hex(const std::string& hex) {
  std::string out;
  for (size_t at = 0; at + 1 < hex.size(); at += 2) {
    uint8_t byte = 0;
    std::from_chars(hex.data() + at, hex.data() + at + 2, byte, 16);
    out += char(byte);
  }
  return out;
}

uint64_t word_of(std::string_view bytes) {
  uint64_t out = 0;
  std::memcpy(&out, bytes.data(), std::min(bytes.size(), sizeof(out)));
  return out;
}

int64_t signed_word_of(std::string_view bytes) {
  const int unused = 64 - 8 * int(std::min<size_t>(bytes.size(), 8));
  return int64_t(word_of(bytes) << unused) >> unused;
}

std::string text_of_number(const SourceType& t, std::string_view bytes, const std::string& format) {
  if (bytes.size() > 8) return fmt::format("a value of {} bytes", bytes.size());
  const uint64_t bits = word_of(bytes);
  if (!format.empty()) return formatted(bits, format);
  switch (t.kind) {
    case Kind::boolean: return bits > 1 ? fmt::format("true ({:#x})", bits) : bits ? "true" : "false";
    case Kind::character:
      return std::isprint(int(bits)) ? fmt::format("{} '{}'", signed_word_of(bytes), char(bits))
                                     : fmt::format("{}", signed_word_of(bytes));
    case Kind::signed_integer: return fmt::format("{}", signed_word_of(bytes));
    case Kind::real:
      return bytes.size() == 8 ? fmt::format("{}", std::bit_cast<double>(bits))
                               : fmt::format("{}", std::bit_cast<float>(uint32_t(bits)));
    case Kind::pointer: return fmt::format("{:#x}", bits);
    case Kind::enumeration: {
      const auto named = t.enumerators.find(signed_word_of(bytes));
      const auto as_unsigned = t.enumerators.find(int64_t(bits));
      if (named != t.enumerators.end()) return named->second;
      if (as_unsigned != t.enumerators.end()) return as_unsigned->second;
      return fmt::format("{}", bits);
    }
    default: return fmt::format("{}", bits);
  }
}

/// Bytes may end before the type does: what is missing is "…".
std::string text_of_value(const SourceType* t, std::string_view bytes, const std::string& format) {
  if (!t || t->kind == Kind::unknown) return fmt::format("a value of the type {}", t ? t->name : "?");
  if (t->kind != Kind::record && t->kind != Kind::array)
    return bytes.size() < t->size ? "…" : text_of_number(*t, bytes.substr(0, t->size), format);
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  if (t->kind == Kind::record) {
    for (const SourceType::Member& m : t->members) {
      const std::string_view part = bytes.substr(std::min<uint64_t>(m.offset, bytes.size()));
      const std::string value = m.bit_field ? "a bit field" : text_of_value(m.type, part, format);
      add(m.name.empty() ? value : m.name + " = " + value);
    }
  } else {
    const uint64_t size = t->target ? t->target->size : 0, shown = std::min(t->count, kElementsInText);
    for (uint64_t k = 0; size && k < shown; ++k)
      add(text_of_value(t->target, bytes.substr(std::min(k * size, bytes.size())), format));
    if (shown < t->count || !size) add("…");
  }
  return "{" + out + "}";
}

}  // namespace

bool Variables::Object::scalar() const { return type && type->kind != Kind::record && type->kind != Kind::array; }

bool Variables::Object::has_parts() const {
  if (!type || !missing.empty() || bit_field) return false;
  if (type->kind == Kind::pointer) return type->target && type->target->size;
  return (type->kind == Kind::record && !type->members.empty()) || (type->kind == Kind::array && type->count);
}

bool Variables::Values::uniform() const {
  for (int lane = 0; lane < 32; ++lane)
    if (lanes >> lane & 1 && text[size_t(lane)] != text[size_t(first())]) return false;
  return true;
}

SourceVariables& Variables::module_of(const Json& frame) {
  if (!kReadsVariables)
    throw NoVariables("this gen5 was built without elfutils' libdw, which reads variables of the source");
  for (const std::string& file : kept_modules(socket_)) {
    auto& module = modules_[file];
    if (!module) {
      std::ifstream in(file, std::ios::binary);
      module = std::make_unique<SourceVariables>(std::string(std::istreambuf_iterator<char>(in), {}));
    }
    if (module->is_of(frame.value("in", ""), frame.value("ptx_line", 0), frame.value("ptx", ""))) return *module;
  }
  throw NoVariables("this code was compiled without -G: of -lineinfo there are lines, and no variables");
}

std::vector<Variables::Object> Variables::at(const Json& frame) {
  std::vector<Object> out;
  for (const SourceVariable& v : module_of(frame).at(frame.value("ptx_line", 0))) {
    Object o;
    o.name = o.path = v.name;
    o.type = v.type;
    o.depth = v.depth;
    o.call = frame.value("call", size_t(0));
    if (v.where == SourceVariable::Where::in_register)
      o.item = {{"register", v.register_name}};
    else if (v.where == SourceVariable::Where::in_memory)
      o.item = {{"space", v.space}, {"symbol", v.symbol}, {"offset", v.offset}};
    else
      o.missing = text_of(v.where);
    out.push_back(std::move(o));
  }
  return out;
}

Variables::Object Variables::part(const Object& of, std::string name, std::string path, const SourceType* type,
                                  uint64_t offset) const {
  Object o = of;
  o.name = std::move(name);
  o.path = std::move(path);
  o.type = type;
  if (o.item.contains("register"))
    o.skip += offset;
  else if (o.item.contains("symbol"))
    o.item["offset"] = o.item["offset"].get<uint64_t>() + offset;
  else if (o.item.contains("addresses"))
    for (Json& address : o.item["addresses"])
      if (!address.is_null()) address = address.get<uint64_t>() + offset;
  return o;
}

Variables::Object Variables::element(const Object& of, uint64_t index) {
  // "a[3]", "(*p)[3]"
  const std::string owner = of.path.starts_with("*") ? "(" + of.path + ")" : of.path;
  return part(of, fmt::format("[{}]", index), fmt::format("{}[{}]", owner, index), of.type->target,
              index * of.type->target->size);
}

Variables::Object Variables::member(const Object& of, std::string_view name) {
  for (const SourceType::Member& m : of.type->members)
    if (m.name == name) {
      const std::string owner = of.path.starts_with("*") ? of.path.substr(1) + "->" : of.path + ".";
      Object o = part(of, m.name, owner + m.name, m.type, m.offset);
      o.bit_field = m.bit_field;
      return o;
    }
  throw std::runtime_error(fmt::format("{} has no member {}", of.type_name(), name));
}

Variables::Object Variables::target(const Object& pointer, uint64_t index) {
  Object o = pointer;
  o.name = index ? fmt::format("[{}]", index) : "*";
  o.path = index ? fmt::format("{}[{}]", pointer.path, index) : "*" + pointer.path;
  o.type = pointer.type->target;
  o.skip = 0;
  Json item = pointer.item;
  item["size"] = 8;
  const Json answer =
      ask_({{"view", "variables"}, {"call", pointer.call}, {"items", Json::array({item})}}).at("items").at(0);
  if (answer.contains("missing")) {
    o.missing = answer["missing"];
    return o;
  }
  Json addresses = Json::array();
  for (const Json& bytes : answer.at("bytes")) {
    const std::string all = bytes.is_null() ? std::string() : bytes_of_hex(bytes);
    addresses.push_back(all.size() < pointer.skip + 8
                            ? Json(nullptr)
                            : Json(word_of(std::string_view(all).substr(pointer.skip)) + index * o.type->size));
  }
  o.item = {{"addresses", addresses}};
  return o;
}

std::vector<Variables::Object> Variables::parts(const Object& of) {
  std::vector<Object> out;
  if (!of.has_parts()) return out;
  if (of.type->kind == Kind::pointer) return {target(of, 0)};
  if (of.type->kind == Kind::record) {
    for (const SourceType::Member& m : of.type->members) out.push_back(member(of, m.name));
  } else if (of.type->target && of.type->target->size) {
    for (uint64_t k = 0; k < std::min(of.type->count, kMostElements); ++k) out.push_back(element(of, k));
  }
  return out;
}

Variables::Object Variables::find(const Json& frame, std::string_view expression) {
  std::string_view rest = expression;
  const auto refuse = [&](const std::string& sentence) { throw std::runtime_error(sentence); };
  size_t stars = 0;
  while (rest.starts_with("*")) rest.remove_prefix(1), ++stars;
  const auto word = [&] {
    size_t end = 0;
    while (end < rest.size() && (std::isalnum(static_cast<unsigned char>(rest[end])) || rest[end] == '_')) ++end;
    if (!end) refuse(fmt::format("{} is no variable, nor a part of one: write a, a.b, a->b, a[3] or *a", expression));
    const std::string out(rest.substr(0, end));
    rest.remove_prefix(end);
    return out;
  };
  const std::string name = word();
  const std::vector<Object> all = at(frame);
  const auto found = std::find_if(all.rbegin(), all.rend(), [&](const Object& o) { return o.name == name; });
  if (found == all.rend())
    refuse(fmt::format("there is no variable {} here: `locals` lists those that there are", name));
  Object o = *found;
  const auto needs = [&](Kind kind, const char* what) {
    if (!o.type || o.type->kind != kind) refuse(fmt::format("{} is no {}", o.path, what));
    if (!o.missing.empty()) refuse(fmt::format("{} has no value here: {}", o.path, o.missing));
  };
  const auto needs_target = [&] {
    needs(Kind::pointer, "pointer");
    if (!o.has_parts()) refuse(fmt::format("{} points to nothing whose type is known", o.path));
  };
  while (!rest.empty()) {
    if (rest.starts_with("->")) {
      needs_target();
      o = target(o, 0);
      rest.remove_prefix(2);
      needs(Kind::record, "struct");
      o = member(o, word());
    } else if (rest.starts_with(".")) {
      needs(Kind::record, "struct");
      rest.remove_prefix(1);
      o = member(o, word());
    } else if (rest.starts_with("[")) {
      uint64_t index = 0;
      const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), index);
      if (error != std::errc() || end == rest.data() + rest.size() || *end != ']')
        refuse(fmt::format("{}: an index is a number in brackets", expression));
      rest.remove_prefix(size_t(end - rest.data()) + 1);
      if (o.type && o.type->kind == Kind::pointer) {
        needs_target();
        o = target(o, index);
      } else {
        needs(Kind::array, "array");
        if (index >= o.type->count) refuse(fmt::format("{} has {} elements", o.path, o.type->count));
        o = element(o, index);
      }
    } else {
      refuse(fmt::format("{} is no variable, nor a part of one: write a, a.b, a->b, a[3] or *a", expression));
    }
  }
  for (; stars; --stars) {
    needs_target();
    o = target(o, 0);
  }
  return o;
}

std::vector<Variables::Values> Variables::read(const std::vector<Object>& objects, const std::string& format) {
  std::vector<Values> out(objects.size());
  std::map<size_t, std::vector<size_t>> by_call;
  for (size_t k = 0; k < objects.size(); ++k) {
    const Object& o = objects[k];
    if (!o.missing.empty())
      out[k].missing = o.missing;
    else if (!o.type || !o.type->size || o.bit_field)
      out[k].missing = o.bit_field ? "bit fields are not taken apart here" : "its type is not known";
    else
      by_call[o.call].push_back(k);
  }
  for (const auto& [call, wanted] : by_call) {
    Json items = Json::array();
    for (const size_t k : wanted) {
      items.push_back(objects[k].item);
      items.back()["size"] = std::min(objects[k].type->size, kMostRead);
    }
    const Json answer = ask_({{"view", "variables"}, {"call", call}, {"items", items}});
    const uint32_t lanes = answer.at("lanes");
    for (size_t n = 0; n < wanted.size(); ++n) {
      const Object& o = objects[wanted[n]];
      Values& values = out[wanted[n]];
      const Json& item = answer.at("items").at(n);
      if (item.contains("missing")) {
        values.missing = o.item.contains("register")
                             ? fmt::format("optimised out: {}", item["missing"].get<std::string>())
                             : item["missing"].get<std::string>();
        continue;
      }
      for (uint32_t lane = 0; lane < 32; ++lane) {
        const Json& bytes = item.at("bytes").at(lane);
        if (!(lanes >> lane & 1) || bytes.is_null()) continue;
        const std::string all = bytes_of_hex(bytes);
        if (o.skip >= all.size()) continue;
        values.lanes |= 1u << lane;
        values.text[lane] = text_of_value(o.type, std::string_view(all).substr(o.skip), format);
      }
      if (!values.lanes) values.missing = "there is no memory at its address";
    }
  }
  return out;
}

std::string text_in_focus(const Variables::Values& values, int lane) {
  if (!values.missing.empty()) return fmt::format("<{}>", values.missing.substr(0, values.missing.find(':')));
  if (lane >= 0) return values.lanes >> lane & 1 ? values.text[size_t(lane)] : fmt::format("<none in lane {}>", lane);
  if (values.uniform()) return values.text[size_t(values.first())];
  constexpr int kShown = 4;
  std::string out;
  int shown = 0;
  for (uint32_t rest = values.lanes; rest && shown < kShown; rest &= rest - 1, ++shown)
    out += (out.empty() ? "" : ", ") + values.text[size_t(__builtin_ctz(rest))];
  return out + (__builtin_popcount(values.lanes) > kShown ? ", … by lane" : " by lane");
}

}  // namespace tinygpu::debug
