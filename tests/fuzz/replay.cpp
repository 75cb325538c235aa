// TARGET FILE|FOLDER|PACK…: runs a fuzz target over inputs that are there already, built by any compiler. A crash names
// the input that was running.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "tests/fuzz/pack.h"
#include "tests/fuzz/target.h"

namespace fs = std::filesystem;
using namespace gen5::fuzz;

namespace {

constexpr unsigned kSeconds = 20;  // for one input: a finding, as a crash is
char running[512];

void on_signal(int number) {
  const char* const what = number == SIGALRM ? "takes too long" : "ended the process";
  for (const char* text : {"\nfuzz: ", static_cast<const char*>(running), " ", what, "\n"})
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
  signal(number, SIG_DFL);
  raise(number);
}

void run(const std::string& name, const std::string& input) {
  std::snprintf(running, sizeof running, "%s", name.c_str());
  alarm(kSeconds);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  alarm(0);
}

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

size_t replay(const fs::path& path) {
  size_t count = 0;
  if (fs::is_directory(path)) {
    for (const fs::path& file : files_of(path)) count += replay(file);
  } else if (path.extension() == ".pack") {
    for (const std::string& input : read_pack(path)) run(path.string() + " #" + std::to_string(count++), input);
  } else {
    run(path.string(), read_file(path));
    ++count;
  }
  return count;
}

int run_all(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "%s FILE|FOLDER|PACK…\n", argv[0]);
    return 2;
  }
  for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) signal(number, on_signal);
  if (LLVMFuzzerInitialize) LLVMFuzzerInitialize(&argc, &argv);
  size_t count = 0;
  for (int i = 1; i < argc; ++i) count += replay(argv[i]);
  std::fprintf(stderr, "fuzz: %zu inputs replayed, %llu launches\n", count, static_cast<unsigned long long>(launches));
  return count ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_all(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "fuzz: %s: %s\n", running, e.what());
    return 1;
  }
}
