// The debugger's commands: what a user types at the prompt, or in an editor's console, and what it answers.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/tinygpu/debug/print.h"
#include "common/tinygpu/debug/session.h"
#include "common/tinygpu/debug/variables.h"
#include "common/tinygpu/image/host_memory.h"

namespace tinygpu::debug {

class Debugger {
 public:
  explicit Debugger(Session& session)
      : session_(session), variables_(session.socket(), [this](Json view) { return ask(std::move(view)); }) {}

  struct Answer {
    std::string text;
    bool quit = false;
    bool error = false;
    bool moved = false;  // the program stands elsewhere now, or has ended
  };
  /// One line. An empty one repeats the last step.
  Answer run(const std::string& line);
  /// Words that may stand there, for completion.
  static std::vector<std::string> commands();
  static std::string help();
  /// Whether a line neither moves the program nor changes what it stops at.
  static bool only_looks(const std::string& line);

  // ---- What editors use besides
  Session& session() { return session_; }
  Sources& sources() { return sources_; }
  const Stopped& stopped() const { return stopped_; }
  int lane() const { return lane_; }
  void set_focus(const Json& name, int lane);
  /// The call in focus, by its number in `where`.
  void set_frame(size_t frame) { frame_ = frame; }
  Variables& variables() { return variables_; }
  /// A view of the warp in focus, answered as a page.
  std::string page(const std::string& line);
  /// The focus as a field of a view's request.
  Json request(Json view) const;
  void set_breakpoints(std::vector<Json> breakpoints) { breakpoints_ = std::move(breakpoints); }
  const std::vector<Json>& breakpoints() const { return breakpoints_; }
  /// `if warp == 1 && cycle > 100`: conditions as stops.h takes them. Throws std::runtime_error with a sentence.
  static Json conditions_of(std::string_view text);
  std::string arrived(const Stopped& stopped);
  /// Runs to the next stop. At a diagnosis: from there to where it happened; stopped() says so.
  std::string resume(const Json& stops);
  Json stops() const;
  /// The stop at which the warp in focus comes to another instruction, or line; `over`: not inside of calls.
  Json step_of(bool line, bool over) const;

 private:
  using Words = std::vector<std::string>;
  std::string perform(const std::string& name, Words& words, const std::string& line);
  /// `text`, of a line that an empty one repeats.
  std::string repeated(std::string text, const std::string& line);
  std::string resume_back(const Json& stops, const char* none);
  std::string add_breakpoint(const Words& words, const std::string& line);
  std::string add_watch(const Words& words);
  std::string until(const Words& words, bool back);
  std::string show(const Words& words);
  std::string show_tile(const Words& words);
  std::string show_fragment(const Words& words, const std::string& format);
  std::string print(const Words& words, bool all_lanes);
  std::string print_variable(const std::string& expression, const std::string& format, bool all_lanes);
  std::string locals();
  std::string choose_frame(const Words& words);
  Json frame();
  size_t call();  // that the frame in focus is of
  std::string go_to_diagnosis(const Words& words);
  std::string choose(const Words& words);
  std::string list_breakpoints() const;
  std::string list_diagnoses() const;
  Json ask(Json view);
  /// Files below this process's folder are named from there.
  void from_here(std::string& text) const;

  Session& session_;
  const std::string folder_ = std::filesystem::current_path().string() + "/";
  Sources sources_{image::read_source};
  Variables variables_;
  Stopped stopped_;
  size_t frame_ = 0;
  Json focus_;  // the warp's name; null: none
  int lane_ = -1;
  std::vector<Json> breakpoints_, watches_;
  int next_id_ = 1;
  size_t visited_ = 0;  // the number of the last diagnosis at which a run has stopped
  std::string last_;
};

}  // namespace tinygpu::debug
