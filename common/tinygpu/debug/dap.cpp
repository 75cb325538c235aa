#include "common/tinygpu/debug/dap.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <stdexcept>

namespace tinygpu::debug {

DapServer::~DapServer() {
  debugger_.reset();
  session_.reset();
  if (output_.joinable()) output_.join();
}

// ---- Messages

bool DapServer::receive() {
  char buffer[65536];
  ssize_t n;
  while ((n = ::read(in_, buffer, sizeof(buffer))) < 0 && errno == EINTR) continue;
  if (n <= 0) {
    hung_up_ = true;
    return false;
  }
  rest_.append(buffer, size_t(n));
  constexpr std::string_view kLength = "Content-Length:";
  for (size_t head; (head = rest_.find("\r\n\r\n")) != std::string::npos;) {
    size_t length = 0;
    if (const size_t at = rest_.find(kLength); at < head)
      length = std::strtoul(rest_.c_str() + at + kLength.size(), nullptr, 10);
    if (rest_.size() - head - 4 < length) break;
    Json message = Json::parse(rest_.substr(head + 4, length), nullptr, false);
    rest_.erase(0, head + 4 + length);
    if (message.is_object()) messages_.push_back(std::move(message));
  }
  return true;
}

std::optional<Json> DapServer::read_message() {
  while (messages_.empty())
    if (hung_up_ || !receive()) return {};
  Json message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

void DapServer::send(Json message) {
  const std::lock_guard lock(writing_);
  message["seq"] = ++sequence_;
  const std::string body = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::string all = fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
  for (size_t at = 0; at < all.size();) {
    const ssize_t n = ::write(out_, all.data() + at, all.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      done_ = true;
      return;
    }
    at += size_t(n);
  }
}

void DapServer::event(const char* name, Json body) {
  send({{"type", "event"}, {"event", name}, {"body", std::move(body)}});
}

void DapServer::answer(const Json& request, Json body) {
  send({{"type", "response"},
        {"request_seq", request.value("seq", 0)},
        {"success", true},
        {"command", request.value("command", "")},
        {"body", body.is_null() ? Json::object() : std::move(body)}});
}

void DapServer::refuse(const Json& request, const std::string& sentence) {
  send({{"type", "response"},
        {"request_seq", request.value("seq", 0)},
        {"success", false},
        {"command", request.value("command", "")},
        {"message", sentence},
        {"body", {{"error", {{"id", 1}, {"format", sentence}, {"showUser", true}}}}}});
}

int DapServer::serve() {
  while (!done_) {
    const auto message = read_message();
    if (!message) break;
    if (message->value("type", "") == "request") handle(*message);
  }
  return 0;
}

void DapServer::handle(const Json& request) {
  try {
    const Json none = Json::object();
    Json body =
        dispatch(request.value("command", ""),
                 request.contains("arguments") && request["arguments"].is_object() ? request["arguments"] : none);
    answer(request, std::move(body));
  } catch (const std::exception& e) {
    later_.clear();
    refuse(request, e.what());
  }
  for (const auto& f : std::exchange(later_, {})) f();
}

// ---- What the client asks for

Json DapServer::dispatch(const std::string& command, const Json& arguments) {
  if (command == "initialize") return initialize(arguments);
  if (command == "launch") return launch(arguments), Json();
  if (command == "setBreakpoints") return set_breakpoints(arguments);
  if (command == "setFunctionBreakpoints") return set_function_breakpoints(arguments);
  if (command == "setExceptionBreakpoints") return set_exception_breakpoints(arguments);
  if (command == "disconnect") {
    done_ = true;
    return {};
  }
  if (command == "terminate") {
    debugger_.reset();
    session_.reset();
    later_.push_back([this] { event("terminated"); });
    return {};
  }
  if (!debugger_) throw std::runtime_error("no program has been launched");
  if (command == "configurationDone") {
    use_breakpoints();
    if (session_->alive()) later_.push_back([this] { run(); });
    return {};
  }
  if (command == "restart") return restart(), Json();
  if (command == "threads") return threads();
  if (command == "stackTrace") return stack_trace(arguments);
  if (command == "scopes") return scopes(arguments);
  if (command == "variables") return variables(arguments);
  if (command == "evaluate") return evaluate(arguments);
  if (command == "exceptionInfo") return exception_info();
  if (command == "completions") return completions(arguments);
  if (command == "readMemory") return read_memory(arguments);
  if (command == "pause") return {};  // interrupted() has seen it, if the program ran
  return go_on(command, arguments);
}

Json DapServer::initialize(const Json& arguments) {
  first_line_ = arguments.value("linesStartAt1", true) ? 1 : 0;
  const auto filter = [](const char* name, const char* label, const char* text, bool on) {
    return Json{{"filter", name}, {"label", label}, {"description", text}, {"default", on}};
  };
  Json filters = Json::array();
  filters.push_back(filter("error", "Errors", "Go to where what tinygpu reports as an error has happened.", true));
  filters.push_back(filter("warning", "Warnings", "The same of warnings.", false));
  return {{"supportsConfigurationDoneRequest", true},
          {"supportsConditionalBreakpoints", true},
          {"supportsHitConditionalBreakpoints", true},
          {"supportsFunctionBreakpoints", true},
          {"supportsStepBack", true},
          {"supportsTerminateRequest", true},
          {"supportsRestartRequest", true},
          {"supportsEvaluateForHovers", true},
          {"supportsSteppingGranularity", true},
          {"supportsReadMemoryRequest", true},
          {"supportsExceptionInfoRequest", true},
          {"supportsCompletionsRequest", true},
          {"exceptionBreakpointFilters", filters}};
}

void DapServer::launch(const Json& arguments) {
  if (session_) throw std::runtime_error("a program has been launched already");
  if (!arguments.contains("program")) throw std::runtime_error("the launch configuration names no \"program\"");
  std::vector<std::string> command = {arguments["program"]};
  for (const Json& a : arguments.value("args", Json::array())) command.push_back(a);
  std::map<std::string, std::string> settings;
  if (arguments.contains("machine")) settings["GEN5_MACHINE"] = arguments["machine"];
  if (arguments.contains("order")) settings["GEN5_ORDER"] = arguments["order"];
  if (arguments.contains("cwd")) std::filesystem::current_path(arguments["cwd"].get<std::string>());
  prepare_(command, settings);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC)) throw std::runtime_error("no pipe for the program's output");
  session_ = std::make_unique<Session>(SessionOptions{
      .command = command, .output = ends[1], .interrupt_fd = in_, .interrupted = [this] { return interrupted(); }});
  debugger_ = std::make_unique<Debugger>(*session_);
  output_ = std::thread([this, fd = ends[0]] { read_output(fd); });
  if (session_->start())
    later_.push_back([this] { event("initialized"); });
  else
    later_.push_back([this] { ended(session_->exit_code()); });
}

