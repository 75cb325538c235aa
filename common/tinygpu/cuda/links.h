// Pieces of device code that cuLink… puts together. The result is PTX, not machine code: what is loaded from its
// address is all the pieces.
#pragma once
#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "common/tinygpu/cuda/library.h"
#include "common/tinygpu/image/images.h"

namespace tinygpu::cuda {

struct Link {
  JitOptions jit;  // the program keeps its arrays until the end
  image::Images pieces;
  std::string result;  // of complete()
};

class Links {
 public:
  Link* create(const JitOptions& jit);
  /// Null if it is none that lives.
  Link* find(void* handle) const;
  bool destroy(void* handle) { return all_.erase(handle) != 0; }
  /// The link whose result begins at this address, or null.
  const Link* of_result(const void* address) const;

 private:
  std::map<void*, std::unique_ptr<Link>> all_;
};

/// PTX, or a container with PTX in it. Others are refused by name.
CUresult add_piece(State& s, Link& link, CUjitInputType type, image::Bytes bytes);
/// Loads all pieces, to see that they fit together; the reasons go to the options' log.
CUresult complete(State& s, Link& link);

}  // namespace tinygpu::cuda
