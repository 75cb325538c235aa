#include "common/tinygpu/debug/session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "common/tinygpu/debug/repeated_output.h"

namespace tinygpu::debug {
namespace {

int code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

}  // namespace

Session::Session(SessionOptions options) : options_(std::move(options)) {
  char folder[] = "/tmp/gen5-debug-XXXXXX";
  if (!mkdtemp(folder)) throw std::runtime_error("no folder for the debugger's socket in /tmp");
  folder_ = folder;
  socket_ = folder_ + "/socket";
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (listener_ < 0 || bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ||
      listen(listener_, 64))
    throw std::runtime_error("no socket for the debugger");
  progress_ = Progress::at(socket_, true);
  if (!progress_) throw std::runtime_error("no file for the debugger in " + folder_);
  // Snapshots outlive the process that they are copies of.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Session::~Session() {
  stop_program();
  if (listener_ >= 0) close(listener_);
  if (options_.output >= 0) close(options_.output);
  munmap(progress_, sizeof(Progress));
  std::error_code none;
  std::filesystem::remove_all(folder_, none);
}

void Session::launch() {
  std::vector<char*> arguments;
  for (const std::string& a : options_.command) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("no process for the program");
  if (pid_ == 0) {
    setpgid(0, 0);                     // a Ctrl-C at the terminal is the debugger's
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // nothing outlives the debugger, whatever it waits for
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    personality(ADDR_NO_RANDOMIZE);
    setenv("GEN5_DEBUG_SOCKET", socket_.c_str(), 1);
    setenv("GEN5_DEBUG_ACCESSES", accesses_ ? "1" : "0", 1);
    setenv("GEN5_THREADS", "1", 1);
    // A copy of the process has no threads but one, and a library that waits at the end for its own would wait forever.
    for (const char* threads : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"}) setenv(threads, "1", 0);
    const int null = open("/dev/null", O_RDONLY);
    if (null >= 0) dup2(null, STDIN_FILENO);
    if (options_.output >= 0) {
      dup2(options_.output, STDOUT_FILENO);
      dup2(options_.output, STDERR_FILENO);
    }
    if (printed_) RepeatedOutput::cover();
    execvp(arguments[0], arguments.data());
    std::fprintf(stderr, "gen5 debug: %s cannot be started: %s\n", arguments[0], std::strerror(errno));
    _exit(127);
  }
}

int Session::reap(pid_t pid) {
  int status = 0;
  pid_t ended;
  while ((ended = waitpid(pid, &status, 0)) < 0 && errno == EINTR) continue;
  return ended == pid ? code_of(status) : 0;
}

int Session::wait_for_end() {
  if (pid_ <= 0) return 0;
  for (int status = 0;;) {
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended != 0) return ended == pid_ ? code_of(status) : 0;
    pollfd ready{listener_, POLLIN, 0};
    constexpr int kMilliseconds = 5;
    if (poll(&ready, 1, kMilliseconds) > 0) take_in(Wire(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)));
  }
}

bool Session::interrupt() {
  switch (options_.interrupted()) {
    case Interrupt::none: return false;
    case Interrupt::pause: live_.send({{"do", "pause"}}); return false;
    case Interrupt::quit: break;
  }
  quit_ = true;
  stop_program();
  return true;
}

bool Session::start() {
  if (quit_) return false;
  launch();
  for (;;) {
    pollfd ready[2] = {{listener_, POLLIN, 0}, {options_.interrupt_fd, POLLIN, 0}};
    poll(ready, 2, 50);
    if (ready[1].revents && interrupt()) return false;
    if (ready[0].revents & POLLIN) {
      Wire wire(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC));
      const auto hello = wire.receive();
      if (!hello || hello->value("role", "") != "program") continue;
      live_ = std::move(wire);
      position_ = 0;
      live_pid_ = hello->value("pid", 0);
      if (printed_) live_.send({{"do", "mute"}, {"until", printed_}});
      live_.send({{"do", "keep"}});
      while (const auto answer = next_event())
        if (answer->contains("done")) break;
      return live_.open();
    }
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      exit_code_ = code_of(status);
      pid_ = 0;
      return false;
    }
  }
}

void Session::stop_program() {
  for (Snapshot& s : snapshots_) {
    kill(s.pid, SIGKILL);
    reap(s.pid);
  }
  snapshots_.clear();
  end_live();
}

void Session::end_live() {
  if (live_.open() && live_pid_ > 0) kill(live_pid_, SIGKILL);  // pid_ may be a shell that has started it
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    reap(pid_);
  }
  pid_ = live_pid_ = 0;
  live_.close();
}

void Session::take_in(Wire wire) {
  const auto hello = wire.receive();
  if (!hello) return;
  if (hello->value("role", "") != "snapshot") {  // a child of the program's own
    wire.send({{"do", "free"}});
    return;
  }
  Snapshot s{std::move(wire), hello->at("position"), hello->at("pid")};
  snapshots_.insert(std::ranges::upper_bound(snapshots_, s.position, {}, &Snapshot::position), std::move(s));
  thin_out();
}

void Session::thin_out() {
  while (snapshots_.size() > std::max<size_t>(options_.snapshots, 2)) {
    // The one without which the gap is least; never the first.
    size_t least = 1;
    uint64_t gap = ~0ull;
    for (size_t k = 1; k + 1 < snapshots_.size(); ++k)
      if (const uint64_t without = snapshots_[k + 1].position - snapshots_[k - 1].position; without < gap) {
        gap = without;
        least = k;
      }
    kill(snapshots_[least].pid, SIGKILL);
    reap(snapshots_[least].pid);
    snapshots_.erase(snapshots_.begin() + int64_t(least));
  }
}

