#include "common/tinygpu/search/legality.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/tinygpu/diagnosis/diagnoses.h"

namespace tinygpu::search {
namespace {

constexpr uint32_t kTensorColumns = 512, kMostBoxRows = 256;

/// Columns of D in a box of its store.
uint32_t store_columns(const Legal& l, const Point& p) { return p.store / l.problem.out_bytes(); }

/// 64-row bands of a consumer's accumulator.
uint32_t bands(const Point& p) { return p.m / (p.ping_pong ? 1u : p.consumers) / 64; }

/// Registers of a thread that ptxas has for consumers: what the CTA's threads share, and what setmaxnreg gives them.
uint32_t compiled_registers(const Legal& l, const Point& p) {
  return std::min(255u, l.spec.registers_per_sm / (128 * (1 + p.consumers)) / 8 * 8);
}
/// A wgmma's accumulator is N / 2 registers, and ptxas 13.0 keeps 26 more beside one.
uint32_t instruction_registers(const Point& p) { return p.n / 2u + 26; }

const Rule kBlackwell[] = {
    {"mma-shape", "instruction-descriptor", nullptr,
     [](const Legal&, const Point& p) { return p.pair == 2 && p.rows() < 128; },
     [](const Legal&, const Point& p) {
       return fmt::format("a pair of the template multiplies 256 rows by M = 256, and a tile of {} leaves each CTA {}",
                          p.m, p.rows());
     },
     "a pair has M = 256"},
    {"scaled-rows", "instruction-descriptor", nullptr,
     [](const Legal& l, const Point& p) { return l.problem.scales() && p.rows() % 128 != 0; },
     [](const Legal&, const Point& p) {
       return fmt::format("an MMA with block scales has M = 128 a CTA, and a CTA has {} rows", p.rows());
     },
     "a CTA's M is 128|M is 128"},
    {"scale-columns", nullptr, "The scales of 128 columns of B are a chunk: a tile has whole chunks.",
     [](const Legal& l, const Point& p) { return l.problem.scales() && p.n % 128 != 0; },
     [](const Legal&, const Point& p) { return fmt::format("{} columns are no multiple of 128", p.n); },
     "whole chunks of scales"},
    {"scale-chunk", nullptr, "Four scales along K are a chunk: a block has whole chunks.",
     [](const Legal& l, const Point& p) { return p.block / 32 * l.problem.scales() % 4 != 0; },
     [](const Legal& l, const Point& p) {
       return fmt::format("a block of {} bytes has {} scales of a row", p.block, p.block / 32 * l.problem.scales());
     },
     "whole chunks of scales"},
    {"pair-cluster", nullptr, "The CTAs of a pair are the cluster; the template does not multicast between pairs.",
     [](const Legal&, const Point& p) { return p.pair == 2 && p.cluster_m * p.cluster_n > 1; },
     [](const Legal&, const Point& p) { return fmt::format("cta=2 with cluster={}x{}", p.cluster_m, p.cluster_n); },
     "a pair has M = 256 and takes the cluster"},
    {"tensor-memory", "alloc-granularity", nullptr,
     [](const Legal& l, const Point& p) { return tensor_columns(l.problem, p) > kTensorColumns; },
     [](const Legal& l, const Point& p) {
       return fmt::format("{} accumulator{} of {} rows by {} columns{} take {} columns of Tensor Memory, which has {}",
                          p.accumulators, p.accumulators == 1 ? "" : "s", p.rows(), p.n,
                          l.problem.scales() ? fmt::format(" and the scales of {} stages", p.stages) : "",
                          tensor_columns(l.problem, p), kTensorColumns);
     },
     "alloc-granularity"},
    {"same-kernel: accumulators", nullptr, "A CTA with one tile never uses a second accumulator.",
     [](const Legal&, const Point& p) { return p.accumulators > 1 && p.order() == Schedule::serial; },
     [](const Legal&, const Point& p) { return fmt::format("schedule=serial with accumulators={}", p.accumulators); },
     nullptr},
};

const Rule kHopper[] = {
    {"consumer-rows", nullptr, "Each consumer has a multiple of 64 rows: wgmma has M = 64.",
     [](const Legal&, const Point& p) { return p.m % (64 * (p.ping_pong ? 1 : p.consumers)) != 0; },
     [](const Legal&, const Point& p) {
       return fmt::format("{} consumers share {} rows: {:.1f} for each", p.consumers, p.m, double(p.m) / p.consumers);
     },
     "static assertion"},
    {"one-stage", "deadlock", "A consumer holds one block while it asks for the next: there are two stages.",
     [](const Legal& l, const Point& p) { return p.stages < 2 && blocks_of_part(l.problem, p) > 1; },
     [](const Legal&, const Point&) {
       return std::string(
           "a consumer gives a stage back when the next block is on its way through the tensor core, and "
           "with stages=1 that block has no room");
     },
     "deadlock"},
    {"registers", nullptr, "A wgmma and what is kept beside it fit the registers that a thread of the CTA has.",
     [](const Legal& l, const Point& p) { return instruction_registers(p) > compiled_registers(l, p); },
     [](const Legal& l, const Point& p) {
       return fmt::format("N = {} needs {} registers beside {} others, and {} consumers leave {} a thread", p.n,
                          p.n / 2, instruction_registers(p) - p.n / 2, p.consumers, compiled_registers(l, p));
     },
     "Insufficient registers"},
    {"accumulator-registers", nullptr, "The accumulators of a consumer stay in registers.",
     [](const Legal&, const Point& p) { return bands(p) * p.n / 2 > (p.consumers == 3 ? 128u : 192u); },
     [](const Legal&, const Point& p) {
       return fmt::format("{} rows by {} columns are {} registers of each thread, and {} can be kept", bands(p) * 64,
                          p.n, bands(p) * p.n / 2, p.consumers == 3 ? 128 : 192);
     },
     "serialized due to insufficient register|Insufficient registers"},
    {"skipped-cluster", nullptr, "The CTAs of a cluster load whole parts of a tile for each other.",
     [](const Legal&, const Point& p) { return p.skips && p.ctas() > 1; },
     [](const Legal&, const Point& p) {
       return fmt::format("outside=skipped with cluster={}x{}", p.cluster_m, p.cluster_n);
     },
     "static assertion"},
    {"same-kernel: outside", nullptr, "A matrix that has all rows of a tile leaves none to skip.",
     [](const Legal& l, const Point& p) { return p.skips && l.problem.m >= p.m && l.problem.n >= p.n; },
     [](const Legal& l, const Point& p) {
       return fmt::format("outside=skipped with a tile of {}x{} of {}x{} results", p.m, p.n, l.problem.m, l.problem.n);
     },
     nullptr},
    {"meeting-stays", nullptr, "Parts that wait for each other are on the chip at once: their CTAs stay.",
     [](const Legal&, const Point& p) { return p.meets && p.order() != Schedule::persistent; },
     [](const Legal&, const Point& p) {
       return fmt::format("split={}meet with a schedule that is not persistent", p.split);
     },
     "on the chip at once"},
    {"meeting-columns", nullptr,
     "A part that meets others stores whole boxes through two of TMA, or groups of eight columns by threads.",
     [](const Legal& l, const Point& p) {
       if (!p.meets) return false;
       const uint32_t least = p.by_threads() ? 8 : store_columns(l, p);
       return p.how() == Epilogue::tma_whole || p.n % (least * p.split) != 0;
     },
     [](const Legal& l, const Point& p) {
       if (p.how() == Epilogue::tma_whole) return fmt::format("split={}meet with epilogue=tma_whole", p.split);
       return fmt::format("{} parts have {:.1f} columns each, and {} {}", p.split, double(p.n) / p.split,
                          p.by_threads() ? "threads store groups of" : "a box has",
                          p.by_threads() ? 8 : store_columns(l, p));
     },
     "whole boxes, or groups of eight"},
    {"wide-columns", nullptr, "Four threads exchange 16-bit results of four groups of eight columns.",
     [](const Legal& l, const Point& p) {
       return p.how() == Epilogue::wide && (l.problem.out == Out::f32 || p.n % (32 * (p.meets ? p.split : 1)) != 0);
     },
     [](const Legal& l, const Point& p) {
       if (l.problem.out == Out::f32) return std::string("epilogue=wide with f32 results");
       return fmt::format("epilogue=wide, and {} parts have {} columns each", p.split, p.n / p.split);
     },
     "four threads exchange"},
    {"ping-pong-turns", nullptr, "Two consumers that take turns need a CTA with more than one tile.",
     [](const Legal&, const Point& p) { return p.ping_pong && p.order() == Schedule::serial; },
     [](const Legal&, const Point&) { return std::string("consumers=2pingpong with schedule=serial"); }, nullptr},
};

const Rule kCommon[] = {
    {"box-rows", "tensor-map", nullptr,
     [](const Legal&, const Point& p) { return p.rows() / p.cluster_n > kMostBoxRows; },
     [](const Legal&, const Point& p) {
       return fmt::format("a box of A has {} rows, and a dimension of a box at most {}", p.rows() / p.cluster_n,
                          kMostBoxRows);
     },
     "tensor-map|failed with code 1"},
    {"swizzle-span", nullptr, "A block of K is whole spans of the swizzle, each a box.",
     [](const Legal&, const Point& p) { return p.span > p.block; },
     [](const Legal&, const Point& p) {
       return fmt::format("a block of {} bytes a row has no span of {}", p.block, p.span);
     },
     "deadlock|mbarrier"},
    {"cluster-size", "launch-refused", nullptr,
     [](const Legal& l, const Point& p) { return p.ctas() > l.spec.portable_cluster; },
     [](const Legal& l, const Point& p) {
       return fmt::format("a cluster of {} CTAs, and {} is what every part takes without opting in", p.ctas(),
                          l.spec.portable_cluster);
     },
     "launch-refused|failed with code"},
    {"store-box", nullptr, "The boxes in which TMA stores D fill the tile.",
     [](const Legal& l, const Point& p) {
       return (l.kind == Template::blackwell || !p.by_threads()) && p.n % store_columns(l, p) != 0;
     },
     [](const Legal& l, const Point& p) {
       return fmt::format("{} columns are no multiple of a box's {}: {} bytes of {}", p.n, store_columns(l, p), p.store,
                          name(l.problem.out));
     },
     "the boxes of D fill the tile"},
    {"split-type", "tensor-reduce-type", "Parts of K are added up in f32.",
     [](const Legal& l, const Point& p) { return p.adds() && l.problem.out != Out::f32; },
     [](const Legal& l, const Point& p) {
       return fmt::format("{} with {} results", p.split > 1 ? fmt::format("split={}", p.split) : "schedule=stream_k",
                          name(l.problem.out));
     },
     "wrong|error"},
    {"stream-split", nullptr, "Stream-K splits K by itself.",
     [](const Legal&, const Point& p) { return p.order() == Schedule::stream_k && p.split > 1; },
     [](const Legal&, const Point& p) { return fmt::format("schedule=stream_k with split={}", p.split); },
     "stream-K splits by itself"},
    {"split-blocks", nullptr, "Every part of a split K has a block.",
     [](const Legal& l, const Point& p) {
       return (p.split - 1u) * blocks_of_part(l.problem, p) >= blocks(l.problem, p);
     },
     [](const Legal& l, const Point& p) {
       return fmt::format("K = {} is {} block{} of {} bytes, in {} parts", l.problem.k, blocks(l.problem, p),
                          blocks(l.problem, p) == 1 ? "" : "s", p.block, p.split);
     },
     "wrong|deadlock|mbarrier|error"},
    {"shared-memory", "attribute-refused", nullptr,
     [](const Legal& l, const Point& p) { return shared_bytes(l.kind, l.problem, p) > l.spec.shared_per_block_optin; },
     [](const Legal& l, const Point& p) {
       return fmt::format("{} stages of {} bytes and what stands beside them are {} bytes, and a CTA has {}", p.stages,
                          p.stage_bytes(), shared_bytes(l.kind, l.problem, p), l.spec.shared_per_block_optin);
     },
     "failed with code 1|attribute-refused"},
    {"same-kernel: stream", nullptr, "Where each cluster has as many whole tiles stream-K splits none of them.",
     [](const Legal& l, const Point& p) {
       return p.order() == Schedule::stream_k &&
              tile_rows(l.problem, p) * tile_columns(l.problem, p) % clusters_at_once(l.spec, p) == 0;
     },
     [](const Legal& l, const Point& p) {
       return fmt::format("{} cluster tiles for {} clusters", tile_rows(l.problem, p) * tile_columns(l.problem, p),
                          clusters_at_once(l.spec, p));
     },
     nullptr},
    {"same-kernel: band", nullptr, "A band as high as the matrix is as good as any higher one.",
     [](const Legal& l, const Point& p) {
       const uint32_t rows = tile_rows(l.problem, p);
       return (p.band == 16 && rows <= 8) || (p.band == 8 && rows <= 4) || (p.band == 4 && rows <= 1);
     },
     [](const Legal& l, const Point& p) {
       return fmt::format("band={} with {} cluster tile{} along M", p.band, tile_rows(l.problem, p),
                          tile_rows(l.problem, p) == 1 ? "" : "s");
     },
     nullptr},
};

}  // namespace

std::vector<const Rule*> rules(Template t) {
  std::vector<const Rule*> out;
  const auto add = [&](const auto& table) {
    for (const Rule& r : table) out.push_back(&r);
  };
  if (is_attention(t)) {
    add(attention_rules(t));
    return out;
  }
  if (t == Template::blackwell)
    add(kBlackwell);
  else
    add(kHopper);
  add(kCommon);
  return out;
}

std::string_view sentence(const Rule& rule) {
  if (rule.text) return rule.text;
  const diagnosis::CodeInfo* info = rule.code ? diagnosis::find_code(rule.code) : nullptr;
  return info ? info->rule.text : std::string_view();
}

const Rule* broken(const std::vector<const Rule*>& rules, const Legal& legal, const Point& p) {
  const auto r = std::find_if(rules.begin(), rules.end(), [&](const Rule* rule) { return rule->breaks(legal, p); });
  return r == rules.end() ? nullptr : *r;
}

std::optional<std::string> impossible(const Problem& p) {
  if (p.operation == Operation::attention) {
    if (!p.heads || !p.m || !p.n) return "--heads, --queries and --n are at least 1";
    if (p.heads > 1u << 16 || p.m > 1u << 20 || p.n > 1u << 20)
      return "--heads is at most 65536, and --queries and --n are at most 1048576";
    if (p.k != 64 && p.k != 128)
      return fmt::format("--d {} is not taken: the templates of attention have heads of 64 and of 128 dimensions", p.k);
    return std::nullopt;
  }
  if (!p.m || !p.n || !p.k) return "--m, --n and --k are at least 1";
  if (p.m > 1u << 20 || p.n > 1u << 20 || p.k > 1u << 20) return "--m, --n and --k are at most 1048576";
  const auto row = [](const char* option, uint32_t value, uint32_t bits) -> std::optional<std::string> {
    const uint32_t step = 128 / bits;
    if (value % step == 0) return std::nullopt;
    const uint32_t below = value / step * step, above = below + step;
    return fmt::format(
        "{} {} is not taken: a row has {} an element, and TMA takes rows of a multiple of 16 "
        "bytes. Take {}",
        option, value,
        bits == 4   ? "4 bits"
        : bits == 8 ? "1 byte"
                    : fmt::format("{} bytes", bits / 8),
        below ? fmt::format("{} or {}", below, above) : std::to_string(above));
  };
  if (auto why = row("--k", p.k, p.in_bits())) return why;
  return row("--n", p.n, 8 * p.out_bytes());
}

std::optional<std::string> impossible(const Problem& p, Template t) {
  if (t == Template::hopper && p.scales())
    return fmt::format("wgmma has no block scales, which {} needs; take b200, or bf16, f16 or fp8", name(p.in));
  return impossible(p);
}

std::optional<std::string> too_large(const Problem& p, const MachineSpec& spec) {
  const bool attention = p.operation == Operation::attention;
  const double m = p.m, n = p.n, row = p.row_bytes();
  // Q and O have a row for each query, K and V one for each key; scales lie beside A and B.
  const double scales = p.k / 32.0 * p.scales();
  const double bytes = attention ? 2 * p.heads * (m + n) * row : (m + n) * (row + scales) + m * n * p.out_bytes();
  if (bytes <= double(spec.global_bytes)) return std::nullopt;
  return fmt::format("{}: {} take {:.1f} GB, and {} has {:.1f} GB of memory", name(p),
                     attention ? "Q, K, V and O" : "A, B and D", bytes * 1e-9, spec.name,
                     double(spec.global_bytes) * 1e-9);
}

uint32_t shared_bytes(Template t, const Problem& problem, const Point& p) {
  const auto round_up = [](uint32_t x, uint32_t to) { return ceil_div(x, to) * to; };
  uint32_t bytes = p.stages * p.stage_bytes();
  if (t == Template::blackwell) {
    bytes += p.stages * ceil_div(512 * scale_chunks(problem, p), 1024) * 1024;
    const uint32_t warp_rows = (p.rows() < 128 ? 64 : 128) / 4;
    const uint32_t box = p.how() == Epilogue::direct ? 16 : warp_rows * p.store;
    bytes += 4 * 2 * box + 2 * 16;                                 // boxes, claims
    bytes += 8 * (2 * p.stages + 2 * p.accumulators + 2 * 2) + 4;  // barriers, where Tensor Memory is
  } else {
    const uint32_t boxes = p.how() == Epilogue::tma ? 2 : p.n * problem.out_bytes() / 128;  // of 64 rows
    bytes += p.consumers * (p.by_threads() ? 16 : boxes * 64 * 128) + 16 * p.stages;        // and barriers
  }
  return round_up(bytes, 1024);
}

uint32_t scale_chunks(const Problem& problem, const Point& p) {
  return p.block / 32 * problem.scales() / 4 * (p.rows() / 128 + p.n / 128);
}

uint32_t tensor_columns(const Problem& problem, const Point& p) {
  return p.accumulators * ceil_div(p.rows(), 128) * p.n + p.stages * 4 * scale_chunks(problem, p);
}

uint32_t blocks(const Problem& problem, const Point& p) { return ceil_div(problem.row_bytes(), p.block); }
uint32_t blocks_of_part(const Problem& problem, const Point& p) { return ceil_div(blocks(problem, p), p.split); }
uint32_t clusters_at_once(const MachineSpec& spec, const Point& p) {
  const uint32_t ctas = p.ctas();
  const double sms = ctas > 1 ? spec.number("chip.cluster_sms." + std::to_string(ctas)) : spec.sms;
  return std::max(1u, uint32_t(sms) / ctas);
}

uint32_t rows_loaded(const Point& p, uint32_t extent, uint32_t rows) { return p.skips ? std::min(rows, extent) : rows; }

uint32_t tile_rows(const Problem& problem, const Point& p) { return ceil_div(problem.m, p.m * p.cluster_m); }
uint32_t tile_columns(const Problem& problem, const Point& p) { return ceil_div(problem.n, p.n * p.cluster_n); }

ClusterTile cluster_tile(const Problem& problem, const Point& p, uint32_t index) {
  const uint32_t of_a_band = p.band * tile_columns(problem, p), first = index / of_a_band * p.band;
  const uint32_t height = std::min<uint32_t>(p.band, tile_rows(problem, p) - first), inside = index % of_a_band;
  return {first + inside % height, inside / height};
}

}  // namespace tinygpu::search
