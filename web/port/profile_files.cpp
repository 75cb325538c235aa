// The machine profiles are built in.
#include <fmt/format.h>

#include <algorithm>

#include "common/tinygpu/timing/profile.h"
#include "web/profiles.h"

namespace tinygpu {

Profile read_profile(const std::string& name) {
  for (const EmbeddedFile& p : web::profiles::files())
    if (p.path == name + ".json") return parse_profile(p.text, name + ".json");
  throw ProfileError(fmt::format("no machine is called \"{}\"; known: {}", name, fmt::join(profile_names(), ", ")));
}

MachineSpec load_profile(const std::string& name) { return read_profile(name).spec; }

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& p : web::profiles::files()) names.emplace_back(p.path.substr(0, p.path.rfind('.')));
  std::ranges::sort(names);
  return names;
}

}  // namespace tinygpu
