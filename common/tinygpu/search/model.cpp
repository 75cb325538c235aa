#include "common/tinygpu/search/model.h"

#include "common/tinygpu/search/attention_model.h"
#include "common/tinygpu/search/gemm_model.h"

namespace tinygpu::search {

std::unique_ptr<Model> make_model(const MachineSpec& spec, const Problem& problem) {
  if (problem.operation == Operation::attention) return std::make_unique<AttentionModel>(spec, problem);
  return std::make_unique<GemmModel>(spec, problem);
}

}  // namespace tinygpu::search
