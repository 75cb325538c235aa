#include "common/tinygpu/observe/report/swizzle.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

namespace tinygpu::observe {
namespace {

constexpr uint32_t kChunk = 16, kLine = 128, kGroups = kLine / kChunk;
constexpr uint32_t kRowsShown = 16, kChunksShown = 16, kMatrixRows = 8;

const char* name_of(Swizzle s) {
  switch (s) {
    case Swizzle::none: return "none";
    case Swizzle::b32: return "32 B";
    case Swizzle::b64: return "64 B";
    case Swizzle::b128: return "128 B";
    case Swizzle::b96: return "96 B";
  }
  return "";
}

}  // namespace

nlohmann::ordered_json bank_picture(const TensorBox& box, uint32_t shared) {
  const TensorMap& map = box.map;
  const uint64_t rows = box.rows();
  const uint32_t row_bytes = box.row_bytes(), pitch = box.pitch();
  const uint32_t chunks = (row_bytes + kChunk - 1) / kChunk;
  const auto group = [&](uint64_t row, uint32_t chunk) {
    return map.place(shared + uint32_t(row) * pitch + chunk * kChunk) % kLine / kChunk;
  };
  nlohmann::ordered_json picture = {{"element", tinygpu::name_of(map.element)},
                                    {"box", std::vector<uint32_t>(map.box, map.box + map.rank)},
                                    {"im2col", map.im2col},
                                    {"interleave", map.interleave * kChunk},
                                    {"swizzle", name_of(map.swizzle)},
                                    {"whole_chunks", map.keeps_chunks()},
                                    {"shared", shared},
                                    {"rows", rows},
                                    {"row_bytes", row_bytes},
                                    {"pitch", pitch}};
  picture["banks"] = nlohmann::ordered_json::array();
  for (uint64_t r = 0; r < std::min<uint64_t>(rows, kRowsShown); ++r) {
    std::vector<uint32_t> row;
    for (uint32_t c = 0; c < std::min(chunks, kChunksShown); ++c) row.push_back(group(r, c));
    picture["banks"].push_back(row);
  }
  // A matrix of ldmatrix, or 16 bytes for each of 8 lanes: as many passes as rows that share their banks.
  if (rows >= kMatrixRows) {
    uint32_t most = 0;
    for (uint32_t c = 0; c < std::min(chunks, kChunksShown); ++c)
      for (uint64_t first = 0; first + kMatrixRows <= std::min<uint64_t>(rows, kRowsShown); first += kMatrixRows) {
        std::array<uint32_t, kGroups> taken{};
        for (uint64_t r = first; r < first + kMatrixRows; ++r) most = std::max(most, ++taken[group(r, c)]);
      }
    picture["column_passes"] = most;
  }
  return picture;
}

}  // namespace tinygpu::observe
