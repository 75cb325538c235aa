// What is searched: a problem, a product or attention, and the kernels that may compute it. A point names one kernel of
// the machine's template (common/kernels); a space lists the values of each of its parameters.
#pragma once
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/tinygpu/timing/spec.h"

namespace tinygpu::search {

/// A problem, a point or a file that cannot be used. The sentence says why, and what can.
class SearchError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

constexpr uint32_t ceil_div(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

enum class In : uint8_t { bf16, f16, fp8, mxf8, mxf4, nvf4 };
enum class Out : uint8_t { f32, bf16, f16 };

enum class Operation : uint8_t { gemm, attention };

/// gemm: D[m × n] = A[m × k] · B[n × k]ᵀ, rows contiguous. fp8 and mxf8 are e4m3, mxf4 and nvf4 e2m1, two to a byte;
/// the mx types have a ue8m0 scale for each 32 elements of a row, nvf4 a ue4m3 scale for 16. attention: O = softmax(Q ·
/// Kᵀ / √k) · V for each head, with m queries, n keys and k dimensions, all bf16. Causal: query i sees keys 0 to i.
struct Problem {
  uint32_t m = 4096, n = 4096, k = 4096;
  In in = In::bf16;
  Out out = Out::bf16;
  Operation operation = Operation::gemm;
  uint32_t heads = 1;
  bool causal = false;
  uint32_t in_bits() const { return in < In::fp8 ? 16 : in < In::mxf4 ? 8 : 4; }
  uint32_t row_bytes() const { return k * in_bits() / 8; }                   // of A and B
  uint32_t elements(uint32_t bytes) const { return bytes * 8 / in_bits(); }  // of a row
  /// Scales of a row for 32 bytes of it; 0: the type has none.
  uint32_t scales() const { return in < In::mxf8 ? 0 : in == In::mxf8 ? 1 : in == In::mxf4 ? 2 : 4; }
  uint32_t out_bytes() const { return out == Out::f32 ? 4 : 2; }
};
std::string_view name(In type);
std::string_view name(Out type);
/// "4096x4096x4096 bf16 -> bf16"; "32 heads, 8192 queries, 8192 keys, 128 dimensions, causal".
std::string name(const Problem& p);
/// Its size as programs take it: "4096x4096x4096", or "32x8192x8192" for heads, queries and keys.
std::string size_text(const Problem& p);
/// The same problem at a small size: what a kernel's program depends on, and no more.
Problem any_size(const Problem& p);

enum class Template : uint8_t { blackwell, hopper, attention_blackwell, attention_hopper };
/// The template that runs on a machine. Throws SearchError where none does.
Template template_of(const MachineSpec& spec, Operation operation = Operation::gemm);
constexpr bool is_attention(Template t) { return t >= Template::attention_blackwell; }
constexpr bool is_blackwell(Template t) { return t == Template::blackwell || t == Template::attention_blackwell; }

enum class Epilogue : uint8_t { tma, tma_whole, direct, wide };
enum class Schedule : uint8_t { serial, persistent, launch_control, stream_k };

/// A kernel. Fields that its template does not have keep their defaults.
struct Point {
  uint16_t m = 128, n = 128;         // of D, the tile of a CTA, or of a pair; queries, and keys of a block
  uint16_t block = 128, span = 128;  // bytes of a row in a block of K, and of the swizzle
  uint16_t stages = 4;
  uint16_t pair = 1;                      // CTAs that multiply together
  uint16_t cluster_m = 1, cluster_n = 1;  // tiles whose CTAs share loads by multicast
  uint16_t accumulators = 1;
  uint16_t epilogue = uint16_t(Epilogue::tma), store = 128;  // bytes of a row that a store has
  uint16_t schedule = uint16_t(Schedule::persistent);
  uint16_t band = 8;                      // tiles along M that are walked before the next column
  uint16_t split = 1, meets = 0;          // parts of K, and whether they meet in L2 instead of in D
  uint16_t consumers = 2, ping_pong = 0;  // warpgroups
  uint16_t skips = 0;                     // what lies outside the matrix is not asked for

  // Attention alone.
  uint16_t parts = 1;         // in which P is handed over
  uint16_t lazy = 1;          // O is rescaled only where exponentials would become large
  uint16_t ahead = 1;         // the next block's scores are asked for before this block's values
  uint16_t section = 1;       // heads whose tiles are walked together
  uint16_t over_queries = 0;  // O is staged where Q was

  uint32_t rows() const { return m / pair; }  // of A, in a CTA
  uint32_t rows_b() const { return n / pair; }
  uint32_t ctas() const { return uint32_t(pair) * cluster_m * cluster_n; }  // of a cluster
  uint32_t stage_bytes() const { return (rows() + rows_b()) * block; }
  Epilogue how() const { return Epilogue(epilogue); }
  /// D is stored by the threads that have it, not by TMA.
  bool by_threads() const { return how() == Epilogue::direct || how() == Epilogue::wide; }
  Schedule order() const { return Schedule(schedule); }
  bool adds() const { return (split > 1 && !meets) || order() == Schedule::stream_k; }  // parts of K, in D
  /// CTAs stay, one on an SM.
  bool stays() const { return order() == Schedule::persistent || order() == Schedule::stream_k; }
  friend bool operator==(const Point&, const Point&) = default;
};

/// One or two numbers of a point that change together.
struct Parameter {
  using Field = uint16_t Point::*;
  struct Value {
    std::string text;
    uint16_t first, second = 0;
  };
  const char* name;
  const char* what;
  Field first, second = nullptr;
  std::vector<Value> values;
  void set(Point& p, const Value& v) const;
  /// The text of the value that the point has; of one that the space does not list, its numbers.
  std::string text(const Point& p) const;
};

class Space {
 public:
  explicit Space(Template t);
  Template kind() const { return kind_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  uint64_t size() const;
  Point operator[](uint64_t index) const;
  /// All points in the order of their indices.
  void for_each(const std::function<void(uint64_t, const Point&)>& f) const;
  /// "tile=128x256 block=128 …", every parameter.
  std::string text(const Point& p) const;
  /// The parameters that `words` names, the others as in `rest`. Throws SearchError.
  Point parse(std::string_view words, Point rest) const;

 private:
  Template kind_;
  std::vector<Parameter> parameters_;
};

/// A kernel that is legal for every problem of the template: what --explain starts from.
Point plain_point(Template t);

}  // namespace tinygpu::search
