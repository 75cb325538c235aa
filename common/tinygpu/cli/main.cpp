// gen5: the command line of the machine model.
#include <cstdio>

#include "common/tinygpu/cli/commands.h"

int main(int argc, char** argv) {
  CLI::App app{"Blackwell's tensor-core PTX on a machine model"};
  app.name("gen5");
  app.require_subcommand(1);
  tinygpu::cli::add_run(app);
  tinygpu::cli::add_check(app);
  tinygpu::cli::add_machine(app);
  tinygpu::cli::add_isa(app);
  tinygpu::cli::add_explain(app);
  if (argc < 2) {
    std::fputs(app.help().c_str(), stderr);
    return 2;
  }
  CLI11_PARSE(app, argc, argv);
  return 0;
}
