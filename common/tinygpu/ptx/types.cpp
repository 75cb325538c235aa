#include "common/tinygpu/ptx/types.h"

#include <array>
#include <unordered_map>

namespace tinygpu::ptx {

namespace {

struct Row {
  std::string_view name;
  int8_t size;
  bool is_float;
};

// In the order of enum Type.
constexpr auto kRows = std::to_array<Row>({
    {"", 0, false},        {"pred", 0, false},   {"b8", 1, false},      {"b16", 2, false},    {"b32", 4, false},
    {"b64", 8, false},     {"b128", 16, false},  {"b1024", 127, false},  // 128 does not fit; size_of() mends it
    {"u8", 1, false},      {"u16", 2, false},    {"u32", 4, false},     {"u64", 8, false},    {"s8", 1, false},
    {"s16", 2, false},     {"s32", 4, false},    {"s64", 8, false},     {"f16", 2, true},     {"f16x2", 4, true},
    {"bf16", 2, true},     {"bf16x2", 4, true},  {"tf32", 4, true},     {"f32", 4, true},     {"f32x2", 8, true},
    {"f64", 8, true},      {"u16x2", 4, false},  {"s16x2", 4, false},   {"e4m3", 1, false},   {"e5m2", 1, false},
    {"e4m3x2", 2, false},  {"e5m2x2", 2, false}, {"e2m3x2", 2, false},  {"e3m2x2", 2, false}, {"e2m1x2", 1, false},
    {"ue8m0x2", 2, false}, {"e4m3x4", 4, false}, {"e5m2x4", 4, false},  {"e2m3x4", 4, false}, {"e3m2x4", 4, false},
    {"e2m1x4", 2, false},  {"b1", 1, false},     {"u4", 1, false},      {"s4", 1, false},     {"e2m3", 1, false},
    {"e3m2", 1, false},    {"e2m1", 1, false},   {"ue8m0", 1, false},   {"ue4m3", 1, false},  {"s2f6x2", 2, false},
});
static_assert(kRows.size() == size_t(Type::s2f6x2) + 1);

}  // namespace

Type type_from_name(std::string_view name) {
  static const auto map = [] {
    std::unordered_map<std::string_view, Type> m;
    for (size_t i = 1; i < kRows.size(); ++i) m.emplace(kRows[i].name, Type(i));
    return m;
  }();
  const auto it = map.find(name);
  return it == map.end() ? Type::none : it->second;
}

std::string_view name_of(Type t) { return kRows[size_t(t)].name; }

int size_of(Type t) { return t == Type::b1024 ? 128 : kRows[size_t(t)].size; }

bool is_float(Type t) { return kRows[size_t(t)].is_float; }

}  // namespace tinygpu::ptx