std::optional<Json> Session::next_event() {
  for (;;) {
    pollfd ready[3] = {{live_.fd(), POLLIN, 0}, {listener_, POLLIN, 0}, {options_.interrupt_fd, POLLIN, 0}};
    const bool pending = live_.pending();
    if (poll(ready, 3, pending ? 0 : -1) < 0) {
      if (errno == EINTR) continue;
      return {};
    }
    if (ready[1].revents & POLLIN) take_in(Wire(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)));
    if (ready[2].revents && interrupt()) return {};
    if (!ready[0].revents && !pending) continue;
    auto event = live_.receive();
    if (!event) {
      live_.close();
      return {};
    }
    if (event->value("event", "") == "diagnosis") {
      if (std::ranges::find(diagnoses_, *event) == diagnoses_.end()) diagnoses_.push_back(*event);
      continue;
    }
    return event;
  }
}

Stopped Session::run_live(const Json& stops, bool record) {
  Stopped out;
  live_.send({{"do", "run"}, {"stops", stops}, {"record", record}, {"keep_every", options_.keep_every}});
  for (;;) {
    const auto event = next_event();
    if (!event) {
      if (out.event.empty()) {
        out.event = "lost";
        position_ = std::max(position_, progress_->position);
        if (progress_->recorded) out.recorded = progress_->recorded;
      }
      out.exit_code = exit_code_ = wait_for_end();
      printed_ = RepeatedOutput::kAll;
      pid_ = 0;
      out.position = position_;
      return out;
    }
    const std::string what = event->value("event", "");
    position_ = event->value("position", position_);
    if (what != "recorded") printed_ = std::max(printed_, position_);
    if (what == "recorded") {
      out.recorded = event->at("position");
      out.hit = event->value("hit", "");
    }
    if (what == "ended") out.event = "ended";  // the connection closes behind it
    if (what == "stopped") {
      out.event = what;
      out.why = event->value("why", "");
      out.text = event->value("text", "");
      out.id = event->value("id", 0);
      out.position = position_;
      out.focus = event->value("focus", Json());
      if (event->contains("recorded")) {
        out.recorded = event->at("recorded");
        out.hit = event->value("hit", "");
      }
      return out;
    }
  }
}

Stopped Session::run(Json stops) {
  if (!alive()) return {.event = "ended", .position = position_, .exit_code = exit_code_};
  return run_live(stops, false);
}

bool Session::wake(uint64_t position) {
  end_live();
  auto s = std::ranges::upper_bound(snapshots_, position, {}, &Snapshot::position);
  while (s != snapshots_.begin()) {
    --s;
    Snapshot last = std::move(*s);
    s = snapshots_.erase(s);
    live_ = std::move(last.wire);
    pid_ = live_pid_ = last.pid;
    live_.send({{"do", "wake"}, {"printed", printed_}});
    const auto awake = next_event();
    if (awake && awake->value("event", "") == "awake") {
      position_ = last.position;
      return true;
    }
    live_.close();  // it has been killed from outside
    s = std::ranges::upper_bound(snapshots_, position, {}, &Snapshot::position);
  }
  return start();
}

Stopped Session::go_to(uint64_t position) {
  const bool forward = alive() && position_ <= position;
  // A snapshot behind this moment is a shorter way.
  const bool shorter = !snapshots_.empty() && std::ranges::any_of(snapshots_, [&](const Snapshot& s) {
    return s.position > position_ && s.position <= position;
  });
  if ((!forward || shorter) && !wake(position))
    return {.event = "lost", .position = position_, .exit_code = exit_code_};
  return run_live({{"limit", position}}, false);
}

std::optional<Stopped> Session::back_to(const Json& stops) {
  const uint64_t here = position_;
  const bool ended = !alive();
  for (uint64_t end = ended ? here + 1 : here; end > 0;) {
    if (!wake(end - 1)) return {};
    const uint64_t begin = position_;
    Json wanted = stops;
    wanted["limit"] = end;
    const Stopped found = run_live(wanted, true);
    if (found.why == "pause" || quit_) return found;
    if (found.recorded) {
      Stopped there = go_to(*found.recorded);
      if (there.event == "stopped" && !found.hit.empty()) {
        there.why = "event";
        there.text = found.hit;
      }
      return there;
    }
    if (begin == 0) break;
    end = begin;
  }
  if (ended)
    while (alive()) run_live(Json::object(), false);
  else
    go_to(here);
  return {};
}

Json Session::view(const Json& request) {
  if (!alive()) return {{"error", "the program has ended: go back first"}};
  live_.send(request);
  const auto answer = next_event();
  return answer ? *answer : Json{{"error", "the program is gone"}};
}

bool Session::restart() {
  stop_program();
  printed_ = 0;
  diagnoses_.clear();
  return start();
}

Stopped Session::watch_accesses() {
  const uint64_t here = position_;
  accesses_ = true;
  stop_program();
  if (!start()) return {.event = "lost", .exit_code = exit_code_};
  return here ? go_to(here) : Stopped{.event = "stopped", .why = "limit"};
}

std::vector<Session::Kept> Session::snapshots() const {
  std::vector<Kept> out;
  for (const Snapshot& s : snapshots_) {
    Kept kept{s.position, 0};
    std::ifstream file("/proc/" + std::to_string(s.pid) + "/smaps_rollup");
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("Private_Dirty:")) kept.bytes = std::strtoull(line.c_str() + 14, nullptr, 10) * 1024;
    out.push_back(kept);
  }
  return out;
}

}  // namespace tinygpu::debug
