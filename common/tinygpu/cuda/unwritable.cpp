#include "common/tinygpu/cuda/unwritable.h"

#include <cstdio>

#include "common/tinygpu/cuda/exit_code.h"

namespace tinygpu::cuda {

void print_error(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void say_unwritable(const std::string& file) {
  print_error("tinygpu: " + file + ": this file cannot be written\n");
  fail_at_exit();
}

}  // namespace tinygpu::cuda
