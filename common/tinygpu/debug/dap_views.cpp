// What an editor shows of a stopped program: threads, frames, variables, memory.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "common/tinygpu/debug/dap.h"

namespace tinygpu::debug {
namespace {

constexpr int kHost = 1000000;  // the thread that is shown where no warp is resident
constexpr int kFrames = 256;    // of a thread at most

Json variable(const Json& name, std::string value, int children = 0) {
  while (value.ends_with('\n')) value.pop_back();
  return {{"name", name}, {"value", std::move(value)}, {"variablesReference", children}};
}

/// Each line of a text.
Json lines_of(const std::string& text) {
  Json out = Json::array();
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out.push_back(variable(std::to_string(out.size()), text.substr(at, end - at)));
    at = end + 1;
  }
  return out;
}

std::string base64(const std::vector<uint8_t>& bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k) three = three << 8 | (at + k < bytes.size() ? bytes[at + k] : 0);
    for (size_t k = 0; k < 4; ++k) out += at + k <= bytes.size() ? kDigits[three >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::vector<uint8_t> bytes_of(const std::string& hex) {
  std::vector<uint8_t> out;
  for (size_t at = 0; at + 1 < hex.size(); at += 2) out.push_back(uint8_t(std::stoul(hex.substr(at, 2), nullptr, 16)));
  return out;
}

}  // namespace

int DapServer::thread_of(const Json& name) {
  const auto it = std::ranges::find(warps_, name);
  if (it != warps_.end()) return int(it - warps_.begin()) + 1;
  warps_.push_back(name);
  return int(warps_.size());
}

const Json& DapServer::warp(int thread) const {
  if (thread < 1 || size_t(thread) > warps_.size()) throw std::runtime_error("there is no such thread");
  return warps_[size_t(thread) - 1];
}

Json DapServer::ask(int thread, Json view) {
  view["focus"] = warp(thread);
  Json answer = session_->view(view);
  if (answer.contains("error")) throw std::runtime_error(answer["error"]);
  return answer;
}

int DapServer::node(Children children) {
  nodes_.push_back(std::move(children));
  return int(nodes_.size());
}

Json DapServer::thread(int id, const Json& name) const {
  const Json& cta = name["cta"];
  return {{"id", id},
          {"name", fmt::format("CTA ({},{},{}) warp {}", cta[0].get<int>(), cta[1].get<int>(), cta[2].get<int>(),
                               name["warp"].get<int>())}};
}

Json DapServer::threads() {
  constexpr int kMost = 256;  // a chip has thousands of warps, and an editor lists all that it is told of
  Json out = Json::array();
  std::vector<int> listed;
  const auto list = [&](const Json& name) {
    const int id = thread_of(name);
    if (std::ranges::find(listed, id) != listed.end()) return;
    listed.push_back(id);
    out.push_back(thread(id, name));
  };
  if (debugger_->stopped().focus.is_object()) list(debugger_->stopped().focus["name"]);
  const Json view = session_->view({{"view", "warps"}, {"most", kMost}});
  for (const Json& w : view.value("warps", Json::array())) list(w["name"]);
  if (out.empty()) out.push_back({{"id", kHost}, {"name", "host"}});
  return {{"threads", out}};
}

Json DapServer::stack_trace(const Json& arguments) {
  const int thread = arguments.at("threadId");
  if (thread == kHost) return {{"stackFrames", Json::array()}, {"totalFrames", 0}};
  Json frames = Json::array();
  const Json view = ask(thread, {{"view", "where"}});
  for (const Json& f : view.at("frames")) {
    if (frames.size() == kFrames) break;
    Json frame = {{"id", thread * kFrames + int(frames.size())},
                  {"name", f.value("function", "")},
                  {"line", f.value("line", 0) ? f.value("line", 0) - 1 + first_line_ : 0},
                  {"column", 1}};
    if (const std::string file = f.value("file", ""); !file.empty())
      frame["source"] = {{"name", std::filesystem::path(file).filename().string()}, {"path", file}};
    frames.push_back(frame);
  }
  const size_t total = frames.size(), first = std::min(arguments.value("startFrame", size_t(0)), total),
               most = arguments.value("levels", size_t(0));
  Json part = Json::array();
  for (size_t k = first; k < total && (!most || k < first + most); ++k) part.push_back(frames[k]);
  return {{"stackFrames", part}, {"totalFrames", total}};
}

Json DapServer::scopes(const Json& arguments) {
  const int id = arguments.at("frameId"), thread = id / kFrames;
  const auto frame = size_t(id % kFrames);
  warp(thread);
  Json out = Json::array();
  const auto scope = [&](const char* name, bool expensive, Children children, const char* hint = nullptr) {
    Json one = {{"name", name}, {"variablesReference", node(std::move(children))}, {"expensive", expensive}};
    if (hint) one["presentationHint"] = hint;
    out.push_back(one);
  };
  scope(
      "Variables", false, [this, thread, frame] { return locals(thread, frame); }, "locals");
  scope(
      "Registers", false, [this, thread, frame] { return registers(thread, frame); }, "registers");
  scope("mbarriers and barriers", false, [this, thread] {
    return lines_of(text_of_barriers(ask(thread, {{"view", "barriers"}})));
  });
  scope("In flight", false, [this, thread] {
    Json all = Json::array();
    const Json view = ask(thread, {{"view", "inflight"}});
    for (const Json& o : view.at("operations")) {
      const std::string text = text_of_operations({{"operations", {o}}});
      all.push_back(variable(o.at("kind"), text.substr(0, text.find('\n')), node([text] { return lines_of(text); })));
    }
    return all;
  });
  scope("Tensor Memory", true, [this, thread] { return tensor_memory(thread); });
  scope("Shared memory", true, [this, thread] { return shared_memory(thread); });
  scope("Tiles", true, [this, thread] { return tiles(thread); });
  scope("Why it waits", true, [this, thread] {
    return lines_of(text_of_waits(ask(thread, {{"view", "why"}}), debugger_->sources()));
  });
  return {{"scopes", out}};
}

Json DapServer::frame(int thread, size_t number) {
  const Json view = ask(thread, {{"view", "where"}});
  if (number >= view.at("frames").size()) throw std::runtime_error("there is no such frame");
  return view["frames"][number];
}

Json DapServer::locals(int thread, size_t number) {
  debugger_->set_focus(warp(thread), debugger_->lane());
  try {
    std::vector<Variables::Object> all = debugger_->variables().at(frame(thread, number));
    std::ranges::reverse(all);  // the innermost block first
    for (size_t k = 0; k < all.size(); ++k)
      if (std::any_of(all.begin(), all.begin() + int64_t(k), [&](const auto& o) { return o.path == all[k].path; }))
        all[k].name += " (an outer block's)";
    return objects(thread, all);
  } catch (const NoVariables& none) {
    return Json::array({variable("no variables", none.what())});
  }
}

/// A value that differs by lane has its lanes as children, or its parts, which have theirs.
Json DapServer::objects(int thread, const std::vector<Variables::Object>& all) {
  const std::vector<Variables::Values> values = debugger_->variables().read(all, "");
  Json out = Json::array();
  for (size_t k = 0; k < all.size(); ++k) {
    const Variables::Object& o = all[k];
    const Variables::Values& v = values[k];
    int children = 0;
    if (o.has_parts() && v.missing.empty())
      children = node([this, thread, o] {
        debugger_->set_focus(warp(thread), debugger_->lane());
        return objects(thread, debugger_->variables().parts(o));
      });
    else if (v.missing.empty() && !v.uniform())
      children = node([v] {
        Json lanes = Json::array();
        for (int lane = 0; lane < 32; ++lane)
          if (v.lanes >> lane & 1) lanes.push_back(variable(fmt::format("lane {}", lane), v.text[size_t(lane)]));
        return lanes;
      });
    Json one = variable(o.name, text_in_focus(v, debugger_->lane()), children);
    one["type"] = o.type_name();
    one["evaluateName"] = o.path;
    out.push_back(one);
  }
  return out;
}

Json DapServer::registers(int thread, size_t number) {
  Json out = Json::array();
  const Json view = ask(thread, {{"view", "registers"}, {"call", frame(thread, number).value("call", size_t(0))}});
  for (const Json& r : view.at("registers")) {
    const uint32_t lanes = r.at("lanes");
    const auto value_in = [r](int lane) {
      const std::string text = text_of_registers({{"registers", Json::array({r})}}, lane, "");
      return text.substr(text.find(" = ") + 3);
    };
    const int first = __builtin_ctz(lanes);
    bool uniform = true;
    for (int lane = 0; lane < 32; ++lane)
      if (lanes >> lane & 1) uniform &= r.at("values")[size_t(lane)] == r.at("values")[size_t(first)];
    Json one;
    if (uniform)
      one = variable(r["name"], value_in(first));
    else
      one = variable(r["name"],
                     debugger_->lane() >= 0 && lanes >> debugger_->lane() & 1
                         ? fmt::format("{} in lane {}", value_in(debugger_->lane()), debugger_->lane())
                         : fmt::format("{}… differs by lane", value_in(first).substr(0, value_in(first).find('\n'))),
                     node([lanes, value_in] {
                       Json all = Json::array();
                       for (int lane = 0; lane < 32; ++lane)
                         if (lanes >> lane & 1) all.push_back(variable(fmt::format("lane {}", lane), value_in(lane)));
                       return all;
                     }));
    one["type"] = r["type"];
    out.push_back(one);
  }
  return out;
}

Json DapServer::tensor_memory(int thread) {
  Json out = Json::array();
  const Json view = ask(thread, {{"view", "tmem"}});
  for (const Json& a : view.at("allocations")) {
    const int first = a["first"], columns = a["columns"];
    Json one = variable(
        fmt::format("columns {} to {}", first, first + columns - 1),
        fmt::format("of CTA ({},{},{})", a["cta"][0].get<int>(), a["cta"][1].get<int>(), a["cta"][2].get<int>()),
        node([this, thread, first, columns] {
          const Json cells = ask(
              thread,
              {{"view", "tmem"}, {"lane", 0}, {"lanes", 128}, {"column", first}, {"columns", std::min(columns, 16)}});
          return lines_of(text_of_tensor_memory(cells, "x"));
        }));
    one["memoryReference"] = fmt::format("tmem:{}", thread);
    out.push_back(one);
  }
  return out;
}

Json DapServer::shared_memory(int thread) {
  const Json view = ask(thread, {{"view", "shared"}, {"bytes", 1024}});
  Json out = lines_of(text_of_bytes(view));
  uint64_t at = view.at("begin");
  for (Json& line : out) {
    const std::string text = line["value"];
    line["name"] = fmt::format("{:#x}", at);
    line["value"] = text.substr(std::min(text.size(), text.find(' ') + 1));
    line["memoryReference"] = fmt::format("shared:{}:{:#x}", thread, at);
    at += 16;
  }
  return out;
}

Json DapServer::tiles(int thread) {
  constexpr int kRows = 128, kColumns = 16;
  Json out = Json::array();
  for (const char* name : {"a", "b", "d", "box", "fragment"}) {
    Json view;
    try {
      view = ask(thread,
                 {{"view", "tile"}, {"tile", name}, {"row", 0}, {"rows", kRows}, {"column", 0}, {"columns", kColumns}});
    } catch (const std::exception&) {
      continue;  // there is none
    }
    out.push_back(variable(name, view.at("title"), node([view] {
                             Json rows = Json::array();
                             for (const Json& row : view.at("rows")) {
                               std::string text;
                               for (const Json& v : row)
                                 text += (text.empty() ? "" : "  ") +
                                         (v.is_null() ? std::string("-") : v.get<std::string>());
                               rows.push_back(variable(fmt::format("{} {}", view["row_name"].get<std::string>(),
                                                                   view["row"].get<size_t>() + rows.size()),
                                                       text));
                             }
                             return rows;
                           })));
  }
  return out;
}

Json DapServer::variables(const Json& arguments) {
  const int reference = arguments.at("variablesReference");
  if (reference < 1 || size_t(reference) > nodes_.size())
    throw std::runtime_error("the program has moved since this was asked for");
  const Children children = nodes_[size_t(reference) - 1];  // a copy: it may add others
  return {{"variables", children()}};
}

Json DapServer::evaluate(const Json& arguments) {
  const int id = arguments.value("frameId", 0);
  if (const int thread = id / kFrames; thread >= 1 && size_t(thread) <= warps_.size()) {
    debugger_->set_focus(warps_[size_t(thread) - 1], debugger_->lane());
    debugger_->set_frame(size_t(id % kFrames));
  }
  const std::string expression = arguments.value("expression", ""), context = arguments.value("context", "repl");
  if (context == "html") return {{"result", debugger_->page(expression)}, {"variablesReference", 0}};
  // Under the mouse, and in a list of what is watched, a word is a register or a variable.
  const bool command_of = context == "repl" || Debugger::only_looks(expression);
  const std::string command = command_of && !expression.starts_with("%") ? expression : "print " + expression;
  const Debugger::Answer a = debugger_->run(command);
  if (a.error) throw std::runtime_error(a.text);
  if (a.moved) later_.push_back([this] { moved(nullptr); });
  return {{"result", a.text}, {"variablesReference", 0}};
}

Json DapServer::exception_info() const {
  const Stopped& s = debugger_->stopped();
  if (s.why != "diagnosis") throw std::runtime_error("the program does not stand at a diagnosis");
  return {{"exceptionId", s.text.substr(0, s.text.find(':'))}, {"description", s.text}, {"breakMode", "always"}};
}

Json DapServer::completions(const Json& arguments) const {
  const std::string text = arguments.value("text", "");
  Json out = Json::array();
  for (const std::string& c : Debugger::commands())
    if (c.starts_with(text)) out.push_back({{"label", c}, {"start", 0}, {"length", text.size()}});
  return {{"targets", out}};
}

Json DapServer::read_memory(const Json& arguments) {
  const std::string reference = arguments.at("memoryReference");
  const int64_t offset = arguments.value("offset", int64_t(0));
  constexpr int64_t kMost = 1 << 20;
  const int64_t count = std::clamp<int64_t>(arguments.at("count"), 0, kMost);
  const auto part = [&](size_t k) {
    size_t at = 0;
    for (size_t i = 0; i < k && at != reference.npos; ++i) at = reference.find(':', at) + 1;
    return reference.substr(at, reference.find(':', at) - at);
  };
  const auto number = [&](size_t k) {
    try {
      return std::stoll(part(k), nullptr, 0);
    } catch (const std::exception&) {
      throw std::runtime_error(fmt::format("{} is no memory reference", reference));
    }
  };
  std::vector<uint8_t> bytes;
  int64_t begin = offset;
  if (part(0) == "tmem") {
    constexpr int64_t kRow = 512 * 4, kAll = 128 * kRow;
    const int64_t end = std::min(begin + count, kAll);
    for (int64_t at = std::max<int64_t>(begin, 0); at < end;) {
      const int64_t column = at % kRow / 4;
      const Json cell = ask(int(number(1)), {{"view", "tmem"},
                                             {"lane", at / kRow},
                                             {"lanes", 1},
                                             {"column", column},
                                             {"columns", std::min((end - at + 3) / 4 + 1, 512 - column)}});
      bool written = true;
      for (const Json& word : cell["rows"][0]) {
        if ((written = !word.is_null()) == false) break;
        for (int64_t k = at % 4; k < 4 && at < end; ++k, ++at)
          bytes.push_back(uint8_t(word.get<uint32_t>() >> (8 * k)));
      }
      if (!written) break;  // what was not written since the allocation has no value
    }
  } else if (part(0) == "shared" || part(0) == "global") {
    const bool shared = part(0) == "shared";
    begin += number(shared ? 2 : 1);
    if (count > 0 && begin >= 0) {
      Json view = {{"view", part(0)}, {"begin", begin}, {"bytes", count}};
      // Global memory belongs to no warp, but a view is of one.
      const int thread = shared                                   ? int(number(1))
                         : debugger_->stopped().focus.is_object() ? thread_of(debugger_->stopped().focus["name"])
                                                                  : 0;
      try {
        bytes = bytes_of(ask(thread, view).at("bytes"));
      } catch (const std::exception&) {
        // There is nothing there: all of it is unreadable.
      }
    }
  } else {
    throw std::runtime_error(fmt::format("{} is no memory reference", reference));
  }
  Json out = {{"address", fmt::format("{:#x}", std::max<int64_t>(begin, 0))}, {"data", base64(bytes)}};
  if (const int64_t missing = count - int64_t(bytes.size()); missing > 0) out["unreadableBytes"] = missing;
  return out;
}

}  // namespace tinygpu::debug
