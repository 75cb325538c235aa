#include "common/tinygpu/debug/prompt.h"

#ifdef GEN5_EDITLINE
#include <editline/readline.h>
#endif
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>

namespace tinygpu::debug {
namespace {

constexpr const char* kPrompt = "(gen5) ";

#ifdef GEN5_EDITLINE
/// readline's interface wants C strings that it frees.
char* next_command(const char* text, int state) {
  static size_t at;
  if (!state) at = 0;
  static const std::vector<std::string> kAll = Debugger::commands();
  while (at < kAll.size())
    if (const std::string& c = kAll[at++]; c.starts_with(text)) return strdup(c.c_str());
  return nullptr;
}

char** complete(const char* text, int start, int) {
  return start == 0 ? rl_completion_matches(text, next_command) : nullptr;
}

/// Lines of a terminal, with completion and a history that outlives the process.
class Terminal {
 public:
  Terminal() {
    rl_attempted_completion_function = complete;
    using_history();
    if (const char* home = std::getenv("HOME")) history_ = std::string(home) + "/.gen5_debug_history";
    if (!history_.empty()) read_history(history_.c_str());
  }
  ~Terminal() {
    if (!history_.empty()) write_history(history_.c_str());
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  std::optional<std::string> next() {
    const std::unique_ptr<char, decltype(&std::free)> line(readline(kPrompt), std::free);
    if (!line) return {};
    if (*line) add_history(line.get());
    return std::string(line.get());
  }

 private:
  std::string history_;
};
#else
class Terminal {
 public:
  std::optional<std::string> next() {
    std::fputs(kPrompt, stdout);
    std::fflush(stdout);
    std::string line;
    if (!std::getline(std::cin, line)) return {};
    return line;
  }
};
#endif

/// Lines as they are typed, or as they come from a file or a pipe.
class Lines {
 public:
  Lines() {
    if (isatty(STDIN_FILENO)) terminal_ = std::make_unique<Terminal>();
  }
  std::optional<std::string> next() {
    if (terminal_) return terminal_->next();
    std::string line;
    if (!std::getline(std::cin, line)) return {};
    return line;
  }
  bool terminal() const { return terminal_ != nullptr; }

 private:
  std::unique_ptr<Terminal> terminal_;
};

void write(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

int prompt(Debugger& debugger, const std::vector<std::string>& first, bool batch) {
  for (const std::string& line : first) {
    write(kPrompt + line + "\n");
    const Debugger::Answer a = debugger.run(line);
    write(a.text);
    if (a.error) return 2;
    if (a.quit) return 0;
  }
  Lines lines;
  while (!batch) {
    const auto line = lines.next();
    if (!line) break;
    if (!lines.terminal()) write(kPrompt + *line + "\n");
    const Debugger::Answer a = debugger.run(*line);
    write(a.text);
    if (a.quit) break;
  }
  return debugger.session().alive() ? 0 : debugger.session().exit_code();
}

}  // namespace tinygpu::debug
