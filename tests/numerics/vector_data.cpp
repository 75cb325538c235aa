#include "tests/numerics/vector_data.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/zstd_file.h"

namespace gen5::test {
namespace {

const std::string kData = std::string(GEN5_SOURCE_DIR) + "/tests/numerics/data/";

std::vector<uint32_t> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<uint32_t> out;
  for (std::string w; in >> w;) out.push_back(uint32_t(std::stoul(w, nullptr, 16)));
  return out;
}

uint32_t hex(const nlohmann::json& j) { return uint32_t(std::stoul(j.get<std::string>(), nullptr, 16)); }

std::vector<uint32_t> hexes(const nlohmann::json& j, const char* key) {
  std::vector<uint32_t> out;
  if (j.contains(key))
    for (const auto& v : j.at(key)) out.push_back(hex(v));
  return out;
}

}  // namespace

std::vector<Row> published_rows(const std::string& machine, const std::string& format, const std::string& result) {
  static const std::string text = read_packed(kData + "vectors.txt.zst");
  std::istringstream in(text);
  const std::string wanted = machine + " " + format + " " + result + " ";
  std::vector<Row> out;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(wanted)) continue;
    std::istringstream fields(line);
    std::string field[5];
    for (auto& f : field) std::getline(fields, f, '|');
    out.push_back({words(field[1]), words(field[2]), words(field[3]).at(0), words(field[4]).at(0)});
  }
  return out;
}

std::vector<Word> b200_words() {
  std::ifstream in(kData + "b200_words.json");
  const auto all = nlohmann::json::parse(in);
  std::vector<Word> out;
  for (const auto& j : all) {
    Word w{j.at("name"),
           j.at("kind"),
           j.at("a_type"),
           j.at("b_type"),
           j.at("d_type"),
           j.value("scale_type", ""),
           hexes(j, "a"),
           hexes(j, "b"),
           hexes(j, "scale_a"),
           hexes(j, "scale_b"),
           hex(j.at("c")),
           hex(j.at("d")),
           j.value("saturate", false)};
    out.push_back(std::move(w));
  }
  return out;
}

}  // namespace gen5::test
