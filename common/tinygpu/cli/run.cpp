#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "common/tinygpu/api/options.h"
#include "common/tinygpu/cli/commands.h"
#include "common/tinygpu/cli/program.h"

namespace tinygpu::cli {

void add_run(CLI::App& app) {
  struct Run {
    Settings settings;
    std::vector<std::string> command;
  };
  auto run = std::make_shared<Run>();
  CLI::App* sub =
      app.add_subcommand("run", "gen5 run [OPTIONS] PROGRAM ARGS…: run a CUDA 13 program (with PTX in it) on tinygpu");
  add_options(*sub, run->settings, Flags::of_run);
  std::string footer =
      "In brackets: the environment variable of the option, for a program that is started without "
      "gen5 run.";
  for (const api::Option& o : api::option_table())
    if (!o.flag) footer += fmt::format("\n{}={}: {}", o.variable, o.values ? o.values : "1", o.help);
  sub->footer(footer);
  // Everything from the program's name on belongs to the program, whatever it looks like.
  sub->prefix_command();
  sub->callback([run, sub] {
    run->command = sub->remaining();
    if (run->command.empty()) throw CLI::RequiredError("PROGRAM");
    if (!std::getenv("GEN5_EXIT_CODE")) run->settings.try_emplace("GEN5_EXIT_CODE", "1");
    prepare(run->command, run->settings);
    throw CLI::RuntimeError(become(run->command));
  });
}

}  // namespace tinygpu::cli
