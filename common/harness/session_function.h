// Functions that tinygpu exports (its cuda/session.h). A program that runs on NVIDIA's runtime finds none.
#pragma once
#include <dlfcn.h>

namespace gen5::harness {

/// Of that name; null: there is none.
template <class Function>
Function* session_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace gen5::harness
