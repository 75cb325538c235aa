#include "common/tinygpu/cuda/unwritable.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace tinygpu::cuda {
namespace {

std::atomic<bool> told = false;
bool fails = false;

/// Runs behind the program's own destructors and exit handlers: this library's are the last but libc's.
__attribute__((destructor)) void end_with_failure() {
  if (!fails) return;
  std::fflush(nullptr);
  _exit(EXIT_FAILURE);
}

}  // namespace

void print_error(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void say_unwritable(const std::string& file) {
  print_error("tinygpu: " + file + ": this file cannot be written\n");
  if (!told.exchange(true)) on_exit([](int status, void*) { fails = status == EXIT_SUCCESS; }, nullptr);
}

}  // namespace tinygpu::cuda
