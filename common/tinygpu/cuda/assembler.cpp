#include "common/tinygpu/cuda/assembler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
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

/// The number that `text` begins with: "9.0".
std::string_view number_at(std::string_view text) { return text.substr(0, text.find_first_not_of("0123456789.")); }

/// Of "Unsupported .version 9.4; current version is '9.0'" the second number; empty: ptxas says something else.
std::string newest_version(std::string_view said) {
  constexpr std::string_view kCurrent = "current version is '";
  const size_t refused = said.find("Unsupported .version ");
  const size_t current = refused == said.npos ? said.npos : said.find(kCurrent, refused);
  return std::string(current == said.npos ? std::string_view() : number_at(said.substr(current + kCurrent.size())));
}

/// The number behind a module's .version, which begins a line; empty: there is none.
std::string_view version_in(std::string_view ptx) {
  constexpr std::string_view kBlank = " \t", kDirective = ".version";
  for (size_t line = 0; line < ptx.size(); line = ptx.find('\n', line), line += line != ptx.npos) {
    std::string_view rest = ptx.substr(line);
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(kBlank)));
    if (!rest.starts_with(kDirective)) continue;
    rest.remove_prefix(kDirective.size());
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(kBlank)));
    return number_at(rest);
  }
  return {};
}

struct Assembled {
  std::optional<std::vector<uint8_t>> cubin;
  std::string said;   // by ptxas
  std::string cause;  // why it did not come to an end
};

Assembled assemble_as_it_is(const std::string& program, std::string_view ptx, std::string_view arch, bool linked,
                            std::chrono::seconds longest) {
  Assembled out;
  const TemporaryFolder folder("gen5-ptxas-");
  const fs::path in = folder.path() / "module.ptx", cubin = folder.path() / "module.cubin",
                 says = folder.path() / "says.txt";
  if (folder.path().empty() || !(std::ofstream(in, std::ios::binary) << ptx).flush()) {
    out.cause = "cannot be run: no file can be written for it";
    return out;
  }
  std::vector<std::string> command{program, fmt::format("-arch={}", arch), in.string(), "-o", cubin.string()};
  if (linked) command.push_back("-c");
  const int status = run(command, says, longest, out.cause);
  std::string unread;
  if (status == 0) out.cubin = image::read_regular_file(cubin.string(), kLargest, unread);
  if (const auto bytes = image::read_regular_file(says.string(), kMostSaid, unread))
    out.said.assign(bytes->begin(), bytes->end());
  return out;
}

}  // namespace

std::optional<std::vector<uint8_t>> assemble(const std::string& ptxas, std::string_view ptx, std::string_view arch,
                                             bool linked, std::chrono::seconds longest, std::string& why) {
  Assembled result = assemble_as_it_is(ptxas, ptx, arch, linked, longest);
  std::string older;
  const std::string newest = newest_version(result.said), own(newest.empty() ? std::string_view() : version_in(ptx));
  if (!own.empty()) {
    // A module may use nothing that its version has brought. A driver's compiler takes it then.
    std::string text(ptx);
    text.replace(size_t(version_in(ptx).data() - ptx.data()), own.size(), newest);
    result = assemble_as_it_is(ptxas, text, arch, linked, longest);
    older = fmt::format("knows PTX up to {} and the module says {}", newest, own);
    static std::atomic<bool> told{false};
    if (result.cubin && !told.exchange(true))
      print_error(fmt::format("tinygpu: {} {}: it uses nothing newer, so its machine code is made as of {}\n", ptxas,
                              older, newest));
    older += fmt::format("; as of {} it ", newest);
  }
  if (result.cubin) return std::move(result.cubin);
  why = !result.cause.empty()
            ? fmt::format("{} {}", ptxas, result.cause)
            : fmt::format("{} {}makes no machine code for {} of it:\n{}", ptxas, older, arch, result.said);
  return std::nullopt;
}

}  // namespace tinygpu::cuda
