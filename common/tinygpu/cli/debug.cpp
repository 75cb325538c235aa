#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "common/tinygpu/cli/commands.h"
#include "common/tinygpu/cli/program.h"
#include "common/tinygpu/debug/dap.h"
#include "common/tinygpu/debug/prompt.h"

namespace tinygpu::cli {
namespace {

struct Arguments {
  Settings settings;
  std::vector<std::string> first;
  std::string file;
  std::string diagnosis, at;
  bool batch = false, dap = false;
  size_t snapshots = 24;
  int port = -1;
};

/// A connection to a port of this host, and to no other: the protocol has no passwords.
int connection(uint16_t port) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (listener < 0 || bind(listener, any, size) || listen(listener, 1) || getsockname(listener, any, &size)) {
    fmt::print(stderr, "gen5: cannot listen on port {}: {}\n", port, std::strerror(errno));
    return -1;
  }
  fmt::print(stderr, "gen5: waiting for an editor on 127.0.0.1:{}\n", ntohs(address.sin_port));
  const int client = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  close(listener);
  return client;
}

int serve_editor(int port) {
  std::signal(SIGPIPE, SIG_IGN);
  int in = STDIN_FILENO, out;
  if (port >= 0) {
    in = out = connection(uint16_t(port));
    if (in < 0) return 2;
  } else {
    // The protocol has standard output to itself: what else this process prints goes to standard error.
    out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  debug::DapServer server(
      in, out, [](const std::vector<std::string>& command, const std::map<std::string, std::string>& settings) {
        try {
          prepare(command, settings);
        } catch (const CLI::RuntimeError&) {
          throw std::runtime_error(command.front() + " cannot run on tinygpu: standard error says why");
        }
      });
  return server.serve();
}

int debug_program(const Arguments& a, const std::vector<std::string>& command) {
  std::vector<std::string> first = a.first;
  if (!a.file.empty()) {
    std::ifstream file(a.file);
    if (!file) {
      std::fprintf(stderr, "gen5: %s cannot be read\n", a.file.c_str());
      return 2;
    }
    for (std::string line; std::getline(file, line);) first.push_back(line);
  }
  if (!a.diagnosis.empty()) first.insert(first.begin(), "diagnosis " + a.diagnosis);
  if (!a.at.empty()) first.insert(first.begin(), "goto " + a.at);
  prepare(command, a.settings);
  // A Ctrl-C stops the program where it is.
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigprocmask(SIG_BLOCK, &interrupt, nullptr);
  const int signals = signalfd(-1, &interrupt, SFD_CLOEXEC);
  debug::Session session(
      {.command = command, .snapshots = a.snapshots, .interrupt_fd = signals, .interrupted = [signals] {
         signalfd_siginfo one;
         return read(signals, &one, sizeof(one)) == ssize_t(sizeof(one)) ? debug::Interrupt::pause
                                                                         : debug::Interrupt::none;
       }});
  if (!session.start()) {
    std::fprintf(stderr, "gen5: the program has ended without a launch, with exit code %d\n", session.exit_code());
    return session.exit_code();
  }
  debug::Debugger debugger(session);
  return debug::prompt(debugger, first, a.batch);
}

}  // namespace

void add_debug(CLI::App& app) {
  auto a = std::make_shared<Arguments>();
  CLI::App* sub = app.add_subcommand(
      "debug", "Run a CUDA program step by step, forward and back, and look inside (notes/debugging.md)");
  add_options(*sub, a->settings, Flags::of_debug);
  sub->add_option("-x,--execute", a->first, "a command of the prompt, run first; may be given several times")
      ->take_all()
      ->allow_extra_args(false);
  sub->add_option("--commands", a->file, "a file of such commands");
  sub->add_flag("--batch", a->batch, "end after these commands");
  sub->add_flag(
         "--diagnosis{1}", a->diagnosis,
         "go to the first diagnosis; --diagnosis=2: to the second; --diagnosis=deadlock: to the first with this code; "
         "--diagnosis=deadlock:4436: to the one at this line of PTX")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  sub->add_option("--at", a->at, "go to this position, a number of steps")->type_name("POSITION");
  sub->add_flag("--dap", a->dap,
                "speak the Debug Adapter Protocol on standard input and output; the editor names the program");
  sub->add_option(
         "--port", a->port,
         "with --dap: listen on this port of 127.0.0.1; 0: on any free one, whose number is printed on standard error")
      ->check(CLI::Range(0, 65535));
  sub->add_option("--snapshots", a->snapshots, "most moments of the past to keep (each is a fork of the process)")
      ->check(CLI::Range(2, 1000));
  sub->footer("Commands of the prompt:\n" + debug::Debugger::help());
  take_program(*sub);
  sub->callback([a, sub] {
    if (a->dap) throw CLI::RuntimeError(serve_editor(a->port));
    throw CLI::RuntimeError(debug_program(*a, program_of(*sub)));
  });
}

}  // namespace tinygpu::cli
