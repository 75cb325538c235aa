#include "web/machine/recorded.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace tinygpu::web {
namespace {

constexpr uint64_t kMostBytes = uint64_t(256) << 20;  // of one region
constexpr uint64_t kGranule = 512;                    // in which addresses are given out

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::vector<uint8_t> data_of(const Json& from, uint64_t bytes) {
  std::vector<uint8_t> data = from_base64(from.value("data", ""));
  if (data.size() > bytes) throw WrongRequest(fmt::format("{} bytes are given for {}", data.size(), bytes));
  data.resize(bytes);
  return data;
}

}  // namespace

std::vector<uint8_t> from_base64(std::string_view text) {
  static const std::array<int8_t, 256> values = [] {
    std::array<int8_t, 256> made;
    made.fill(-1);
    for (size_t i = 0; i < kLetters.size(); ++i) made[uint8_t(kLetters[i])] = int8_t(i);
    return made;
  }();
  std::vector<uint8_t> out;
  out.reserve(text.size() / 4 * 3);
  uint32_t bits = 0, count = 0;
  for (const char c : text.substr(0, text.find('='))) {
    const int8_t v = values[uint8_t(c)];
    if (v < 0) throw WrongRequest("the bytes are no base64");
    bits = bits << 6 | uint32_t(v);
    count += 6;
    if (count >= 8) out.push_back(uint8_t(bits >> (count -= 8)));
  }
  return out;
}

Recorded::Recorded(api::Machine& m, const Json& request) : m_(m) {
  const Json memory = request.value("memory", Json::array());
  for (const Json& r : memory) {
    const uint64_t bytes = r.value("bytes", uint64_t(0));
    if (!bytes || bytes > kMostBytes)
      throw WrongRequest(fmt::format("a region of memory has {} bytes; 1 to {} fit", bytes, kMostBytes));
    const uint64_t address = std::strtoull(r.value("address", "").c_str(), nullptr, 16);
    regions_.push_back({r.value("name", ""), r.value("type", "b32"), address, data_of(r, bytes)});
  }
  std::ranges::sort(regions_, {}, &Region::address);
  // The machine gives out the lowest place that fits: what lies between regions is taken meanwhile.
  std::vector<uint64_t> between;
  uint64_t reached = m.gpu().memory.first_address();
  for (const Region& r : regions_) {
    if (r.address < reached || r.address % kGranule || r.address - reached > kMostBytes)
      throw WrongRequest(fmt::format("no region of memory can lie at {:#x}", r.address));
    if (r.address - reached >= 2 * kGranule) between.push_back(m.memory().allocate(r.address - reached - kGranule));
    const uint64_t got = m.memory().allocate(r.before.size());
    if (got != r.address)
      throw WrongRequest(fmt::format("the region of memory at {:#x} would lie at {:#x}", r.address, got));
    m.memory().write(r.address, r.before);
    reached = r.address + (r.before.size() + kGranule - 1) / kGranule * kGranule + kGranule;
  }
  for (const uint64_t address : between) m.memory().release(address);
}

void Recorded::set_variables(const api::Module& module, const Json& request) {
  for (const Json& v : request.value("variables", Json::array()))
    if (const auto found = module.variable(v.value("name", "")))
      m_.memory().write(found->address, data_of(v, found->size));
}

}  // namespace tinygpu::web
