#include "common/harness/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace gen5::harness {

int code_with_output(int code) {
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  std::fprintf(stderr, "error: standard output cannot be written: %s\n",
               errno ? std::strerror(errno) : "an earlier write failed");
  return code ? code : 1;
}

}  // namespace gen5::harness
