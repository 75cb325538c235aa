// search_points OPERATION MACHINE FOLDER: a program for each rule, of a point that breaks it and no other; and a line
// of JSON for each. For kernels_test.py.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/tinygpu/search/emit.h"
#include "common/tinygpu/search/legality.h"
#include "common/tinygpu/timing/profile.h"

int main(int argc, char** argv) {
  using namespace tinygpu::search;
  if (argc != 4) return 2;
  const bool attention = std::string(argv[1]) == "attention";
  const tinygpu::MachineSpec spec = tinygpu::load_profile(argv[2]);
  const Space space(template_of(spec, attention ? Operation::attention : Operation::gemm));
  // Small, so that what a broken kernel does is soon seen; f32, where K may be split, and bf16, where it may not; block
  // scales.
  std::vector<Problem> problems{{300, 700, 128, In::bf16, Out::bf16, Operation::attention, 2}};
  if (!attention) {
    problems = {{300, 264, 136, In::bf16, Out::f32}, {300, 264, 136, In::bf16, Out::bf16}};
    if (spec.has_tmem) problems.push_back({300, 264, 144, In::mxf8, Out::f32});
  }
  // Rules that another problem shows better.
  const auto shown_by = [](const std::string& rule) {
    return rule == "split-type" || rule == "store-box" ? 1 : rule.starts_with("scale") ? 2 : 0;
  };
  for (size_t at = 0; at < problems.size(); ++at) {
    const Problem& problem = problems[at];
    const Legal legal{spec, space.kind(), problem};
    std::map<std::string, std::pair<const Rule*, Point>> last;
    const auto all = rules(space.kind());
    uint64_t i = 0;
    // Every so many points; of those that break one rule alone the last, which is rarely the plainest.
    space.for_each([&](uint64_t, const Point& p) {
      if (i++ % (attention ? 1 : 97)) return;
      const Rule* only = nullptr;
      for (const Rule* r : all)
        if (r->breaks(legal, p)) {
          if (only) return;
          only = r;
        }
      if (only && only->fails) last.insert_or_assign(only->name, std::pair(only, p));
    });
    for (const auto& [name, found] : last) {
      if (!attention && int(at) != shown_by(name)) continue;
      const std::string file = fmt::format("{}.cu", found.first->name);
      write_program(argv[3], file, program(space, problem, found.second));
      fmt::print("{}\n", nlohmann::json{{"rule", name},
                                        {"file", file},
                                        {"fails", found.first->fails},
                                        {"point", space.text(found.second)},
                                        {"options", compiler_options(space.kind())},
                                        {"problem", size_text(problem)}}
                             .dump());
    }
  }
}
