#include "common/harness/limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace gen5::harness {
namespace {

// The names are those of the profile (GEN5_PROFILE_JSON: tensor_core.idle).
const std::map<std::string, const char*> kMeanings = {
    {"loads", "it waited for loads to land"},
    {"other threads", "it waited for what other threads do"},
    {"MMAs under way", "the next MMAs waited for the news that those before were done"},
    {"instructions", "it waited for the instructions of the warp that feeds it"},
    {"epilogue", "it waited for the epilogue to store a tile"},
    {"set-up", "a CTA was not ready yet for its first MMA"},
    {"no CTA", "its SM had no CTA"},
};
constexpr double kWorthTelling = 0.05;

}  // namespace

TensorCoreTime::Idle TensorCoreTime::limit() const {
  if (busy > 0.5 || idle.empty()) return {"tensor core", busy};
  return idle.front();
}

std::string TensorCoreTime::sentence() const {
  std::string text = fmt::format("The tensor core was busy for {:.0f} % of the kernel's cycles.", 100 * busy);
  for (const Idle& i : idle) {
    if (i.share < kWorthTelling) continue;
    const auto meaning = kMeanings.find(i.what);
    text += fmt::format(" {:.0f} %: {}.", 100 * i.share, meaning == kMeanings.end() ? i.what : meaning->second);
  }
  return text;
}

bool has_tensor_core_time(const nlohmann::json& profile) { return profile.contains("tensor_core"); }

TensorCoreTime tensor_core_time(const nlohmann::json& profile) {
  const nlohmann::json& t = profile.at("tensor_core");
  TensorCoreTime out;
  out.busy = t.at("busy");
  for (const auto& i : t.value("idle", nlohmann::json::array())) out.idle.push_back({i.at("for"), i.at("share")});
  std::stable_sort(out.idle.begin(), out.idle.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
  return out;
}

}  // namespace gen5::harness
