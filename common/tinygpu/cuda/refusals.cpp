#include "common/tinygpu/cuda/refusals.h"

#include <algorithm>
#include <array>

namespace tinygpu::cuda {
namespace {

struct Family {
  std::string_view word;  // in the names of its functions
  Refusal refusal;
};

constexpr Refusal kOneProcess{"a machine belongs to one process, and no other process reaches its memory or events",
                              "run both parts in one process, or share the data through memory of the host"};
constexpr Refusal kSms{"the runtime's execution contexts are not there",
                       "the driver's green contexts are: cuGreenCtxCreate"};
constexpr Refusal kSparse{"an array has all its memory", "map the memory of a buffer (cuMemMap)"};
constexpr Refusal kGraphics{"there is no graphics", "copy through memory of the host"};
constexpr Refusal kOneDevice{"a machine has one device", ""};

/// The first word that is in a name decides.
constexpr auto kFamilies = std::to_array<Family>({
    {"Ipc", kOneProcess},
    {"ShareableHandle", kOneProcess},
    {"MemPoolExport", kOneProcess},
    {"MemPoolImport", kOneProcess},
    {"ExecutionCtx", kSms},
    {"ulticast", kOneDevice},
    {"MemMapArray", kSparse},
    {"SparseProperties", kSparse},
    {"HandleForAddressRange", kOneProcess},
    {"External", kGraphics},
    {"Graphics", kGraphics},
    {"cuGL", kGraphics},
    {"cudaGL", kGraphics},
    {"EGL", kGraphics},
    {"VDPAU", kGraphics},
});

}  // namespace

Refusal refusal_of(std::string_view function) {
  const auto it =
      std::ranges::find_if(kFamilies, [&](const Family& f) { return function.find(f.word) != std::string_view::npos; });
  return it == kFamilies.end() ? Refusal{} : it->refusal;
}

}  // namespace tinygpu::cuda
