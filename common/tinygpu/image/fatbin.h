// The fatbin container: what nvcc puts into .nv_fatbin, and what __cudaRegisterFatBinary and the module calls are
// given. Layout: public descriptions and nvcc 13.0's own output, every compression mode checked by tests/cuda.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/tinygpu/image/elf.h"

namespace tinygpu::image {

/// The container is malformed: says what was found where.
class FatbinError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One program image of a container.
struct FatbinEntry {
  enum class Kind : uint16_t { ptx = 1, cubin = 2, other = 0 } kind = Kind::other;
  uint32_t arch = 0;                              // 100 for sm_100, sm_100a and sm_100f alike
  uint16_t version_major = 0, version_minor = 0;  // of the PTX ISA, for PTX
  uint64_t flags = 0;
  std::string options;      // ptxas options recorded in the header, e.g. "--compile-only"
  Bytes payload;            // as stored
  uint64_t compressed = 0;  // bytes of `payload` that are compressed data; 0: plain
  uint64_t plain_size = 0;  // after decompression; 0: plain

  static constexpr uint64_t kLz4 = 0x2000, kZstd = 0x8000;

  /// An image is not larger than this when unpacked.
  static constexpr uint64_t kMaxImage = uint64_t(1) << 28;

  /// The image, decompressed. PTX text comes without its trailing NULs. Throws FatbinError.
  std::string image() const;
};

/// Total size of the container at `data` in bytes (header and entries), all of them readable. Reads of memory no more
/// than what it has read already says is there. Throws FatbinError if there is no container.
uint64_t fatbin_size(const void* data);
/// The entries of one container (0xBA55ED50 …). `bytes` must hold it whole. Throws FatbinError.
std::vector<FatbinEntry> read_fatbin(Bytes bytes);
/// The entries of every container in a section such as .nv_fatbin, where containers follow each other, 8-byte aligned.
std::vector<FatbinEntry> read_fatbin_section(Bytes section);

bool is_fatbin(Bytes bytes);
/// True if memory at `data` begins with a container's magic number. Reads no byte behind the first that differs.
bool begins_as_fatbin(const void* data);

/// What __cudaRegisterFatBinary is given (crt: __fatBinC_Wrapper_t).
struct FatbinWrapper {
  static constexpr uint32_t kMagic = 0x466243B1;
  uint32_t magic;
  uint32_t
      version;  // 1: data is the container; 2: data is the linked cubin, prelinked[] the containers it was made from
  const void* data;
  const void* const* prelinked;  // version 1: unused
};
/// True if memory at `p` begins with a wrapper's magic number.
bool is_wrapper(const void* p);
/// The containers behind a wrapper: `data`, or for device-linked programs the per-file ones. Throws FatbinError, also
/// for a null pointer and where memory ends too early.
std::vector<Bytes> containers_of(const FatbinWrapper* wrapper);

/// The text of ".target sm_100a" without options: "sm_100a"; empty if `ptx` has none.
std::string_view ptx_target(std::string_view ptx);

}  // namespace tinygpu::image
