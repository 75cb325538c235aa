// What JavaScript calls. Texts are UTF-8 in the module's memory.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "web/machine/request.h"

namespace {
std::string last;
}

extern "C" {

/// Room for a request of so many bytes.
[[clang::export_name("gen5_room")]] char* gen5_room(size_t bytes) { return static_cast<char*>(std::malloc(bytes)); }

/// Answers the request, whose room is given back, and returns how many bytes the answer has.
[[clang::export_name("gen5_answer")]] size_t gen5_answer(char* request, size_t bytes) {
  const std::string text(request, bytes);
  std::free(request);
  last = tinygpu::web::answer(text);
  return last.size();
}

/// Where it stands, until the next one.
[[clang::export_name("gen5_text")]] const char* gen5_text() { return last.data(); }
}
