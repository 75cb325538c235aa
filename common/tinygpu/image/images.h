// Which PTX of what a program carries a machine runs: the choice that a driver makes.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/tinygpu/image/cubin.h"
#include "common/tinygpu/image/fatbin.h"
#include "common/tinygpu/image/machine_code.h"
#include "common/tinygpu/timing/spec.h"

namespace tinygpu::image {

/// Nothing can be loaded; the sentence says why, and what to do.
class LoadError : public std::runtime_error {
 public:
  enum class Kind : uint8_t {
    invalid_image,   // neither PTX nor a container, or a broken one
    no_binary,       // nothing in it is for this machine
    invalid_ptx,     // the parser or the linker refuses it
    not_decoded,     // of one kernel
    no_such_kernel,  // the module has none of that name
  };
  LoadError(Kind k, const std::string& why) : std::runtime_error(why), kind(k) {}
  const Kind kind;
};

/// One PTX text and where it came from.
struct PtxImage {
  std::string text;
  bool assembled = false;  // a cubin made from it lies beside it: ptxas has accepted every form
};

/// What a set of containers offers a machine.
struct Images {
  std::vector<PtxImage> ptx;                     // one per container
  std::map<std::string, CubinKernel> resources;  // by function name
  std::map<std::string, std::shared_ptr<const SassCode>> machine_code;
};

/// True if a driver would compile PTX for `target` ("sm_100a") on a GPU of this compute capability: sm_NN on NN and
/// later, sm_NNf on later ones of the same family, sm_NNa on exactly NN.
bool target_runs_on(std::string_view target, int major, int minor);
/// 100 of "sm_100a"; 0 if it is no target.
int target_number(std::string_view target);

/// Of a cubin: the PTX that a compiler kept beside it, if it did.
using KeptPtx = std::function<std::optional<std::string>(std::string_view cubin)>;

/// Picks from each container the PTX the driver would (the highest that runs here). Throws LoadError: no_binary says
/// what to rebuild with.
Images choose_images(const std::vector<Bytes>& containers, const MachineSpec& spec, const KeptPtx& kept = {});

/// Of what a program registers. Throws LoadError.
Images images_of(const FatbinWrapper* wrapper, const MachineSpec& spec, const KeptPtx& kept = {});

/// What the module loading calls accept: PTX text (NUL-terminated), a fatbin, a fatbin wrapper; a cubin is refused. No
/// byte is read that the bytes before it don't promise, nor memory that isn't there. Throws LoadError.
Images images_at(const void* image, const MachineSpec& spec, const KeptPtx& kept = {});
/// The same for a file's bytes: PTX text or a fatbin.
Images images_of(Bytes file, const MachineSpec& spec, const KeptPtx& kept = {});

}  // namespace tinygpu::image