void DapServer::restart() {
  const bool started = session_->restart();
  later_.push_back([this, started] { started ? run() : ended(session_->exit_code()); });
}

Interrupt DapServer::interrupted() {
  if (!receive()) return Interrupt::quit;
  Interrupt wanted = Interrupt::none;
  for (const Json& m : messages_) {
    const std::string command = m.value("command", "");
    if (command == "disconnect" || command == "terminate" || command == "restart") return Interrupt::quit;
    if (command == "pause") wanted = Interrupt::pause;
  }
  return wanted;
}

void DapServer::use_breakpoints() {
  if (!debugger_) return;
  std::vector<Json> all = function_breakpoints_;
  all.insert(all.end(), exception_breakpoints_.begin(), exception_breakpoints_.end());
  for (const auto& [file, list] : breakpoints_) all.insert(all.end(), list.begin(), list.end());
  debugger_->set_breakpoints(all);
}

namespace {

/// The condition and the hit count of a breakpoint of the protocol.
void add_conditions(const Json& from, Json& to) {
  if (const std::string condition = from.value("condition", ""); !condition.empty())
    to["conditions"] = Debugger::conditions_of(condition);
  if (const std::string hits = from.value("hitCondition", ""); !hits.empty()) {
    if (hits.find_first_not_of("0123456789") != hits.npos || hits.size() > 18 || std::stoull(hits) == 0)
      throw std::runtime_error("a hit condition is a number: the run stops at that hit from where it goes on");
    to["skip"] = std::stoull(hits) - 1;
  }
}

/// Adds the breakpoint with the conditions of `asked` to `all`; `told` says so, or why not.
Json added(const Json& asked, Json breakpoint, Json told, std::vector<Json>& all) {
  told["verified"] = true;
  try {
    add_conditions(asked, breakpoint);
    all.push_back(std::move(breakpoint));
  } catch (const std::exception& e) {
    told["verified"] = false;
    told["message"] = e.what();
  }
  return told;
}

}  // namespace

Json DapServer::set_breakpoints(const Json& arguments) {
  const Json& source = arguments.at("source");
  const std::string path = source.value("path", source.value("name", ""));
  std::vector<Json>& mine = breakpoints_[path];
  mine.clear();
  Json out = Json::array();
  for (const Json& b : arguments.value("breakpoints", Json::array())) {
    const int line = b.at("line").get<int>() + 1 - first_line_;
    Json one = {{"id", next_breakpoint_}, {"file", path}, {"line", line}, {"text", fmt::format("{}:{}", path, line)}};
    out.push_back(added(b, std::move(one), {{"id", next_breakpoint_++}, {"line", b.at("line")}}, mine));
  }
  use_breakpoints();
  return {{"breakpoints", out}};
}

