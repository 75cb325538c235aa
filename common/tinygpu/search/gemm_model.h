// A product on the tiny machine: the template's roles in the machine's instructions, for one SM that has as many tiles
// as any.
#pragma once
#include <vector>

#include "common/tinygpu/search/model.h"

namespace tinygpu::search {

class GemmModel final : public Model {
 public:
  /// A tile of up to so many bytes of K is walked whole, and of a deeper one what repeats itself is not (Steady).
  static constexpr uint32_t kWalked = 32768;
  GemmModel(const MachineSpec& spec, const Problem& problem, uint32_t walked = kWalked)
      : spec_(spec), numbers_(spec), kind_(template_of(spec)), problem_(problem), walked_(walked) {}
  Estimate estimate(const Point& p) const override;
  Cycles least(const Point& p) const override;
  /// Of a tensor core that nothing else multiplies on, for a block of K.
  Cycles tensor_time(const Point& p) const;
  /// Of A and B, and what L2 keeps of what is read.
  double read_bytes() const;
  double kept_bytes() const { return numbers_.l2_keeps; }
  /// Of A, B and D, and of L2.
  double all_bytes() const;
  double l2_bytes() const { return numbers_.l2_lines; }

 private:
  struct Plan;
  class Traffic;
  /// Rows that all clusters load, and the matrix does not have.
  struct Outside {
    uint32_t of_a, of_b;
  };
  Plan plan(const Point& p) const;
  uint32_t slots(const Point& p) const;
  Outside outside(const Point& p) const;
  void plan_load(Plan& plan) const;
  void plan_product(Plan& plan) const;
  void plan_waves(Plan& plan) const;
  std::vector<uint32_t> tiles_of_one(const Point& p, uint32_t tiles, uint32_t at_once) const;

  const MachineSpec& spec_;
  const Numbers numbers_;
  const Template kind_;
  const Problem problem_;
  const uint32_t walked_;
};

}  // namespace tinygpu::search
