// The register-to-cell maps of cute_maps.txt.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tinygpu::test {

struct MapCell {
  uint32_t lane, column;  // relative to the address; for 16x32bx2 to the address of the half that the thread is in
  bool operator==(const MapCell&) const = default;
};

/// One form of tcgen05.ld or .st.
struct CuteMap {
  std::string shape;  // "16x256b"
  uint32_t num = 1;
  bool pack = false;
  uint32_t registers = 0, columns = 0;  // per thread; covered by one address
  bool literal = false;                 // the file lists every cell, else a hash
  std::vector<MapCell> listed;          // register * 32 + thread, as in the file
  uint64_t hash = 0;

  bool split() const { return shape == "16x32bx2"; }
  uint32_t lanes() const { return shape == "32x32b" ? 32 : 16; }
  /// The immHalfSplitoff that the table was made with.
  uint32_t table_offset() const { return pack ? 2 * num : num; }
  std::string suffix() const { return shape + ".x" + std::to_string(num); }
  /// The cell of register r of thread t. Beyond the listed forms the x4 form repeats; HashesAgree proves that it does.
  MapCell cell(uint32_t t, uint32_t r) const;
  const CuteMap* x4 = nullptr;
};

/// All 74 forms, in the file's order.
const std::vector<CuteMap>& cute_maps();
const CuteMap& cute_map(const std::string& shape, uint32_t num, bool pack);
/// Hash of the whole form by the file's rule, from cell().
uint64_t hash_of(const CuteMap& m);

}  // namespace tinygpu::test
