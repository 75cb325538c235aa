#include "common/tinygpu/timing/tma.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tinygpu {

namespace {

/// Pieces in which the rows of a box pass: a row's 128-byte lines of global memory, cut at shared memory's.
double pieces(const BoxRows& box) {
  constexpr uint32_t kLine = 128;
  const uint32_t rows = box.rows, row_bytes = box.row_bytes, pitch = box.pitch;
  if (!rows || !row_bytes || !pitch) return 0;
  const uint64_t lines = (uint64_t(row_bytes) + kLine - 1) / kLine;
  // Rows that begin with a line, or of which a whole number fills one, are cut nowhere else.
  if (rows == 1 || pitch % kLine == 0 || kLine % pitch == 0) return double(rows) * double(lines);
  const uint32_t period = std::min(rows, kLine / std::gcd(pitch, kLine));
  uint32_t count = 0;
  for (uint32_t r = 0; r < period; ++r)
    for (uint32_t done = 0; done < row_bytes; done += kLine) {
      const uint32_t at = (r * pitch + done) % kLine, bytes = std::min(kLine, row_bytes - done);
      count += (at + bytes + kLine - 1) / kLine;
    }
  return double(count) * rows / period;
}

double pieces(uint32_t bytes) { return pieces({1, bytes, bytes, bytes}); }

}  // namespace

TmaTiming::TmaTiming(const MachineSpec& s)
    : rows_per_cycle(s.number("tma.rows_per_cycle")),
      bytes_per_cycle(s.number("tma.bytes_per_cycle")),
      store_bytes_per_cycle(s.number("tma.store.bytes_per_cycle")),
      reduce_bytes_per_cycle(s.number("tma.reduce.bytes_per_cycle")),
      cluster_bytes_per_cycle(s.number("dsmem.bulk.bytes_per_cycle")),
      received_bytes_per_cycle(s.number("tma.received_bytes_per_cycle")),
      odd_row(s.number("tma.odd_row")),
      half_sector(s.number("tma.store.half_sector")),
      reduce_piece(s.number("tma.reduce.piece")),
      first_piece(s.number("tma.first_piece")),
      lead(s.number("tma.lead")),
      latency(uint32_t(s.number("tma.latency"))),
      tensor_latency(uint32_t(s.number("tma.tensor.latency"))),
      far_latency(uint32_t(s.number("tma.far"))),
      multicast_latency(uint32_t(s.number("tma.multicast.latency"))),
      gather_latency(uint32_t(s.number("tma.gather4.latency"))),
      store_latency(uint32_t(s.number("tma.store.latency"))),
      tensor_store_latency(uint32_t(s.number("tma.tensor.store"))),
      visible_latency(uint32_t(s.number("tma.store.visible"))),
      cluster_latency(uint32_t(s.number("dsmem.bulk.latency"))),
      reduce_latency(int32_t(s.number("tma.reduce.latency"))),
      descriptor_fetch(uint32_t(s.number("tma.descriptor_fetch"))),
      misses{s.number("tma.dram.1"),  s.number("tma.dram.2"),  s.number("tma.dram.4"),  s.number("tma.dram.8"),
             s.number("tma.dram.16"), s.number("tma.dram.32"), s.number("tma.dram.64"), s.number("tma.dram.128")},
      issue_load(uint32_t(s.number("tma.issue.load"))),
      issue_store(uint32_t(s.number("tma.issue.store"))),
      issue_reduce(uint32_t(s.number("tma.issue.reduce"))),
      issue_prefetch(uint32_t(s.number("tma.issue.prefetch"))),
      issue_bulk(uint32_t(s.number("tma.issue.bulk"))),
      issue_bulk_store(uint32_t(s.number("tma.issue.bulk_store"))),
      issue_bulk_reduce(uint32_t(s.number("tma.issue.bulk_reduce"))),
      issue_bulk_prefetch(uint32_t(s.number("tma.issue.bulk_prefetch"))),
      commit(uint32_t(s.number("tma.commit"))),
      wait(uint32_t(s.number("tma.wait"))) {}

TmaTiming::Pace TmaTiming::load(double pieces_cycles, uint64_t bytes) const {
  const double cycles = double(bytes) / bytes_per_cycle;
  return {std::max(pieces_cycles, cycles), std::max(pieces_cycles, cycles - lead)};
}

TmaTiming::Pace TmaTiming::load(const BoxRows& box) const {
  double cycles = pieces(box) / rows_per_cycle;
  if (box.pitch % 32 && box.row_bytes > 16) cycles = std::max(cycles, box.rows * (odd_row + box.row_bytes / 64.0));
  return load(cycles, box.bytes);
}

TmaTiming::Pace TmaTiming::load(uint32_t bytes) const { return load(pieces(bytes) / rows_per_cycle, bytes); }

double TmaTiming::store(uint32_t bytes, bool reduces) const {
  if (reduces) return bytes / reduce_bytes_per_cycle + reduce_piece * pieces(bytes);
  return bytes / store_bytes_per_cycle;
}

double TmaTiming::store(const BoxRows& box, bool reduces) const {
  const double count = pieces(box);
  const double sectors = double(box.rows) * ((box.row_bytes + 31) / 32);
  double cycles = 32 * sectors / (reduces ? reduce_bytes_per_cycle : store_bytes_per_cycle);
  if (reduces)
    cycles += reduce_piece * count;
  else if (box.row_bytes % 32)
    // A line of shared memory that ends within such a row cuts one sector more.
    cycles += half_sector * (count - double(box.rows) * ((box.row_bytes + 127) / 128 - 1));
  return std::max(cycles, count / rows_per_cycle);
}

uint64_t TmaTiming::far(uint64_t lines) const {
  constexpr uint64_t kEnough = 8;  // lines: one of them lies in a far slice
  return lines >= kEnough ? far_latency : 0;
}

uint64_t TmaTiming::miss(uint32_t lines) const {
  if (!lines) return 0;
  const double x = std::log2(double(lines));
  const size_t i = std::min(size_t(x), misses.size() - 1), next = std::min(i + 1, misses.size() - 1);
  return uint64_t(std::lround(misses[i] + (x - double(i)) * (misses[next] - misses[i])));
}

}  // namespace tinygpu
