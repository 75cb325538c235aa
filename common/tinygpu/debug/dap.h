// The debugger for editors: the Debug Adapter Protocol (https://microsoft.github.io/debug-adapter-protocol) on two file
// descriptors.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/tinygpu/debug/commands.h"

namespace tinygpu::debug {

/// Serves one client until it disconnects. Threads are warps, frames are calls, inlined ones too; scopes are variables
/// of the source, registers, mbarriers, what is in flight, Tensor Memory, shared memory, tiles and fragments, and why a
/// warp waits. Memory references are
/// "shared:THREAD:ADDRESS", "tmem:THREAD" (a lane's 512 columns after the other's) and "global:ADDRESS". The console
/// takes the prompt's commands; in the context "html" `show …` answers a page. `prepare(command)` sets the environment
/// of the program; it throws std::runtime_error with a sentence.
class DapServer {
 public:
  using Prepare =
      std::function<void(const std::vector<std::string>& command, const std::map<std::string, std::string>& settings)>;
  DapServer(int in, int out, Prepare prepare) : in_(in), out_(out), prepare_(std::move(prepare)) {}
  ~DapServer();
  DapServer(const DapServer&) = delete;
  DapServer& operator=(const DapServer&) = delete;
  int serve();

 private:
  using Children = std::function<Json()>;

  // ---- Messages
  std::optional<Json> read_message();
  /// What has arrived goes to messages_. False: the client is gone.
  bool receive();
  void send(Json message);
  void event(const char* name, Json body = Json::object());
  void answer(const Json& request, Json body = Json::object());
  void refuse(const Json& request, const std::string& sentence);
  void handle(const Json& request);
  Json dispatch(const std::string& command, const Json& arguments);

  // ---- What the client asks for
  Json initialize(const Json& arguments);
  void launch(const Json& arguments);
  void restart();
  Json set_breakpoints(const Json& arguments);
  Json set_function_breakpoints(const Json& arguments);
  Json set_exception_breakpoints(const Json& arguments);
  Json go_on(const std::string& command, const Json& arguments);
  Json step(const std::string& command, const Json& arguments);
  Interrupt interrupted();
  void use_breakpoints();
  void run();
  /// The program stands elsewhere; `reason`: null, as the debugger says.
  void moved(const char* reason);
  void move(const Stopped& stopped, const char* reason);
  void ended(int exit_code);

  // ---- dap_views.cpp
  Json threads();
  Json thread(int id, const Json& name) const;
  Json stack_trace(const Json& arguments);
  Json scopes(const Json& arguments);
  Json variables(const Json& arguments);
  Json evaluate(const Json& arguments);
  Json exception_info() const;
  Json completions(const Json& arguments) const;
  Json read_memory(const Json& arguments);
  int thread_of(const Json& name);
  const Json& warp(int thread) const;
  Json ask(int thread, Json view);
  /// The number of what has these children, until the program moves.
  int node(Children children);
  Json frame(int thread, size_t number);
  Json locals(int thread, size_t frame);
  Json objects(int thread, const std::vector<Variables::Object>& all);
  Json registers(int thread, size_t frame);
  Json tensor_memory(int thread);
  Json shared_memory(int thread);
  Json tiles(int thread);

  void read_output(int fd);

  const int in_, out_;
  const Prepare prepare_;
  std::string rest_;
  std::deque<Json> messages_;
  bool hung_up_ = false;
  std::mutex writing_;
  int sequence_ = 0;
  int first_line_ = 1;  // 0: the client counts lines from 0
  std::unique_ptr<Session> session_;
  std::unique_ptr<Debugger> debugger_;
  std::vector<Json> warps_;                               // by thread id − 1
  std::vector<Children> nodes_;                           // by variablesReference − 1
  std::map<std::string, std::vector<Json>> breakpoints_;  // by file
  std::vector<Json> function_breakpoints_, exception_breakpoints_;
  int next_breakpoint_ = 1;
  std::vector<std::function<void()>> later_;  // behind the answer
  std::thread output_;
  bool done_ = false;
};

}  // namespace tinygpu::debug
