// Any 128 bytes as a tensor map, with every form that reads one: loads, stores, reductions, prefetches, gather and
// scatter, im2col, and tensormap.replace. An input begins with a legal map's kind and the bytes that differ from it.
#include "tests/bulk_tensor/map_bits.h"
#include "tests/fuzz/form_program.h"
#include "tests/fuzz/target.h"

using namespace gen5::fuzz;
using tinygpu::test::MapFields;

namespace {

std::vector<std::string> map_instructions() {
  std::vector<std::string> out = blackwell_instructions();
  std::erase_if(out, [](const std::string& s) {
    return s.find(".tensor.") == s.npos && s.find("tensormap") == s.npos && s.find("bulk.") == s.npos;
  });
  return out;
}

/// Kinds 0 … 4: tiles of rank 1 to 5; 5 … 7: im2col of rank 3 to 5; 8 … 10: wide; 11: for gather; 12: zeros.
std::vector<uint8_t> map_of(uint32_t kind) {
  if (kind == 12) return std::vector<uint8_t>(128);
  MapFields m;
  m.im2col = kind >= 5 && kind <= 10;
  m.wide = kind >= 8 && kind <= 10;
  m.rank = kind < 5 ? int(kind) + 1 : kind == 11 ? 2 : 3 + int(kind - 5) % 3;
  m.type = 2;
  m.channels = m.pixels = 4;
  uint64_t stride = 64;
  for (int i = 0; i < m.rank; ++i) {
    m.dim[i] = i ? 4 : 16;
    m.box[i] = i == 0 ? 4 : kind == 11 ? 1 : 2;
    m.stride[i] = i ? stride : 0;
    if (i) stride *= 4;
  }
  const auto bytes = tinygpu::test::make_map(m).bytes;
  return {bytes.begin(), bytes.end()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static FormPrograms programs({{.instructions = map_instructions()}});
  Input in(data, size);
  std::vector<uint8_t> map = map_of(in.below(13));
  const uint32_t changed = in.below(129);
  if (changed == 128) {
    in.bytes(map.data(), map.size());
  } else {
    for (uint32_t i = 0; i < std::min(changed, 16u); ++i) {
      const uint8_t at = in.byte();
      map[at % 128] = in.byte();
    }
  }
  programs.run(in, map);
  return 0;
}
