// probes/machines/*.json, built in.
#pragma once
#include <span>
#include <string_view>

namespace tinygpu::web {

struct ProfileText {
  std::string_view name, json;
};
std::span<const ProfileText> profile_texts();

}  // namespace tinygpu::web
