// Moments of a kernel that its own threads write down, for timelines where nobody else watches: real hardware.
//
//   Stamps<kStamped> asked(buffer, Moment::asked);   // in the thread that asks for blocks
//   …
//   asked.take();                                    // once a block
//
// A kernel is compiled twice, with and without: kStamped false costs nothing.
#pragma once
#include <cstddef>
#include <cstdint>

namespace gen5::harness {

/// What has just happened when a thread takes a stamp. The first three are numbered by blocks, the others by tiles.
enum class Moment : uint32_t {
  asked,   // a stage is free, a block's loads go out
  landed,  // the block's loads have been waited for, its work goes out
  done,    // the block's work has been waited for; kernels in which nobody does that have no such stamps
  ready,   // the accumulators of a tile have been waited for
  stored,  // and have been carried out
};
constexpr uint32_t kMoments = 5;
constexpr uint32_t kStampsOfAMoment = 256;                           // later ones are not kept
constexpr uint32_t kStampsOfACta = 1 + kMoments * kStampsOfAMoment;  // the first word: %smid + 1
constexpr uint32_t kStampedCtas = 1024;                              // CTAs behind these write nothing
constexpr uint32_t kStampWords = kStampedCtas * kStampsOfACta;       // of a buffer, all zero beforehand

#ifdef __CUDACC__
template <bool kStamped>
class Stamps {
 public:
  /// A moment's stamps come from the thread of a CTA for which `mine` holds; if from several, each skips the others'.
  __device__ Stamps(uint64_t* buffer, Moment moment, bool mine = true) {
    const uint32_t cta = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    if (!mine || cta >= kStampedCtas) return;
    uint64_t* all = buffer + size_t(cta) * kStampsOfACta;
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    *all = sm + 1;
    next_ = all + 1 + uint32_t(moment) * kStampsOfAMoment;
    end_ = next_ + kStampsOfAMoment;
  }
  /// The SM's clock, now.
  __device__ void take() {
    if (next_ < end_) *next_++ = clock64();
  }
  /// `count` stamps are another thread's.
  __device__ void skip(uint32_t count) { next_ += next_ ? count : 0; }

 private:
  uint64_t *next_ = nullptr, *end_ = nullptr;
};

template <>
class Stamps<false> {
 public:
  __device__ Stamps(uint64_t*, Moment, bool = true) {}
  __device__ void take() {}
  __device__ void skip(uint32_t) {}
};
#endif

}  // namespace gen5::harness
