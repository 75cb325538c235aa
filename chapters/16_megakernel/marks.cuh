// Numbers that say themselves that they are there (step 7, and what the parts of an attention leave each other). A word
// has a bf16 in its upper half and in its lower half the mark of the launch that has written it. A word is written and
// read as a whole, so whoever sees the mark has the number: no counter, no fence, and no order between one word and
// another is needed.
#pragma once
#include "chapters/16_megakernel/pages.cuh"

namespace megakernel::kernels {

__device__ inline uint32_t mark_of(const Arguments& args) { return (args.marks + 1) & 0xffff; }

__device__ inline void store_marked(uint32_t* to, uint16_t number, uint32_t mark) {
  word_store(to, uint32_t(number) << 16 | mark);
}

/// Waits for a number.
__device__ inline uint16_t marked_number(const uint32_t* from, uint32_t mark) {
  uint32_t word;
  do word = word_read(from);
  while ((word & 0xffff) != mark);
  return uint16_t(word >> 16);
}

/// Two floats as four words: their halves, each with a mark.
__device__ inline uint4 marked_halves(float2 two, uint32_t mark) {
  const uint32_t x = __float_as_uint(two.x), y = __float_as_uint(two.y);
  return {(x & 0xffff0000) | mark, x << 16 | mark, (y & 0xffff0000) | mark, y << 16 | mark};
}
__device__ inline bool are_marked(const uint4& halves, uint32_t mark) {
  return (((halves.x ^ mark) | (halves.y ^ mark) | (halves.z ^ mark) | (halves.w ^ mark)) & 0xffff) == 0;
}
__device__ inline float2 wholes_of(const uint4& halves) {
  return {__uint_as_float(__byte_perm(halves.x, halves.y, 0x3276)),
          __uint_as_float(__byte_perm(halves.z, halves.w, 0x3276))};
}

/// Eight numbers that follow each other, and whether they are there.
struct MarkedEight {
  uint4 words[2];

  __device__ void load(const uint32_t* from) {
    words[0] = word_read_x4(from);
    words[1] = word_read_x4(from + 4);
  }
  __device__ bool there(uint32_t mark) const {
    uint32_t wrong = 0;
#pragma unroll
    for (const uint4& w : words) wrong |= (w.x ^ mark) | (w.y ^ mark) | (w.z ^ mark) | (w.w ^ mark);
    return (wrong & 0xffff) == 0;
  }
  __device__ uint4 numbers() const {
    const uint4 &a = words[0], &b = words[1];
    return {__byte_perm(a.x, a.y, 0x7632), __byte_perm(a.z, a.w, 0x7632), __byte_perm(b.x, b.y, 0x7632),
            __byte_perm(b.z, b.w, 0x7632)};
  }
};

}  // namespace megakernel::kernels
