#include "common/tinygpu/cuda/show.h"

#include <cuda.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "common/tinygpu/cuda/debug_command.h"
#include "common/tinygpu/cuda/exit_code.h"
#include "common/tinygpu/cuda/process.h"
#include "common/tinygpu/cuda/refusals.h"
#include "common/tinygpu/cuda/unwritable.h"
#include "common/tinygpu/diagnosis/findings.h"
#include "common/tinygpu/diagnosis/grouping.h"
#include "common/tinygpu/diagnosis/render.h"
#include "common/tinygpu/diagnosis/sarif.h"
#include "common/tinygpu/image/host_memory.h"

namespace tinygpu::cuda {
namespace {

std::string current_folder() {
  std::error_code none;
  return std::filesystem::current_path(none).string();
}

/// GEN5_SARIF; %p in it is the process, of which a program may start several.
std::string log_file() {
  std::string name(variable("GEN5_SARIF"));
  if (const size_t at = name.find("%p"); at != std::string::npos) name.replace(at, 2, std::to_string(getpid()));
  std::error_code none;  // the folder of this process may be gone
  const std::filesystem::path whole = std::filesystem::absolute(name, none);
  return none || name.empty() ? name : whole.string();
}

/// The call has answered with an error code, and the program may know what to do without it, as on a driver that lacks
/// it: not a fault of the program.
bool refused(std::string_view code) { return code == "not-implemented" || code == "private-interface"; }

class Outlet {
 public:
  void show(const Diagnosis& d) {
    const std::lock_guard lock(mutex_);
    const bool wrong = d.severity == Severity::error && !refused(d.code);
    if (wrong) error_was_diagnosed();
    const bool fresh = findings_.add(d, {}, launch_);
    diagnosis::RenderOptions options;
    options.folder = folder_;
    options.files = &files_;
    options.launch = launch_;
    if (listener_) {
      listener_(d, diagnosis::render(d, options));
    } else if (!fresh) {
      ++repeated_;
    } else if (log_.empty() || !diagnosis::is_of_the_run(d)) {
      options.color = diagnosis::in_color(STDERR_FILENO);
      options.more = codes_.empty();
      options.general = codes_.insert(d.code).second;
      if (wrong && !told_debug_) options.debug = debug_command(d, folder_);
      told_debug_ |= !options.debug.empty();
      const std::string text = diagnosis::render(d, options);
      if (printer_)
        printer_(d, text);
      else
        std::fputs(text.c_str(), stderr);
    }
    if (!log_.empty() && fresh) write();
  }
  void listen(void (*listener)(const Diagnosis&, const std::string&)) {
    const std::lock_guard lock(mutex_);
    listener_ = listener;
  }
  void print_by(void (*printer)(const Diagnosis&, const std::string&)) {
    const std::lock_guard lock(mutex_);
    printer_ = printer;
  }
  void name_launches(const std::string& name) {
    const std::lock_guard lock(mutex_);
    launch_ = name;
  }
  std::optional<std::string> source_line(const std::string& file, int line) {
    const std::lock_guard lock(mutex_);
    const auto text = files_.line(file, line);
    return text ? std::optional(std::string(*text)) : std::nullopt;
  }
  void begin() {
    const std::lock_guard lock(mutex_);
    if (!log_.empty()) write();
  }
  void forked() {
    new (&mutex_) std::mutex;  // another thread, which the child does not have, may hold it
    const std::string before = std::exchange(log_, log_file());
    if (log_ == before) log_.clear();
    findings_ = {};
    repeated_ = 0;
    run_.launches = 0;
  }
  void launch() {
    const std::lock_guard lock(mutex_);
    ++run_.launches;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    run_.complete = true;
    if (!log_.empty()) write();
    if (const uint64_t n = std::exchange(repeated_, 0))
      print_error(fmt::format("tinygpu: {} more {} like one above, at the same instruction in a later launch\n", n,
                              n == 1 ? "diagnosis is" : "diagnoses are"));
  }

 private:
  void write() {
    std::ofstream out(log_);
    out << diagnosis::sarif_of(findings_.all(), run_).dump(1, ' ', false, nlohmann::json::error_handler_t::replace)
        << "\n";
    if (out.flush() || told_unwritable_) return;
    told_unwritable_ = true;
    say_unwritable("GEN5_SARIF=" + log_);
  }

  std::mutex mutex_;
  const std::string folder_ = current_folder();
  std::string log_ = log_file();
  diagnosis::SourceFiles files_{image::read_source};
  diagnosis::Findings findings_;
  diagnosis::SarifRun run_{.command = command_line(), .folder = folder_};
  std::string launch_;           // what the program calls its launches now
  std::set<std::string> codes_;  // shown so far
  uint64_t repeated_ = 0;        // not shown again
  bool told_unwritable_ = false, told_debug_ = false;
  void (*listener_)(const Diagnosis&, const std::string&) = nullptr;
  void (*printer_)(const Diagnosis&, const std::string&) = nullptr;
};

/// Never destroyed: there are diagnoses when the process ends, too.
Outlet& outlet() {
  static Outlet& outlet = *new Outlet;
  return outlet;
}

}  // namespace

void show(const Diagnosis& d) { outlet().show(d); }

void listen(void (*listener)(const Diagnosis&, const std::string& text)) { outlet().listen(listener); }

void print_by(void (*printer)(const Diagnosis&, const std::string& text)) { outlet().print_by(printer); }

void name_launches(const std::string& name) { outlet().name_launches(name); }

void say(const char* code, const std::string& message, const std::string& help) {
  Diagnosis d;
  d.code = code;
  d.message = message;
  d.help = help;
  show(d);
}

std::optional<std::string> source_line(const std::string& file, int line) { return outlet().source_line(file, line); }

int say_not_implemented(const char* function) {
  const Refusal r = refusal_of(function);
  say("not-implemented",
      fmt::format("{} is not implemented by tinygpu{}{}", function, r.why.empty() ? "" : ": ", r.why),
      std::string(r.help));
  return CUDA_ERROR_NOT_SUPPORTED;
}

void log_begin() { outlet().begin(); }
void log_forked() { outlet().forked(); }
void log_launch() { outlet().launch(); }
void log_end() { outlet().end(); }

}  // namespace tinygpu::cuda
