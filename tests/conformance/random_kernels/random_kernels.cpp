// random_kernels print FIRST LAST: the CUDA C++ of the kernels of seeds FIRST to LAST - 1.
// random_kernels pack FILE FIRST LAST [NVCC]: has nvcc compile them, several in a module, and keeps the PTX.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tests/conformance/random_kernels/archive.h"
#include "tests/conformance/random_kernels/generator.h"

namespace rk = conformance::random_kernels;

namespace {

std::string compiled(const std::string& nvcc, const std::string& source) {
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "random_kernels.XXXXXX").string();
  if (!mkdtemp(folder.data())) throw std::runtime_error("cannot make a folder for nvcc");
  std::ofstream(folder + "/kernels.cu") << source;
  const std::string command =
      nvcc + " -ptx -arch=sm_90a -fmad=false -std=c++20 -w -o " + folder + "/kernels.ptx " + folder + "/kernels.cu";
  const int status = std::system(command.c_str());
  std::ifstream in(folder + "/kernels.ptx");
  std::string ptx{std::istreambuf_iterator<char>(in), {}};
  fs::remove_all(folder);
  if (status || ptx.empty()) throw std::runtime_error("this failed: " + command);
  return ptx;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string verb = argc > 1 ? argv[1] : "";
  const auto seed = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  if (verb == "print" && argc == 4) {
    std::fputs(rk::module_source(seed(2), seed(3)).c_str(), stdout);
  } else if (verb == "pack" && (argc == 5 || argc == 6)) {
    std::vector<rk::Module> modules;
    for (uint64_t first = seed(3), end = seed(4); first < end; first += rk::kPerModule) {
      rk::Module m{first, std::min<uint64_t>(first + rk::kPerModule, end), 0, {}};
      const std::string source = rk::module_source(m.first, m.last);
      m.source = rk::hash(source.data(), source.size());
      m.ptx = compiled(argc == 6 ? argv[5] : "nvcc", source);
      modules.push_back(std::move(m));
    }
    rk::write_archive(argv[2], modules);
  } else {
    std::fprintf(stderr, "usage: %s print FIRST LAST | pack FILE FIRST LAST [NVCC]\n", argv[0]);
    return 2;
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
