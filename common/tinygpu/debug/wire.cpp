#include "common/tinygpu/debug/wire.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tinygpu::debug {

Wire& Wire::operator=(Wire&& o) noexcept {
  if (this != &o) {
    close();
    fd_ = std::exchange(o.fd_, -1);
    rest_ = std::move(o.rest_);
  }
  return *this;
}

Wire Wire::connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return {};
  std::memcpy(address.sun_path, path.data(), path.size());
  Wire wire(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!wire.open()) return wire;
  if (::connect(wire.fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address))) wire.close();
  return wire;
}

void Wire::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

bool Wire::send(const Json& document) {
  const std::string line = document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (size_t at = 0; at < line.size();) {
    const ssize_t n = ::send(fd_, line.data() + at, line.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += size_t(n);
  }
  return true;
}

bool Wire::readable() const {
  pollfd ready{fd_, POLLIN, 0};
  return pending() || poll(&ready, 1, 0) > 0;
}

std::optional<Json> Wire::receive() {
  for (;;) {
    if (const size_t end = rest_.find('\n'); end != std::string::npos) {
      Json document = Json::parse(rest_.substr(0, end), nullptr, false);
      rest_.erase(0, end + 1);
      if (document.is_discarded()) return {};
      return document;
    }
    char buffer[65536];
    const ssize_t n = ::recv(fd_, buffer, sizeof(buffer), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {};
    rest_.append(buffer, size_t(n));
  }
}

}  // namespace tinygpu::debug
