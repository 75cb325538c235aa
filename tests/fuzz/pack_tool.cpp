// fuzz_pack unpack PACK FOLDER: a pack's inputs as files, for libFuzzer. fuzz_pack pack FOLDER PACK: the other way.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "tests/fuzz/pack.h"

namespace fs = std::filesystem;
using namespace gen5::fuzz;

namespace {

void unpack(const fs::path& pack, const fs::path& folder) {
  fs::create_directories(folder);
  size_t count = 0;
  for (const std::string& input : read_pack(pack)) {
    std::ofstream out(folder / ("packed_" + std::to_string(count++)), std::ios::binary);
    if (!out.write(input.data(), std::streamsize(input.size())).flush())
      throw std::runtime_error("cannot write into " + folder.string());
  }
}

void pack(const fs::path& folder, const fs::path& file) {
  Inputs inputs;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file()) inputs.push_back(read_file(entry.path()));
  std::sort(inputs.begin(), inputs.end());  // like beside like packs best
  write_pack(file, inputs);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view verb = argc == 4 ? argv[1] : "";
  try {
    if (verb == "unpack")
      unpack(argv[2], argv[3]);
    else if (verb == "pack")
      pack(argv[2], argv[3]);
    else
      throw std::runtime_error("unpack PACK FOLDER, or pack FOLDER PACK");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "fuzz_pack: %s\n", e.what());
    return 1;
  }
}
