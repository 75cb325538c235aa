#include "tests/numerics/vector_data.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace gen5::test {
namespace {

const std::string kKept = std::string(GEN5_SOURCE_DIR) + "/tests/numerics/data/";
const std::string kAll = std::string(GEN5_SOURCE_DIR) + "/../shared/data/tensor_core_vectors/";

std::vector<uint32_t> words(const std::string& text, int base) {
  std::istringstream in(text);
  std::vector<uint32_t> out;
  for (std::string w; in >> w;) out.push_back(uint32_t(std::stoul(w, nullptr, base)));
  return out;
}

std::vector<std::vector<uint32_t>> table(const std::string& path, int base) {
  std::ifstream in(path);
  std::vector<std::vector<uint32_t>> out;
  for (std::string line; std::getline(in, line);)
    if (auto w = words(line, base); !w.empty()) out.push_back(std::move(w));
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

std::vector<Row> kept_rows(const std::string& machine, const std::string& format, const std::string& result) {
  std::ifstream in(kKept + "vectors.txt");
  if (!in) throw std::runtime_error("tests/numerics/data/vectors.txt is missing");
  const std::string wanted = machine + " " + format + " " + result + " ";
  std::vector<Row> out;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(wanted, 0) != 0) continue;
    std::istringstream fields(line);
    std::string field[5];
    for (auto& f : field) std::getline(fields, f, '|');
    out.push_back({words(field[1], 16), words(field[2], 16), words(field[3], 16).at(0), words(field[4], 16).at(0)});
  }
  return out;
}

std::vector<Row> all_rows(const std::string& machine, const std::string& format, const std::string& result) {
  const std::string folder = kAll + machine + "/" + format + "/", tail = "_" + machine + "_";
  const auto a = table(folder + "a" + tail + format + ".txt", 16), b = table(folder + "b" + tail + format + ".txt", 16),
             c = table(folder + "c" + tail + "fp32.txt", 2), d = table(folder + "d" + tail + result + ".txt", 2);
  std::vector<Row> out;
  for (size_t i = 0; i < a.size(); ++i) out.push_back({a[i], b.at(i), c.at(i).at(0), d.at(i).at(0)});
  return out;
}

std::vector<Word> b200_words() {
  std::ifstream in(kKept + "b200_words.json");
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
