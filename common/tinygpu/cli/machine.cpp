// gen5 machine [NAME]: what a profile says, and where each number comes from.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/tinygpu/cli/commands.h"
#include "common/tinygpu/cli/doubt.h"
#include "common/tinygpu/cli/program.h"
#include "common/tinygpu/timing/profile.h"

namespace tinygpu::cli {
namespace {

std::string value_text(const ProfileEntry& e) {
  if (e.truth) return e.value != 0 ? "yes" : "no";
  return e.value == double(int64_t(e.value)) ? fmt::format("{}", int64_t(e.value)) : fmt::format("{}", e.value);
}

void list() {
  for (const std::string& name : profile_names()) {
    const Profile p = read_profile(name);
    fmt::print("{:<8} {} ({})\n", name, p.gpu, p.path);
  }
  fmt::print("\ngen5 machine NAME shows one; gen5 run --machine NAME runs a program on it\n");
}

void show(const std::string& name, const std::string& filter) {
  const Profile p = read_profile(name);
  fmt::print("{}: {}\n{}\n{}\n", p.spec.name, p.gpu, p.path, p.note);
  size_t widest = 0;
  std::map<Trust, int> trusts;
  for (const ProfileEntry& e : p.entries) {
    widest = std::max(widest, e.key.size());
    ++trusts[e.trust];
  }
  std::string section;
  for (const ProfileEntry& e : p.entries) {
    if (e.key.find(filter) == std::string::npos) continue;
    const std::string head = e.key.substr(0, e.key.find('.'));
    if (head != section) fmt::print("\n");
    section = head;
    fmt::print("{:<{}}  {:>12} {:<10} {:<11} {}{}{}{}\n", e.key, widest, value_text(e), e.unit, to_string(e.trust),
               e.what, e.what.empty() ? "" : "; ", e.source,
               e.spread.empty() ? "" : fmt::format("; {} to {}: {}", e.low, e.high, e.spread));
  }
  fmt::print("\n{} numbers:", p.entries.size());
  for (const auto& [trust, count] : trusts) fmt::print(" {} {}", count, to_string(trust));
  fmt::print("\n");
}

}  // namespace

void add_machine(CLI::App& app) {
  auto* command = app.add_subcommand("machine", "Show a machine profile: every number with its source and trust");
  auto name = std::make_shared<std::string>(), filter = std::make_shared<std::string>();
  command->add_option("name", *name, "A profile's name or path; without it, the profiles are listed");
  command->add_option("--filter", *filter, "Show only keys that contain this");
  auto doubted = std::make_shared<bool>(false);
  auto jobs = std::make_shared<uint32_t>(std::max(1u, std::thread::hardware_concurrency()));
  command->add_flag("--doubt", *doubted,
                    "gen5 machine NAME --doubt PROGRAM ARGS…: print which of the profile's estimates change a "
                    "program's cycles. Runs the program with each estimate at both ends of its spread, timing only");
  command->add_option("--jobs", *jobs, "With --doubt: runs at once (default: the host's cores)")
      ->check(CLI::Range(1, 1024));
  command->prefix_command();  // with --doubt
  command->callback([=] {
    try {
      if (const auto rest = command->remaining(); !*doubted && !rest.empty()) throw CLI::ExtrasError("machine", rest);
      if (*doubted && name->empty()) throw CLI::RequiredError("NAME");
      if (*doubted)
        doubt(*name, program_of(*command), *jobs);
      else if (name->empty())
        list();
      else
        show(*name, *filter);
    } catch (const ProfileError& e) {
      fmt::print(stderr, "gen5: {}\n", e.what());
      throw CLI::RuntimeError(1);
    }
  });
}

}  // namespace tinygpu::cli
