// Which proxy an operation goes through to shared memory (PTX ISA 8.6).
#pragma once
#include "common/tinygpu/machine/observe.h"

namespace tinygpu {

/// cp.async and st.async work in the generic proxy; copies, reads and answers of units in the async one.
inline Proxy proxy_of(AsyncOperation::Kind kind) {
  using Kind = AsyncOperation::Kind;
  return kind == Kind::async_copy || kind == Kind::async_store ? Proxy::generic : Proxy::async;
}

}  // namespace tinygpu