Json DapServer::set_function_breakpoints(const Json& arguments) {
  function_breakpoints_.clear();
  Json out = Json::array();
  for (const Json& b : arguments.value("breakpoints", Json::array())) {
    Json mine = {{"id", next_breakpoint_}, {"kernel", b.value("name", "")}, {"text", b.value("name", "")}};
    out.push_back(added(b, std::move(mine), {{"id", next_breakpoint_++}}, function_breakpoints_));
  }
  use_breakpoints();
  return {{"breakpoints", out}};
}

Json DapServer::set_exception_breakpoints(const Json& arguments) {
  exception_breakpoints_.clear();
  Json out = Json::array();
  for (const Json& f : arguments.value("filters", Json::array())) {
    const bool known = f == "error" || f == "warning";
    if (known)
      exception_breakpoints_.push_back(
          {{"id", next_breakpoint_++}, {"diagnosis", f == "error" ? 2 : 1}, {"text", "diagnosis"}});
    out.push_back({{"verified", known}});
  }
  use_breakpoints();
  return {{"breakpoints", out}};
}

Json DapServer::go_on(const std::string& command, const Json& arguments) {
  if (command == "continue") {
    later_.push_back([this] { run(); });
    return {{"allThreadsContinued", true}};
  }
  if (command == "reverseContinue") {
    later_.push_back([this] {
      const auto found = session_->back_to(debugger_->stops());
      move(found ? *found : session_->go_to(1), found ? nullptr : "entry");
    });
    return {};
  }
  if (command == "next" || command == "stepIn" || command == "stepOut" || command == "stepBack")
    return step(command, arguments);
  throw std::runtime_error(fmt::format("gen5 does not answer {}", command));
}

Json DapServer::step(const std::string& command, const Json& arguments) {
  const bool instruction = arguments.value("granularity", "") == "instruction";
  const Json where = ask(arguments.value("threadId", 0), {{"view", "where"}});
  Stopped here = debugger_->stopped();
  here.focus = where["focus"];
  debugger_->arrived(here);
  if (command == "stepBack") {
    later_.push_back([this, step = debugger_->step_of(!instruction, false)] {
      const auto found = session_->back_to({{"step", step}});
      move(found ? *found : debugger_->stopped(), "step");
    });
    return {};
  }
  Json step = debugger_->step_of(!instruction, command != "stepIn");
  if (command == "stepOut") step["depth"] = std::max(0, step.value("depth", 0) - 1);
  later_.push_back([this, step] {
    Json stops = debugger_->stops();
    stops["step"] = step;
    debugger_->resume(stops);
    moved(nullptr);
  });
  return {};
}

void DapServer::run() {
  debugger_->resume(debugger_->stops());
  moved(nullptr);
}

void DapServer::move(const Stopped& stopped, const char* reason) {
  debugger_->arrived(stopped);
  moved(reason);
}

void DapServer::moved(const char* reason) {
  nodes_.clear();
  if (hung_up_) return;
  const Stopped& stopped = debugger_->stopped();
  if (stopped.event != "stopped") {
    if (stopped.event == "lost" && stopped.exit_code > 128)
      event("output", {{"category", "console"},
                       {"output", fmt::format("the program was ended by signal {}\n", stopped.exit_code - 128)}});
    ended(stopped.exit_code);
    return;
  }
  const std::string why = reason                        ? reason
                          : stopped.why == "breakpoint" ? "breakpoint"
                          : stopped.why == "watchpoint" ? "data breakpoint"
                          : stopped.why == "diagnosis"  ? "exception"
                          : stopped.why == "pause"      ? "pause"
                                                        : "step";
  Json body = {{"reason", why}, {"allThreadsStopped", true}};
  if (!stopped.text.empty()) body["text"] = stopped.text;
  body["threadId"] = stopped.focus.is_object() ? thread_of(stopped.focus["name"]) : 1000000;
  if (stopped.why == "breakpoint") body["hitBreakpointIds"] = {stopped.id};
  event("stopped", body);
}

void DapServer::ended(int exit_code) {
  nodes_.clear();
  event("exited", {{"exitCode", exit_code}});
  event("terminated");
}

void DapServer::read_output(int fd) {
  char buffer[4096];
  for (ssize_t n; (n = ::read(fd, buffer, sizeof(buffer))) > 0;)
    event("output", {{"category", "stdout"}, {"output", std::string(buffer, size_t(n))}});
  ::close(fd);
}

}  // namespace tinygpu::debug
