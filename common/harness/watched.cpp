#include "common/harness/watch.h"

namespace gen5::harness {

Watched read_watched(const std::string& profile, const std::string& timeline) {
  Watched w;
  w.profile = nlohmann::json::parse(profile);
  const nlohmann::json t = nlohmann::json::parse(timeline);
  for (const auto& c : t.value("ctas", nlohmann::json::array())) w.ctas.push_back({c.at("begin"), c.at("end")});
  for (const auto& o : t.value("operations", nlohmann::json::array()))
    w.operations.push_back(
        {o.at("kind"), o.at("cta"), o.at("warp"), o.at("issued"), o.at("begin"), o.at("busy"), o.at("end")});
  for (const auto& x : t.value("waited", nlohmann::json::array()))
    w.waited.push_back({x.at("cta"), x.at("warp"), x.at("at")});
  for (const auto& x : t.value("arrived", nlohmann::json::array()))
    w.arrived.push_back({x.at("cta"), x.at("warp"), x.at("at")});
  return w;
}

}  // namespace gen5::harness
