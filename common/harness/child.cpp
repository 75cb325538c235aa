#include "common/harness/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <system_error>

namespace gen5::harness {
namespace {

void must(int error, const char* what) {
  if (error) throw std::system_error(error, std::generic_category(), what);
}

/// A pipe whose ends close by themselves.
struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() {
    if (pipe2(ends, O_CLOEXEC)) throw std::system_error(errno, std::generic_category(), "pipe2");
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(int i) {
    if (ends[i] >= 0) close(ends[i]);
    ends[i] = -1;
  }
};

/// The environment with `changes` in place of variables of the same names. tinygpu leaves the exit code alone: it says
/// what the child found itself.
std::vector<std::string> changed_environment(std::vector<std::string> changes) {
  changes.emplace_back("GEN5_EXIT_CODE=0");
  std::vector<std::string> out;
  for (char** e = environ; *e; ++e) {
    const std::string entry = *e, name = entry.substr(0, entry.find('=') + 1);
    bool replaced = false;
    for (const std::string& c : changes) replaced |= c.starts_with(name);
    if (!replaced) out.push_back(entry);
  }
  out.insert(out.end(), changes.begin(), changes.end());
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& s : strings) out.push_back(s.data());
  out.push_back(nullptr);
  return out;
}

/// Reads both pipes until their other ends are closed; false when the time is over before.
bool read_all(Pipe& out, Pipe& err, Child& child, int seconds) {
  using clock = std::chrono::steady_clock;
  const auto end = clock::now() + std::chrono::seconds(seconds);
  pollfd fds[2] = {{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}};
  std::string* texts[2] = {&child.output, &child.errors};
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - clock::now()).count();
    if (left <= 0) return false;
    if (poll(fds, 2, int(left)) <= 0) continue;
    for (int i = 0; i < 2; ++i) {
      if (fds[i].fd < 0 || !fds[i].revents) continue;
      char buffer[4096];
      const ssize_t n = read(fds[i].fd, buffer, sizeof buffer);
      if (n > 0)
        texts[i]->append(buffer, size_t(n));
      else
        fds[i].fd = -1;
    }
  }
  return true;
}

}  // namespace

Child run_again(const std::vector<std::string>& arguments, const std::vector<std::string>& environment, int seconds) {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length < 0) throw std::system_error(errno, std::generic_category(), "/proc/self/exe");
  path[length] = 0;

  std::vector<std::string> words = {path}, variables = changed_environment(environment);
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv = pointers(words), envp = pointers(variables);

  Pipe out, err;
  posix_spawn_file_actions_t actions;
  must(posix_spawn_file_actions_init(&actions), "posix_spawn");
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err.ends[1], 2);
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, path, &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  must(failed, "posix_spawn");
  out.close_end(1);
  err.close_end(1);

  Child child;
  const bool in_time = read_all(out, err, child, seconds);
  if (!in_time) kill(pid, SIGKILL);
  int status = 0;
  waitpid(pid, &status, 0);
  if (!in_time)
    child.ending = fmt::format("still running after {} s", seconds);
  else if (WIFSIGNALED(status))
    child.ending = fmt::format("ended by a signal: {}", strsignal(WTERMSIG(status)));
  else
    child.status = WEXITSTATUS(status);
  return child;
}

}  // namespace gen5::harness
