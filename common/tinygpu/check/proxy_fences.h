// Shared memory that ordinary stores have written, and that a copy or an MMA reads although no fence.proxy.async has
// handed it to the async proxy (PTX ISA 8.6, 9.7.13.4). Everything found here is wrong in every schedule; not
// everything that is wrong is found.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/tinygpu/check/books.h"

namespace tinygpu::checks {

class ProxyFences final : public Observer {
 public:
  ProxyFences() : Observer(operations | synchronisation | shared_accesses) {}
  std::unique_ptr<Observer> another() override { return std::make_unique<ProxyFences>(); }
  uint32_t interests_in(const LaunchConfig& launch) const override;
  void on_launch(const Launch&) override;
  void on_cta(const Cta&, bool starts, uint64_t time) override;
  void on_issue(const AsyncOperation&) override;
  void on_sync(const Sync&) override;
  void on_access(const MemoryAccess&) override;

 private:
  /// Of a CTA. Who is told of what is known per warp. Moments are numbered by the fences and acquisitions of the CTA's
  /// warps; a store is told to the async proxy by a later fence of its own warp, or of one that has acquired something
  /// since.
  class Stores {
   public:
    bool opened() const { return !marks_.empty(); }
    void open(size_t shared_bytes) { marks_.resize(shared_bytes / kGrain + 1); }
    /// Warp `warp` has stored; −1: a warp of another CTA, of whose fences nothing is known.
    void stored(int warp, const LaneAccess& lanes);
    /// The async proxy has written there: what was stored before is gone.
    void forget(uint64_t offset, uint64_t bytes) { set(offset, bytes, 0); }
    /// fence.proxy.async of shared memory; −1: by a warp of another CTA, which counts as if it covered everything.
    void fenced(int warp);
    /// The warp has synchronised with another; −1: all of the CTA have.
    void acquired(int warp);
    /// Some store may not have been handed over; untold(): one in the 16 bytes at `offset` has not.
    bool any_untold() const;
    bool untold(uint64_t offset) const {
      const uint32_t mark = offset / kGrain < marks_.size() ? marks_[offset / kGrain] : 0;
      return mark && !told(mark >> kWarpBits, mark & (kWarps - 1));
    }

   private:
    static constexpr uint32_t kGrain = 16;  // what bulk copies move
    static constexpr uint32_t kWarpBits = 6, kWarps = 1u << kWarpBits;
    void set(uint64_t offset, uint64_t bytes, uint32_t mark);
    uint32_t tick();
    bool told(uint32_t moment, uint32_t warp) const { return fenced_[warp] > moment || covered_ > moment; }

    std::vector<uint32_t> marks_;  // per 16 bytes: moment and warp of the last store, 0 for none
    std::array<uint32_t, kWarps> last_store_{}, fenced_{}, acquired_{};
    uint32_t now_ = 1;
    uint32_t all_acquired_ = 0;
    uint32_t covered_ = 0;  // stores of all warps before this moment have been fenced by a warp that knew of them
  };
  CtaBooks<Stores> books_;
};

}  // namespace tinygpu::checks
