// Putting pieces of device code together at run time (cuLink…).
#include "common/tinygpu/cuda/driver.h"
#include "common/tinygpu/cuda/links.h"
#include "common/tinygpu/image/host_memory.h"

using namespace tinygpu::cuda;

namespace {

template <class F>
CUresult on_link(CUlinkState state, F&& f) {
  return in_context([&](State& s) {
    Link* const link = s.links.find(state);
    return link ? CUresult(f(s, *link)) : CUDA_ERROR_INVALID_HANDLE;
  });
}

}  // namespace

extern "C" {

CUresult cuLinkCreate_v2(unsigned count, CUjit_option* options, void** values, CUlinkState* out) {
  return in_context([&](State& s) {
    if (!out || (count && (!options || !values))) return CUDA_ERROR_INVALID_VALUE;
    *out = reinterpret_cast<CUlinkState>(s.links.create({options, values, count}));
    return CUDA_SUCCESS;
  });
}
CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data, size_t size, const char*, unsigned,
                          CUjit_option*, void**) {
  return on_link(state, [&](State& s, Link& link) {
    if (!tinygpu::image::host_accessible(data, size, false)) return CUDA_ERROR_INVALID_VALUE;
    return add_piece(s, link, type, {static_cast<const uint8_t*>(data), size});
  });
}
CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char* path, unsigned, CUjit_option*, void**) {
  return on_link(state, [&](State& s, Link& link) {
    if (!path) return CUDA_ERROR_INVALID_VALUE;
    const auto bytes = read_code(path);
    return bytes ? add_piece(s, link, type, *bytes) : CUDA_ERROR_FILE_NOT_FOUND;
  });
}
CUresult cuLinkComplete(CUlinkState state, void** result, size_t* size) {
  return on_link(state, [&](State& s, Link& link) {
    if (!result) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult e = complete(s, link); e != CUDA_SUCCESS) return e;
    *result = link.result.data();
    if (size) *size = link.result.size() + 1;
    return CUDA_SUCCESS;
  });
}
CUresult cuLinkDestroy(CUlinkState state) {
  return on_link(state, [&](State& s, Link&) {
    s.links.destroy(state);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
