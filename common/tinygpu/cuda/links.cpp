#include "common/tinygpu/cuda/links.h"

#include <utility>

#include "common/tinygpu/cuda/exports.h"
#include "common/tinygpu/cuda/show.h"
#include "common/tinygpu/cuda/state.h"

namespace tinygpu::cuda {

Link* Links::create(const JitOptions& jit) {
  auto link = std::make_unique<Link>();
  link->jit = jit;
  Link* const handle = link.get();
  all_[handle] = std::move(link);
  return handle;
}

Link* Links::find(void* handle) const {
  const auto it = all_.find(handle);
  return it == all_.end() ? nullptr : it->second.get();
}

const Link* Links::of_result(const void* address) const {
  for (const auto& [_, link] : all_)
    if (!link->result.empty() && link->result.data() == address) return link.get();
  return nullptr;
}

CUresult add_piece(State& s, Link& link, CUjitInputType type, image::Bytes bytes) {
  if (type >= CU_JIT_NUM_INPUT_TYPES || bytes.empty()) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_JIT_INPUT_PTX && type != CU_JIT_INPUT_FATBINARY)
    return CUresult(say_not_implemented("cuLinkAddData of machine code or of a library"));
  if (bytes.back() == 0) bytes = bytes.first(bytes.size() - 1);  // behind PTX
  try {
    image::Images more = image::images_of(bytes, s.machine.spec(), ptx_kept_by_compilers());
    for (image::PtxImage& p : more.ptx) link.pieces.ptx.push_back(std::move(p));
    link.pieces.resources.merge(more.resources);
    link.pieces.machine_code.merge(more.machine_code);
    return CUDA_SUCCESS;
  } catch (const api::LoadError& refused) {
    if (!log_error(link.jit, refused.what())) say("module-not-loaded", refused.what());
    return code_of(refused);
  }
}

CUresult complete(State& s, Link& link) {
  if (const CUresult e = try_images(s, link.pieces, link.jit); e != CUDA_SUCCESS) return e;
  link.result.clear();
  for (const image::PtxImage& p : link.pieces.ptx) link.result += p.text + "\n";
  return CUDA_SUCCESS;
}

}  // namespace tinygpu::cuda
