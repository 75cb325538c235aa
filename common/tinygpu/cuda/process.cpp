#include "common/tinygpu/cuda/process.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace tinygpu::cuda {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!text.empty() && text.back() == 0) text.pop_back();
  text.erase(0, text.rfind('/', text.find('\0')) + 1);
  for (char& c : text)
    if (!c) c = ' ';
  return text;
}

}  // namespace tinygpu::cuda
