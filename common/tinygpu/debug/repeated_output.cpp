#include "common/tinygpu/debug/repeated_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace tinygpu::debug {
namespace {

constexpr int kOut = 200, kErr = 201;  // numbers that a program's own files do not have

void to_null() {
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null < 0) return;
  dup2(null, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
  close(null);
}

}  // namespace

void RepeatedOutput::cover() {
  dup2(STDOUT_FILENO, kOut);
  dup2(STDERR_FILENO, kErr);
  to_null();
}

void RepeatedOutput::take() {
  out_ = kOut;
  err_ = kErr;
  // What the program starts has no use for them.
  for (const int fd : {out_, err_}) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void RepeatedOutput::mute(uint64_t until) {
  until_ = until;
  if (out_ >= 0) return;
  std::fflush(nullptr);
  out_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, kOut);
  err_ = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, kOut);
  to_null();
}

void RepeatedOutput::end() {
  until_ = kAll;
  if (out_ < 0) return;
  std::fflush(nullptr);
  dup2(out_, STDOUT_FILENO);
  dup2(err_, STDERR_FILENO);
  close(out_);
  close(err_);
  out_ = err_ = -1;
}

}  // namespace tinygpu::debug
