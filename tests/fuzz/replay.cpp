// Runs a fuzz target without libFuzzer, built by any compiler:
//
//   TARGET FILE|FOLDER|PACK…                        every input
//   TARGET --random COUNT SEED FILE|FOLDER|PACK…    COUNT inputs made by random changes of these
//
// What ends the process or takes too long is named, and what was running is left in the file fuzz_finding.
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "tests/fuzz/mutate.h"
#include "tests/fuzz/pack.h"
#include "tests/fuzz/target.h"

namespace fs = std::filesystem;
using namespace gen5::fuzz;

extern "C" __attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                                                unsigned seed);

namespace {

constexpr unsigned kSeconds = 20;  // of the processor, for one input: a finding, as a crash is
constexpr size_t kLongest = 4096;  // of a random one
char running[512];                 // what, for messages
const std::string* input = nullptr;

void say(const char* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) _exit(1);
}

void on_signal(int number) {
  say("\nfuzz: ");
  say(running);
  say(number == SIGPROF ? " takes too long\n" : " ended the process\n");
  const int file = open("fuzz_finding", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0 && input && write(file, input->data(), input->size()) < 0) say("fuzz: cannot write fuzz_finding\n");
  signal(number, SIG_DFL);
  raise(number);
}

void set_alarm(unsigned seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = seconds;
  setitimer(ITIMER_PROF, &timer, nullptr);
}

/// What leaves the target ends the process, as under libFuzzer.
void run(const std::string& name, const std::string& bytes) noexcept {
  std::snprintf(running, sizeof running, "%s", name.c_str());
  input = &bytes;
  set_alarm(kSeconds);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  set_alarm(0);
  input = nullptr;
}

struct Named {
  std::string name, bytes;
};

void gather(const fs::path& path, std::vector<Named>& out) {
  if (fs::is_directory(path)) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) gather(file, out);
  } else if (path.extension() == ".pack") {
    size_t number = 0;
    for (std::string& bytes : read_pack(path))
      out.push_back({path.string() + " #" + std::to_string(number++), std::move(bytes)});
  } else {
    out.push_back({path.string(), read_file(path)});
  }
}

std::string changed(const std::string& bytes, const std::string& other, Random& random) {
  if (!LLVMFuzzerCustomMutator) return mutate_bytes(bytes, other, random).substr(0, kLongest);
  std::string s = bytes.substr(0, kLongest);
  const size_t size = s.size();
  s.resize(kLongest);
  s.resize(LLVMFuzzerCustomMutator(reinterpret_cast<uint8_t*>(s.data()), size, kLongest, unsigned(random())));
  return s;
}

int run_all(int argc, char** argv) {
  const bool random = argc > 4 && !std::strcmp(argv[1], "--random");
  std::vector<Named> inputs;
  for (int i = random ? 4 : 1; i < argc; ++i) gather(argv[i], inputs);
  if (inputs.empty()) {
    std::fprintf(stderr, "%s [--random COUNT SEED] FILE|FOLDER|PACK…\n", argv[0]);
    return 2;
  }
  for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF}) signal(number, on_signal);
  if (LLVMFuzzerInitialize) LLVMFuzzerInitialize(&argc, &argv);
  size_t count = inputs.size();
  if (random) {
    count = std::stoull(argv[2]);
    Random generator(unsigned(std::stoul(argv[3])) + 1);
    for (size_t i = 0; i < count; ++i) {
      const Named &a = inputs[generator() % inputs.size()], &b = inputs[generator() % inputs.size()];
      run(a.name + ", changed", changed(a.bytes, b.bytes, generator));
    }
  } else {
    for (const Named& i : inputs) run(i.name, i.bytes);
  }
  std::fprintf(stderr, "fuzz: %zu inputs, %llu launches\n", count, static_cast<unsigned long long>(launches));
  return 0;
}

}  // namespace

/// What libFuzzer offers to a target's own mutator.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size) {
  static Random random(1);
  std::string s(reinterpret_cast<const char*>(data), size);
  s = mutate_bytes(s, s, random).substr(0, max_size);
  std::copy(s.begin(), s.end(), reinterpret_cast<char*>(data));
  return s.size();
}

int main(int argc, char** argv) {
  try {
    return run_all(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "fuzz: %s: %s\n", running, e.what());
    return 1;
  }
}
