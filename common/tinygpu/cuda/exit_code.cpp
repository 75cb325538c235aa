#include "common/tinygpu/cuda/exit_code.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "common/tinygpu/cuda/unwritable.h"

namespace tinygpu::cuda {
namespace {

std::atomic<bool> exits = false, file_failed = false, error_diagnosed = false;
std::atomic<int> code_of_errors = 0, status_of_program = 0;

void keep_status() {
  static std::atomic<bool> asked = false;
  if (asked.exchange(true)) return;
  on_exit(
      [](int status, void*) {
        status_of_program = status;
        exits = true;
      },
      nullptr);
}

/// Runs behind the program's own destructors and exit handlers: this library's are the last but libc's.
[[gnu::destructor]] void choose_exit_code() {
  if (!exits) return;
  const int status = status_of_program;
  const bool by_error = error_diagnosed && code_of_errors;
  const int code = by_error ? int(code_of_errors) : file_failed && status == EXIT_SUCCESS ? EXIT_FAILURE : status;
  if (code == status) return;
  if (by_error)
    print_error(
        fmt::format("tinygpu: exit code {}, since an error was diagnosed; the program's own is {} "
                    "(--exit-code 0 keeps it)\n",
                    code, status));
  std::fflush(nullptr);
  _exit(code);
}

}  // namespace

void fail_at_exit() {
  file_failed = true;
  keep_status();
}

void error_was_diagnosed() { error_diagnosed = true; }

void set_code_of_errors(int code) {
  code_of_errors = code;
  if (code) keep_status();
}

void forget_errors() { error_diagnosed = false; }

}  // namespace tinygpu::cuda
