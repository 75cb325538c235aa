#include "common/tinygpu/cuda/process.h"

#include <cstdlib>
#include <fstream>

namespace tinygpu::cuda {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> all;
  for (std::string one; std::getline(file, one, '\0');) all.push_back(one);
  return all;
}

std::string command_line() {
  std::string text;
  for (const std::string& one : arguments()) text += text.empty() ? one.substr(one.rfind('/') + 1) : " " + one;
  return text;
}

}  // namespace tinygpu::cuda
