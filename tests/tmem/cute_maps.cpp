#include "tests/tmem/cute_maps.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace tinygpu::test {
namespace {

std::vector<CuteMap> read() {
  std::ifstream in(GEN5_CUTE_MAPS);
  if (!in) throw std::runtime_error("cannot read " GEN5_CUTE_MAPS);
  std::vector<CuteMap> maps;
  std::string line;
  while (std::getline(in, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    CuteMap m;
    std::string num, pack, word;
    words >> m.shape >> num >> pack >> m.registers;
    m.num = uint32_t(std::stoul(num.substr(1)));
    m.pack = pack == "pack";
    while (words >> word) {
      if (word[0] == '#') {
        m.hash = std::stoull(word.substr(1), nullptr, 16);
      } else {
        const size_t colon = word.find(':');
        m.listed.push_back({uint32_t(std::stoul(word.substr(0, colon))), uint32_t(std::stoul(word.substr(colon + 1)))});
      }
    }
    m.literal = !m.listed.empty();
    if (m.literal && m.listed.size() != m.registers * 32) throw std::runtime_error("short line: " + m.suffix());
    maps.push_back(std::move(m));
  }
  for (CuteMap& m : maps)
    for (const CuteMap& o : maps)
      if (o.shape == m.shape && o.pack == m.pack && o.num == 4) m.x4 = &o;
  for (CuteMap& m : maps)
    for (uint32_t r = 0; r < m.registers; ++r)
      for (uint32_t t = 0; t < 32; ++t) m.columns = std::max(m.columns, m.cell(t, r).column + (m.pack ? 2 : 1));
  return maps;
}

}  // namespace

MapCell CuteMap::cell(uint32_t t, uint32_t r) const {
  const CuteMap& from = literal ? *this : *x4;
  const uint32_t repeat = r / from.registers;
  MapCell c = from.listed[(r % from.registers) * 32 + t];
  if (split() && t >= 16) c.column -= from.table_offset();
  if (repeat) {
    uint32_t width = 0;  // columns of the repeated form
    for (uint32_t i = 0; i < from.listed.size(); ++i) {
      const uint32_t half = split() && i % 32 >= 16 ? from.table_offset() : 0;
      width = std::max(width, from.listed[i].column - half + (pack ? 2 : 1));
    }
    c.column += repeat * width;
  }
  return c;
}

const std::vector<CuteMap>& cute_maps() {
  static const std::vector<CuteMap> maps = read();
  return maps;
}

const CuteMap& cute_map(const std::string& shape, uint32_t num, bool pack) {
  for (const CuteMap& m : cute_maps())
    if (m.shape == shape && m.num == num && m.pack == pack) return m;
  throw std::runtime_error("no form " + shape + ".x" + std::to_string(num));
}

uint64_t hash_of(const CuteMap& m) {
  uint64_t h = 1469598103934665603ull;
  for (uint32_t r = 0; r < m.registers; ++r)
    for (uint32_t t = 0; t < 32; ++t) {
      MapCell c = m.cell(t, r);
      if (m.split() && t >= 16) c.column += m.table_offset();
      const uint32_t v = c.lane << 9 | c.column;
      for (uint32_t byte : {v & 255, v >> 8}) h = (h ^ byte) * 1099511628211ull;
    }
  return h;
}

}  // namespace tinygpu::test
