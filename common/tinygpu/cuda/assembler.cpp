#include "common/tinygpu/cuda/assembler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "common/tinygpu/base/temporary_folder.h"
#include "common/tinygpu/cuda/unwritable.h"
#include "common/tinygpu/image/host_memory.h"

extern char** environ;

namespace tinygpu::cuda {
namespace {

namespace fs = std::filesystem;
constexpr uint64_t kLargest = uint64_t(1) << 30, kMostSaid = 64 << 20;
constexpr std::chrono::seconds kToldAfter{10};

/// Its exit status, or -1 and a reason.
int run(const std::vector<std::string>& command, const fs::path& output, std::chrono::seconds longest,
        std::string& why) {
  std::vector<char*> words;
  for (const std::string& w : command) words.push_back(const_cast<char*>(w.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  pid_t child = 0;
  const int failed = posix_spawn(&child, words[0], &files, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed) {
    why = fmt::format("cannot be run: {}", std::strerror(failed));
    return -1;
  }
  const auto start = std::chrono::steady_clock::now();
  bool told = false;
  for (int status = 0;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    // A program that ignores SIGCHLD, or waits for any child, has taken the status: what ptxas wrote tells the rest.
    if (ended < 0 && errno != EINTR) return 0;
    const auto since = std::chrono::steady_clock::now() - start;
    std::error_code none;
    const uint64_t said = fs::file_size(output, none);
    if (since > longest || (!none && said > kMostSaid)) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      why = since > longest ? fmt::format(
                                  "was stopped: it takes longer than {} s, which --ptxas-seconds "
                                  "(GEN5_PTXAS_SECONDS) allows",
                                  longest.count())
                            : "was stopped: it prints more than 64 MB";
      return -1;
    }
    if (since > kToldAfter && !told) {
      told = true;
      print_error(
          fmt::format("tinygpu: {} is still at work; it is waited for {} s at most\n", command[0], longest.count()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace

std::optional<std::vector<uint8_t>> assemble(const std::string& ptxas, std::string_view ptx, std::string_view arch,
                                             bool linked, std::chrono::seconds longest, std::string& why) {
  const TemporaryFolder folder("gen5-ptxas-");
  const fs::path in = folder.path() / "module.ptx", out = folder.path() / "module.cubin",
                 says = folder.path() / "says.txt";
  if (folder.path().empty() || !(std::ofstream(in, std::ios::binary) << ptx).flush()) {
    why = "no file can be written for ptxas";
    return std::nullopt;
  }
  std::vector<std::string> command{ptxas, fmt::format("-arch={}", arch), in.string(), "-o", out.string()};
  if (linked) command.push_back("-c");
  std::string cause;
  const int status = run(command, says, longest, cause);
  if (status == -1) {
    why = fmt::format("{} {}", ptxas, cause);
    return std::nullopt;
  }
  std::string unread;
  if (status == 0)
    if (auto cubin = image::read_regular_file(out.string(), kLargest, unread)) return cubin;
  std::string said;
  if (const auto bytes = image::read_regular_file(says.string(), kMostSaid, unread))
    said.assign(bytes->begin(), bytes->end());
  why = fmt::format("{} makes no machine code for {} of it:\n{}", ptxas, arch, said);
  return std::nullopt;
}

}  // namespace tinygpu::cuda
