// gen5: the command line of the machine model.
#include <cstdio>
#include <exception>
#include <string>

#include "common/tinygpu/base/version.h"
#include "common/tinygpu/cli/commands.h"
#include "common/tinygpu/cli/standard_streams.h"

namespace {

void say(const std::string& why) { std::fprintf(stderr, "gen5: %s\n", why.c_str()); }

/// Why the first word is no command, or nothing.
std::string no_command(const CLI::App& app, const std::string& word) {
  std::string known;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (command->get_name() == word) return {};
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  if (word.starts_with('-')) return {};
  if (word == "popcorn")
    return "popcorn belongs to the Python package (pip install); in a clone, with numpy: PYTHONPATH=python python3 -m "
           "gen5.popcorn FOLDER";
  return "no command '" + word + "'; known: " + known;
}

int run(int argc, char** argv) {
  CLI::App app{"Blackwell's tensor-core PTX on a machine model"};
  app.name("gen5");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("gen5 ") + tinygpu::kVersion);
  tinygpu::cli::add_run(app);
  tinygpu::cli::add_check(app);
  tinygpu::cli::add_debug(app);
  tinygpu::cli::add_machine(app);
  tinygpu::cli::add_isa(app);
  tinygpu::cli::add_explain(app);
  tinygpu::cli::add_search(app);
  if (argc < 2) {
    std::fputs(app.help().c_str(), stderr);
    return 2;
  }
  if (const std::string why = no_command(app, argv[1]); !why.empty()) {
    say(why);
    return 2;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& e) {  // a command's own code
    return app.exit(e);
  } catch (const CLI::ParseError& e) {  // words that cannot be taken; or help
    return app.exit(e) ? 2 : 0;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  tinygpu::cli::hold_closed_streams();
  int code = 1;
  try {
    code = run(argc, argv);
  } catch (const std::exception& e) {  // such as fmt's, of a disk that is full
    say(e.what());
    return 1;
  }
  if (const std::string why = tinygpu::cli::lost_output(); !why.empty()) {
    say("standard output cannot be written: " + why);
    return code ? code : 1;
  }
  return code;
}
