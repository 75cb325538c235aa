// A connection over which two processes send each other JSON documents, a line each.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

namespace tinygpu::debug {

using Json = nlohmann::json;

class Wire {
 public:
  Wire() = default;
  explicit Wire(int fd) : fd_(fd) {}
  ~Wire() { close(); }
  Wire(Wire&& o) noexcept : fd_(std::exchange(o.fd_, -1)), rest_(std::move(o.rest_)) {}
  Wire& operator=(Wire&& o) noexcept;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  /// To the socket at this path of the file system. Not open where nothing listens.
  static Wire connect(const std::string& path);
  bool open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  void close();
  /// False: the other side is gone.
  bool send(const Json& document);
  /// A document is here already: the socket has nothing to say of it.
  bool pending() const { return rest_.find('\n') != std::string::npos; }
  /// The other side has said something, or is gone.
  bool readable() const;
  /// Waits for the next document. Nothing: the other side is gone, or has sent no JSON.
  std::optional<Json> receive();

 private:
  int fd_ = -1;
  std::string rest_;  // received behind the last document
};

}  // namespace tinygpu::debug
