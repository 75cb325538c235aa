// Attention on the tiny machine: the templates' roles in the machine's instructions, for the SM that has most to do.
#pragma once
#include <vector>

#include "common/tinygpu/search/model.h"

namespace tinygpu::search {

class AttentionModel final : public Model {
 public:
  AttentionModel(const MachineSpec& spec, const Problem& problem)
      : spec_(spec), numbers_(spec), kind_(template_of(spec, Operation::attention)), problem_(problem) {}
  Estimate estimate(const Point& p) const override;
  Cycles least(const Point& p) const override;

 private:
  struct Plan;
  Plan plan(const Point& p) const;

  const MachineSpec& spec_;
  const Numbers numbers_;
  const Template kind_;
  const Problem problem_;
};

/// A piece of work, as the kernels count them: a CTA's queries of a head.
uint32_t pieces(const Problem& problem, const Point& p);
/// Blocks of keys that the queries of piece `index` see.
uint32_t blocks_of_piece(const Problem& problem, const Point& p, uint32_t index);
/// The blocks of each piece of the SM that has most to do, in their order, where `sms` SMs share the first `count`
/// pieces.
std::vector<uint32_t> busiest(const Problem& problem, const Point& p, uint32_t sms, uint32_t count);

}  // namespace tinygpu::search
