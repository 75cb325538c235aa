#include <nlohmann/json.hpp>

#include "common/harness/diagnoses.h"

namespace gen5::harness {

std::vector<Diagnosed> read_diagnoses(const std::string& taken) {
  std::vector<Diagnosed> out;
  const nlohmann::json document = nlohmann::json::parse(taken);
  for (const nlohmann::json& d : document.at("diagnoses")) {
    Diagnosed one{d.at("code"), d.at("severity") == "error", d.at("text"), {}};
    for (const nlohmann::json& p : d.at("places")) {
      if (!p.contains("cta") || !p.contains("warp")) continue;
      Diagnosed::Place place{p.at("cta"), p.at("warp"), std::nullopt};
      if (p.contains("clock")) place.clock = p.at("clock").get<uint64_t>();
      one.places.push_back(place);
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace gen5::harness
