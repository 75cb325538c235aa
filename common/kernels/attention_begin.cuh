// ---- What the kernel and its host side share: the problem, the walk over the queries, softmax's instructions.

using namespace gen5::ptx;
namespace layout = gen5::layout;

/// O = softmax(Q·Kᵀ·c)·V for each head, on device memory, bf16: Q and O are [heads][queries][kDim], K and V
/// [heads][keys][kDim] without gaps. kCausal: query i sees keys 0 to i.
struct Problem {
  uint32_t heads, queries, keys;
  uint16_t *q, *k, *v, *o;
  float scale;        // c · log2(e)
  uint32_t most = 0;  // pieces of work that are done, the others are left out; 0: all
};

struct Arguments {
  CUtensorMap q_map, k_map, v_map, o_map;  // boxes of 64 elements of a row; of Q, K and V of a tile's or block's rows
  uint32_t heads, queries, keys, count;
  float scale;
};

constexpr uint32_t kRowBytes = 128;  // of a box in shared memory: 64 elements, one row of the swizzle
/// Bytes of so many rows of a head: boxes of 64 elements beside each other.
__host__ __device__ constexpr uint32_t bytes_of(uint32_t rows) { return rows * kDim * 2; }

/// A place in a ring. Whoever empties waits for `parity`, whoever fills for the opposite one, so that in the first
/// round nothing has to be emptied.
struct Ring {
  uint32_t stage = 0, parity = 0;
  __device__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// A piece of work: kQueries queries of a head, from `row` on. The last queries see most keys where masks are causal,
/// so they come first, of kSection heads, whose keys and values stay in L2 together.
struct Piece {
  uint32_t head, row;
  __device__ Piece(const Arguments& args, uint32_t index) {
    const uint32_t of_a_head = layout::ceil_div(args.queries, kQueries), of_a_section = of_a_head * kSection;
    const uint32_t first = index / of_a_section * kSection, inside = index % of_a_section;
    const uint32_t heads = min(kSection, args.heads - first);
    head = first + inside % heads;
    row = (of_a_head - 1 - inside / heads) * kQueries;
  }
};

/// Blocks of keys that `rows` queries from `row` on see.
__device__ inline uint32_t blocks_of(const Arguments& args, uint32_t row, uint32_t rows) {
  if (row >= args.queries) return 0;
  const uint32_t all = layout::ceil_div(args.keys, kBlock);
  return kCausal ? min(all, layout::ceil_div(row + rows, kBlock)) : all;
}

/// Asks for `rows` rows of a head, box by box. The bytes were announced.
__device__ inline void load_rows(const CUtensorMap* map, uint8_t* to, uint32_t rows, uint32_t row, uint32_t head,
                                 uint64_t& bar) {
#pragma unroll
  for (uint32_t box = 0; box < kDim / 64; ++box)
    tensor_load_3d(shared_address(to) + box * rows * kRowBytes, map, int(box * 64), int(row), int(head),
                   shared_address(&bar));
}

__device__ inline float exp2_sfu(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Two results rounded to bf16, the first in the low half.
__device__ inline uint32_t narrow_pair(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

/// O is rescaled where an exponential would become larger than 2^kSlack.
constexpr float kSlack = kLazy ? 8 : 0;

/// The map of a stack of matrices, one a head, in boxes of 64 elements. A box that crosses the end of one head does
/// not go on into the next.
CUtensorMap heads_map(void* data, uint64_t heads, uint64_t rows, uint32_t box_rows) {
  CUtensorMap map{};
  const cuuint64_t size[3] = {kDim, rows, heads}, stride[2] = {kDim * 2, rows * kDim * 2};
  const cuuint32_t box[3] = {64, box_rows, 1}, step[3] = {1, 1, 1};
  CHECK(encode_tiled()(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, data, size, stride, box, step,
                       CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                       CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

/// A CTA for each piece of work, or as many as the chip has SMs.
void launch_pieces(void (*kernel)(Arguments), uint32_t threads, uint32_t bytes, const Problem& p, uint32_t query_box,
                   uint32_t output_box) {
  static const uint32_t sms = [&] {
    int n = 0;
    CHECK(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
    return uint32_t(n);
  }();
  uint32_t count = layout::ceil_div(p.queries, kQueries) * p.heads;
  if (p.most) count = std::min(count, p.most);
  const Arguments args{heads_map(p.q, p.heads, p.queries, query_box),
                       heads_map(p.k, p.heads, p.keys, kBlock),
                       heads_map(p.v, p.heads, p.keys, kBlock),
                       heads_map(p.o, p.heads, p.queries, output_box),
                       p.heads,
                       p.queries,
                       p.keys,
                       count,
                       p.scale};
  kernel<<<kSchedule == Schedule::persistent ? std::min(count, sms) : count, threads, bytes>>>(args);
  CHECK(cudaGetLastError());
}
