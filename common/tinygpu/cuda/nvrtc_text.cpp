// In front of NVRTC (`gen5 run` preloads this where a program needs it): a program that compiles for a real
// architecture asks for machine code and loads it. It gets the PTX, which NVRTC has then, too.
#include <dlfcn.h>

#include <cstddef>

namespace {

constexpr int kInternalError = 11;  // NVRTC_ERROR_INTERNAL_ERROR

template <class Out>
int ask_nvrtc(const char* function, void* program, Out* out) {
  using Function = int (*)(void*, Out*);
  const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, function));
  return real ? real(program, out) : kInternalError;
}

}  // namespace

extern "C" {

int nvrtcGetCUBINSize(void* program, size_t* size) { return ask_nvrtc("nvrtcGetPTXSize", program, size); }
int nvrtcGetCUBIN(void* program, char* text) { return ask_nvrtc("nvrtcGetPTX", program, text); }

}  // extern "C"
