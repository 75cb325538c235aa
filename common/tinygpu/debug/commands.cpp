#include "common/tinygpu/debug/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "common/tinygpu/base/lane_ranges.h"
#include "common/tinygpu/base/source_place.h"
#include "common/tinygpu/debug/html_views.h"

namespace tinygpu::debug {
namespace {

struct Command {
  const char* name;
  const char* shorter;
  const char* arguments;
  const char* help;
};
constexpr Command kCommands[] = {
    {"run", "r", "", "run to the next breakpoint, or to the end"},
    {"continue", "c", "", "the same"},
    {"step", "s", "", "run until the warp in focus comes to another line of the source"},
    {"next", "n", "", "the same, without stopping in functions that this line calls"},
    {"stepi", "si", "", "run one instruction of the warp in focus"},
    {"back", "b", "", "go back to where the warp in focus was on another line"},
    {"backi", "bi", "", "go back one instruction of the warp in focus"},
    {"reverse", "rc", "", "go back to the last breakpoint before this moment"},
    {"goto", "g", "POSITION", "go to a position, forward or back: a number of steps since the program began"},
    {"until", "u", "WHAT",
     "run until: FILE:LINE, cycle N, complete, phase, shared|global written A B, tmem written COLUMN COUNT"},
    {"back-until", "bu", "WHAT", "go back to the last moment at which that happened"},
    {"break", "br", "PLACE [if …]",
     "stop before PLACE: FILE:LINE, ptx LINE, or a part of a kernel's name; conditions: if warp == 1 && cycle > 100 "
     "(also lane, cta.x, sm, grid); `break diagnosis` stops where an error happens, with warning or note there too"},
    {"watch", "w", "MEMORY",
     "stop after a write to shared|global A B, or tmem COLUMN COUNT; with `read`, after a read too"},
    {"delete", "d", "N", "delete breakpoint or watchpoint N"},
    {"where", "bt", "", "the calls in which the warp in focus stands"},
    {"list", "l", "", "the source around that place"},
    {"print", "p", "WHAT [/FORMAT]",
     "a register or a variable (x, p->x, a[3], *p) in the lane in focus, or in all lanes; /x, /f, /d, /h (two f16), "
     "/bf (two bf16)"},
    {"lanes", "", "WHAT [/FORMAT]", "the same in all lanes"},
    {"locals", "", "", "the variables of the call in focus (of code compiled with -G), inner blocks indented"},
    {"frame", "f", "N", "put call N of `where` in focus"},
    {"registers", "", "[/FORMAT]", "all registers that have a value here"},
    {"show", "", "VIEW",
     "warps, barriers, inflight, tmem [LANE LANES COLUMN COLUMNS], shared [A BYTES], global A BYTES, snapshots, "
     "breakpoints; `show barriers|inflight|tmem|tile …|fragment …|all --html FILE` writes a page"},
    {"show tile", "", "TILE",
     "a, b, d [ROW ROWS COLUMN COLUMNS]: of the last tcgen05.mma or wgmma of this CTA; box [A] [ROW …]: of the "
     "last tensor copy, or that at A; shared A ROWSxCOLUMNS TYPE [swizzle 128]"},
    {"show fragment", "", "[a] [ROW …]",
     "the registers of the last wgmma, tcgen05.ld or tcgen05.st before this place, or with `ptx LINE` of that line, as "
     "the matrix that they hold; a: A of a wgmma, in registers; /f, /h, /bf: how to read registers of tcgen05"},
    {"why", "", "", "what all lanes wait for, the root first"},
    {"warp", "", "N", "put warp N of the CTA in focus"},
    {"cta", "", "X [Y Z]", "put a CTA of this grid in focus"},
    {"lane", "", "N|all", "put a lane in focus"},
    {"diagnoses", "", "", "what tinygpu has reported so far"},
    {"diagnosis", "", "[N|CODE [PLACE]]",
     "go to where diagnosis N, or the first with this code, happened; with PLACE, to another place that it names"},
    {"help", "h", "", "this list"},
    {"quit", "q", "", "end the program and the debugger"},
};

std::vector<std::string> split(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

[[noreturn]] void refuse(const std::string& sentence) { throw std::runtime_error(sentence); }

uint64_t number_of(std::string text, const char* what) {
  std::erase(text, ',');
  const bool hex = text.starts_with("0x");
  uint64_t value = 0;
  const char* begin = text.data() + (hex ? 2 : 0);
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size() || begin == end)
    refuse(fmt::format("{} is no {}", text, what));
  return value;
}

const std::string& word(const std::vector<std::string>& words, size_t k, const char* what) {
  if (k >= words.size()) refuse(fmt::format("{} takes {}", words[0], what));
  return words[k];
}

/// "/x" at the end of the words, taken off.
std::string take_format(std::vector<std::string>& words) {
  if (words.empty() || !words.back().starts_with("/")) return {};
  const std::string format = words.back().substr(1);
  if (format != "x" && format != "f" && format != "d" && format != "h" && format != "bf")
    refuse(fmt::format("there is no format /{}: /x, /f, /d, /h, /bf", format));
  words.pop_back();
  return format;
}

/// FILE:LINE or ptx:LINE. Nothing of what may be a function's name.
std::optional<SourcePlace> source_place(const std::string& text) {
  if (text.find(':') == text.npos || text.find("::") != text.npos) return {};
  SourcePlace place;
  if (const std::string wrong = SourcePlace::read(text, place); !wrong.empty())
    refuse(fmt::format("{} is no line: {}", text, wrong));
  return place;
}

/// As stops.h takes it.
Json breakpoint_at(const SourcePlace& p) {
  return p.ptx ? Json{{"ptx_line", p.line}} : Json{{"file", p.file}, {"line", p.line}};
}

/// Four words from `next` on: which rows and columns.
void add_window(Json& view, const std::vector<std::string>& words, size_t next) {
  if (words.size() <= next) return;
  view.update({{"row", number_of(word(words, next, "row"), "row")},
               {"rows", number_of(word(words, next + 1, "a number of rows"), "number of rows")},
               {"column", number_of(word(words, next + 2, "a column"), "column")},
               {"columns", number_of(word(words, next + 3, "a number of columns"), "number of columns")}});
}

/// `show tile …` as a view (tiles.h).
Json tile_of(const std::vector<std::string>& words) {
  const std::string& tile = word(words, 2, "a, b, d, box, or shared ADDRESS ROWSxCOLUMNS TYPE");
  Json view = {{"view", "tile"}, {"tile", tile}};
  size_t next = 3;
  if (tile == "shared") {
    view["begin"] = number_of(word(words, 3, "an address"), "address");
    const std::string& shape = word(words, 4, "ROWSxCOLUMNS");
    const size_t x = shape.find('x');
    if (x == shape.npos) refuse(fmt::format("{} is no shape: write 8x64", shape));
    view["rows"] = number_of(shape.substr(0, x), "number of rows");
    view["columns"] = number_of(shape.substr(x + 1), "number of columns");
    view["type"] = word(words, 5, "a type, such as bf16");
    if (words.size() > 6) {
      if (words[6] != "swizzle") refuse(fmt::format("{} is not known here: swizzle 32, 64 or 128", words[6]));
      view["swizzle"] = number_of(word(words, 7, "32, 64 or 128"), "swizzle");
    }
    return view;
  }
  if (tile == "box" && (words.size() == 4 || words.size() == 8)) {
    view["begin"] = number_of(words[3], "address");
    next = 4;
  }
  add_window(view, words, next);
  return view;
}

/// `show fragment …` as a view (fragments.h).
Json fragment_of(const std::vector<std::string>& words, const std::string& format) {
  Json view = {{"view", "tile"}, {"tile", "fragment"}, {"format", format}};
  size_t next = 2;
  if (words.size() > next && words[next] == "a") {
    view["operand"] = "a";
    ++next;
  }
  if (words.size() > next && words[next] == "ptx") {
    view["ptx_line"] = number_of(word(words, next + 1, "a line of the PTX"), "line");
    next += 2;
  }
  add_window(view, words, next);
  return view;
}

/// "deadlock", "deadlock:4436": its code, and the line of PTX that it names first.
bool is_called(const Json& d, const std::string& name) {
  const std::string code = d.at("code");
  return name == code || name == fmt::format("{}:{}", code, d.at("place").value("ptx_line", 0));
}

}  // namespace

std::vector<std::string> Debugger::commands() {
  std::vector<std::string> out;
  for (const Command& c : kCommands)
    if (std::string_view(c.name).find(' ') == std::string_view::npos) out.push_back(c.name);
  return out;
}

void Debugger::from_here(std::string& text) const {
  if (folder_.size() < 2) return;
  for (size_t at = 0; (at = text.find(folder_, at)) != std::string::npos;)
    if (at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n')
      text.erase(at, folder_.size());
    else
      ++at;
}

bool Debugger::only_looks(const std::string& line) {
  const Words words = split(line);
  constexpr std::string_view kLooks[] = {"print", "p",    "lanes", "registers", "show",      "where",
                                         "bt",    "list", "l",     "why",       "diagnoses", "locals"};
  // A page is written to a file.
  return !words.empty() && std::ranges::find(kLooks, words[0]) != std::end(kLooks) &&
         std::ranges::find(words, "--html") == words.end();
}

std::string Debugger::help() {
  std::string out;
  for (const Command& c : kCommands)
    out += fmt::format("  {:<30} {}\n",
                       fmt::format("{}{} {}", c.name, *c.shorter ? fmt::format(" ({})", c.shorter) : "", c.arguments),
                       c.help);
  return out;
}

Json Debugger::conditions_of(std::string_view text) {
  Json out = Json::array();
  std::string rest(text);
  for (size_t at; (at = rest.find("&&")) != std::string::npos;) rest.replace(at, 2, " ; ");
  std::istringstream parts(rest);
  for (std::string part; std::getline(parts, part, ';');) {
    const auto words = split(part);
    static const std::vector<std::string> kNames = {"warp",  "lane", "cta",  "cta.x", "cta.y",
                                                    "cta.z", "sm",   "grid", "cycle"};
    static const std::vector<std::string> kComparisons = {"==", "!=", "<", "<=", ">", ">="};
    if (words.size() != 3 || std::ranges::find(kNames, words[0]) == kNames.end() ||
        std::ranges::find(kComparisons, words[1]) == kComparisons.end())
      refuse(
          "a condition is NAME == NUMBER, with spaces; names are warp, lane, cta.x, cta.y, cta.z, sm, grid, cycle; "
          "several are joined by &&");
    out.push_back({{"what", words[0]}, {"comparison", words[1]}, {"value", number_of(words[2], "number")}});
  }
  return out;
}

Json Debugger::request(Json view) const {
  if (!focus_.is_null()) view["focus"] = focus_;
  // Of lanes that have gone different ways, those that have stopped.
  const bool stopped = lane_ < 0 && stopped_.focus.is_object() && stopped_.focus.at("name") == focus_;
  view["focus_lane"] = stopped ? __builtin_ctz(stopped_.focus.at("lanes").get<uint32_t>()) : lane_;
  return view;
}

Json Debugger::ask(Json view) {
  Json answer = session_.view(request(std::move(view)));
  if (answer.contains("error")) refuse(answer["error"]);
  return answer;
}

void Debugger::set_focus(const Json& name, int lane) {
  focus_ = name;
  lane_ = lane;
  frame_ = 0;
}

Json Debugger::frame() {
  const Json view = ask({{"view", "where"}});
  const Json& frames = view.at("frames");
  if (frame_ >= frames.size()) refuse("there is no call in focus");
  return frames[frame_];
}

Json Debugger::stops() const {
  Json out = {{"breakpoints", Json::array()}};
  for (const Json& b : breakpoints_)
    if (!b.contains("diagnosis")) out["breakpoints"].push_back(b);
  if (!watches_.empty()) out["watches"] = watches_;
  return out;
}

Json Debugger::step_of(bool line, bool over) const {
  if (focus_.is_null()) refuse("no warp is in focus: set a breakpoint and run first");
  Json step = {{"warp", focus_}, {"line", line}, {"over", over}};
  if (stopped_.focus.contains("own")) {
    step["file"] = stopped_.focus["own"][0];
    step["at"] = stopped_.focus["own"][1];
  }
  step["depth"] = stopped_.focus.value("depth", 0);
  step["inlined"] = stopped_.focus.value("inlined", 0);
  return step;
}

std::string Debugger::arrived(const Stopped& s) {
  stopped_ = s;
  frame_ = 0;
  if (s.event == "lost") {
    focus_ = nullptr;
    return s.exit_code > 128 ? fmt::format("the program was ended by signal {}\n", s.exit_code - 128)
                             : fmt::format("the program has ended with exit code {}\n", s.exit_code);
  }
  if (s.event == "ended") {
    focus_ = nullptr;
    return fmt::format(
        "the program has ended with exit code {}, after {} steps; `back-until`, `reverse` and `goto` lead back\n",
        s.exit_code, number(int64_t(s.position)));
  }
  std::string out;
  if (s.why == "breakpoint") out += fmt::format("breakpoint {}: ", s.id);
  if (s.why == "watchpoint") out += fmt::format("watchpoint {}: {}\n", s.id, s.text);
  if (s.why == "event") out += s.text + "\n";
  if (s.why == "pause") out += "paused\n";
  if (!s.focus.is_object()) return out + fmt::format("position {}\n", number(int64_t(s.position)));
  focus_ = s.focus.at("name");
  const uint32_t lanes = s.focus.at("lanes");
  if (lane_ >= 0 && !(lanes >> lane_ & 1)) lane_ = -1;
  out += fmt::format("{} (position {})\n", text_of_focus(s.focus), number(int64_t(s.position)));
  if (s.focus.contains("place")) out += text_of_place(s.focus["place"], sources_);
  return out;
}

std::string Debugger::resume(const Json& wanted) {
  Json stops = wanted;
  for (const Json& b : breakpoints_)
    if (b.contains("diagnosis")) stops["diagnosis"] = std::min(b["diagnosis"].get<int>(), stops.value("diagnosis", 2));
  stops["diagnoses_behind"] = visited_;
  const Stopped s = session_.run(stops);
  if (s.why != "diagnosis") return arrived(s);
  visited_ = size_t(s.id);
  const auto& all = session_.diagnoses();
  const auto number = std::ranges::find_if(all, [&](const Json& d) { return d["number"] == s.id; }) - all.begin() + 1;
  std::string out;
  try {
    out = go_to_diagnosis({"diagnosis", std::to_string(number)});
  } catch (const std::exception& e) {  // it names no instruction
    out = e.what() + std::string("\n") + arrived(s);
  }
  stopped_.why = "diagnosis";
  stopped_.text = s.text;
  return out;
}

std::string Debugger::resume_back(const Json& stops, const char* none) {
  if (const auto found = session_.back_to(stops)) return arrived(*found);
  return std::string(none) + "\n";
}

std::string Debugger::add_breakpoint(const Words& words, const std::string& line) {
  word(words, 1, "a place: FILE:LINE, ptx LINE, or a part of a kernel's name");
  Json b = {{"id", next_id_}};
  std::string place = words[1];
  if (place == "diagnosis") {
    const std::string least = words.size() > 2 ? words[2] : "error";
    if (least != "note" && least != "warning" && least != "error")
      refuse("a diagnosis is an error, a warning or a note");
    b["diagnosis"] = least == "error" ? 2 : least == "warning" ? 1 : 0;
    place += " " + least;
  } else if (place == "ptx") {
    b["ptx_line"] = number_of(word(words, 2, "a line of the PTX"), "line");
    place += " " + words[2];
  } else if (const auto source = source_place(place)) {
    b.update(breakpoint_at(*source));
  } else {
    b["kernel"] = place;
  }
  if (const size_t at = line.find(" if "); at != std::string::npos) {
    b["conditions"] = conditions_of(std::string_view(line).substr(at + 4));
    place += line.substr(at);
  }
  b["text"] = place;
  breakpoints_.push_back(b);
  return fmt::format("breakpoint {}: {}\n", next_id_++, place);
}

std::string Debugger::add_watch(const Words& words) {
  const std::string& space = word(words, 1, "shared A B, global A B, or tmem COLUMN COUNT");
  Json w = {{"id", next_id_}, {"space", space}};
  const uint64_t begin = number_of(word(words, 2, "where it begins"), "number"),
                 size = number_of(word(words, 3, "where it ends, or how many columns"), "number");
  if (space == "tmem") {
    w["column"] = begin;
    w["columns"] = size;
  } else if (space == "shared" || space == "global") {
    if (size <= begin) refuse("the range is empty: it goes from A to B, without B");
    w["begin"] = begin;
    w["end"] = size;
  } else {
    refuse(fmt::format("there is no memory {}: shared, global, tmem", space));
  }
  if (space != "global" && !focus_.is_null()) w["cta"] = focus_["cta"];
  w["reads"] = words.size() > 4 && words[4] == "read";
  w["text"] = fmt::format("{} {} {}", space, words[2], words[3]);
  std::string out;
  if (!session_.watches()) {
    out = "the program is started again, with all accesses watched\n";
    out += arrived(session_.watch_accesses());
  }
  watches_.push_back(w);
  return out + fmt::format("watchpoint {}: {}\n", next_id_++, w["text"].get<std::string>());
}

std::string Debugger::until(const Words& words, bool back) {
  const std::string& what = word(words, 1, "FILE:LINE, cycle N, complete, phase, or shared|global|tmem written A B");
  Json wanted;
  if (what == "cycle") {
    if (back) refuse("back-until takes no cycle: use goto");
    wanted["cycle"] = number_of(word(words, 2, "a number of cycles since the launch began"), "cycle");
  } else if (what == "complete" || what == "phase") {
    wanted["events"] = {what};
  } else if (const auto source = source_place(what)) {
    wanted["breakpoints"] = Json::array({breakpoint_at(*source)});
  } else if (words.size() == 5 && words[2] == "written") {
    if (!session_.watches()) arrived(session_.watch_accesses());
    const uint64_t a = number_of(words[3], "number"), b = number_of(words[4], "number");
    Json w = {{"space", what}};
    if (what == "tmem")
      w.update({{"column", a}, {"columns", b}});
    else if (what == "shared" || what == "global")
      w.update({{"begin", a}, {"end", b}});
    else
      refuse(fmt::format("there is no memory {}: shared, global, tmem", what));
    if (what != "global" && !focus_.is_null()) w["cta"] = focus_["cta"];
    wanted["watches"] = Json::array({w});
  } else {
    refuse(
        fmt::format("until {} is not known: FILE:LINE, cycle N, complete, phase, shared|global written A B, tmem "
                    "written COLUMN COUNT",
                    what));
  }
  return back ? resume_back(wanted, "that has not happened before this moment") : resume(wanted);
}

std::string Debugger::show(const Words& given) {
  Words words = given;
  if (const auto html = std::ranges::find(words, "--html"); html != words.end()) {
    if (html + 1 == words.end()) refuse("--html takes a file");
    const std::string file = *(html + 1);
    words.erase(html, html + 2);
    std::ofstream out(file, std::ios::binary);
    std::string line;
    for (const std::string& w : words) line += (line.empty() ? "" : " ") + w;
    if (!out || !(out << page(line)).flush()) refuse(fmt::format("{} cannot be written", file));
    return fmt::format("written to {}\n", file);
  }
  const std::string format = take_format(words);
  const std::string& what =
      word(words, 1, "warps, barriers, inflight, tmem, shared, global, tile, fragment, snapshots or breakpoints");
  const auto value = [&](size_t k, const char* name) { return number_of(word(words, k, name), name); };
  if (what == "warps") {
    Json view = {{"view", "warps"}};
    if (words.size() > 2) view["first"] = value(2, "number");
    return text_of_warps(ask(view));
  }
  if (what == "barriers") return text_of_barriers(ask({{"view", "barriers"}}));
  if (what == "inflight") return text_of_operations(ask({{"view", "inflight"}}));
  if (what == "tmem") {
    Json view = {{"view", "tmem"}};
    if (words.size() > 2)
      view.update({{"lane", value(2, "lane")},
                   {"lanes", value(3, "number of lanes")},
                   {"column", value(4, "column")},
                   {"columns", value(5, "number of columns")}});
    return text_of_tensor_memory(ask(view), format);
  }
  if (what == "shared" || what == "global") {
    Json view = {{"view", what}};
    if (words.size() > 2 || what == "global") view["begin"] = value(2, "address");
    if (words.size() > 3) view["bytes"] = value(3, "number of bytes");
    return text_of_bytes(ask(view));
  }
  if (what == "tile") return show_tile(words);
  if (what == "fragment") return show_fragment(words, format);
  if (what == "snapshots") {
    std::string out;
    for (const Session::Kept& s : session_.snapshots())
      out += fmt::format("position {:>14}  {:>8} KiB of its own\n", number(int64_t(s.position)),
                         number(int64_t(s.bytes / 1024)));
    return out.empty() ? "there are no snapshots\n" : out;
  }
  if (what == "breakpoints") return list_breakpoints();
  refuse(fmt::format(
      "there is no view {}: warps, barriers, inflight, tmem, shared, global, tile, fragment, snapshots, breakpoints",
      what));
}

std::string Debugger::page(const std::string& line) {
  Words words = split(line);
  const std::string format = take_format(words);
  const std::string& what = word(words, 1, "barriers, inflight, tmem, tile, fragment or all");
  const bool all = what == "all";
  std::string body;
  const auto wide = [](Json view) {  // a page has room
    for (const auto& [key, value] : {std::pair("row", 0), std::pair("rows", 128), std::pair("columns", 32)})
      if (!view.contains(key)) view[key] = value;
    return view;
  };
  if (all || what == "barriers") body += html_of_barriers(ask({{"view", "barriers"}}));
  if (all || what == "inflight") body += html_of_operations(ask({{"view", "inflight"}}));
  const auto tensor_memory = [&] {
    body += html_of_tensor_memory(ask({{"view", "tmem"}, {"map", true}}), ask({{"view", "inflight"}}));
  };
  if (what == "tmem") tensor_memory();
  if (what == "tile") body += html_of_tile(ask(wide(tile_of(words))));
  if (what == "fragment") body += html_of_tile(ask(wide(fragment_of(words, format))));
  if (all) {
    const auto if_there = [](const auto& add) {
      try {
        add();
      } catch (const std::exception&) {
        // This CTA has none.
      }
    };
    if_there(tensor_memory);
    for (const char* tile : {"a", "b", "d", "box", "fragment"})
      if_there([&] { body += html_of_tile(ask(wide({{"view", "tile"}, {"tile", tile}}))); });
  }
  if (body.empty()) refuse(fmt::format("there is no page of {}: barriers, inflight, tmem, tile, fragment, all", what));
  const Json focus = ask({{"view", "where"}}).at("focus");
  std::string place = text_of_focus(focus) + "\n";
  if (focus.contains("place")) place += text_of_place(focus["place"], sources_);
  from_here(place);
  return html_page("gen5 debug: " + what, place, body);
}

std::string Debugger::show_tile(const Words& words) { return text_of_tile(ask(tile_of(words))); }

std::string Debugger::show_fragment(const Words& words, const std::string& format) {
  return text_of_tile(ask(fragment_of(words, format)));
}

std::string Debugger::print(const Words& given, bool all_lanes) {
  Words words = given;
  const std::string format = take_format(words);
  const std::string& name = word(words, 1, "a register or a variable, such as %r12 or x");
  if (!name.starts_with("%")) return print_variable(name, format, all_lanes);
  return text_of_registers(ask({{"view", "registers"}, {"name", name}, {"call", call()}}), all_lanes ? -1 : lane_,
                           format);
}

size_t Debugger::call() { return frame_ ? frame().value("call", size_t(0)) : 0; }

std::string Debugger::print_variable(const std::string& expression, const std::string& format, bool all_lanes) {
  const Variables::Object o = variables_.find(frame(), expression);
  const Variables::Values values = variables_.read(o, format);
  std::string out = fmt::format("{} ({})", o.path, o.type_name());
  if (!values.missing.empty()) return out + fmt::format(" = <{}>\n", values.missing);
  if (lane_ >= 0 && !all_lanes)
    return out + (values.lanes >> lane_ & 1 ? fmt::format(" = {}\n", values.text[size_t(lane_)])
                                            : fmt::format(" has no value in lane {}\n", lane_));
  if (values.uniform())
    return out + fmt::format(" = {} in {}\n", values.text[size_t(values.first())],
                             ~values.lanes ? "lanes " + lane_ranges(values.lanes) : "all lanes");
  if (o.scalar()) return out + text_by_lane(values.text, values.lanes);
  out += "\n";
  for (uint32_t rest = values.lanes; rest;) {
    const std::string& text = values.text[size_t(__builtin_ctz(rest))];
    uint32_t same = 0;
    for (uint32_t lane = 0; lane < 32; ++lane)
      if (rest >> lane & 1 && values.text[lane] == text) same |= 1u << lane;
    out += fmt::format("  lanes {}: {}\n", lane_ranges(same), text);
    rest &= ~same;
  }
  return out;
}

std::string Debugger::locals() {
  std::vector<Variables::Object> all;
  try {
    all = variables_.at(frame());
  } catch (const NoVariables& none) {
    return fmt::format("{}. Its registers:\n{}", none.what(),
                       text_of_registers(ask({{"view", "registers"}, {"call", call()}}), lane_, ""));
  }
  const std::vector<Variables::Values> values = variables_.read(all, "");
  std::string out;
  for (size_t k = 0; k < all.size(); ++k)
    out += fmt::format("{:{}}{} ({}) = {}\n", "", 2 * all[k].depth, all[k].name, all[k].type_name(),
                       text_in_focus(values[k], lane_));
  return out.empty() ? "this call has no variables\n" : out;
}

std::string Debugger::choose_frame(const Words& words) {
  const Json view = ask({{"view", "where"}});
  const size_t wanted = number_of(word(words, 1, "a call's number, as `where` has it"), "call"),
               all = view.at("frames").size();
  if (wanted >= all) refuse(fmt::format("there are calls 0 to {}", all - 1));
  frame_ = wanted;
  return text_of_frames({{"focus", view["focus"]}, {"frames", Json::array({view["frames"][wanted]})}}, sources_);
}

std::string Debugger::list_breakpoints() const {
  std::string out;
  for (const Json& b : breakpoints_)
    out += fmt::format("breakpoint {}: {}\n", b["id"].get<int>(), b["text"].get<std::string>());
  for (const Json& w : watches_)
    out += fmt::format("watchpoint {}: {}\n", w["id"].get<int>(), w["text"].get<std::string>());
  return out.empty() ? "there are none\n" : out;
}

std::string Debugger::list_diagnoses() const {
  std::string out;
  int n = 0;
  for (const Json& d : session_.diagnoses()) {
    const Json& p = d["place"];
    out += fmt::format("{}. {}[{}]: {}\n", ++n,
                       d["severity"] == 2   ? "error"
                       : d["severity"] == 1 ? "warning"
                                            : "note",
                       d["code"].get<std::string>(), d["message"].get<std::string>());
    if (p.value("line", 0)) out += fmt::format("   {}:{}\n", p.value("file", ""), p["line"].get<int>());
    out += fmt::format("   told at position {}\n", number(d["position"].get<int64_t>()));
  }
  return out.empty() ? "tinygpu has reported nothing so far\n" : out;
}

std::string Debugger::go_to_diagnosis(const Words& words) {
  const auto& all = session_.diagnoses();
  const std::string which = words.size() > 1 ? words[1] : "1";
  const bool by_number = which.find_first_not_of("0123456789") == which.npos;
  const uint64_t number = by_number ? number_of(which, "number") : 0;
  const auto found = [&] {
    if (by_number) return number < 1 || number > all.size() ? all.end() : all.begin() + int64_t(number) - 1;
    return std::ranges::find_if(all, [&](const Json& d) { return is_called(d, which); });
  };
  while (found() == all.end() && session_.alive()) session_.run(Json::object());
  if (all.empty()) refuse("the program has run to its end, and tinygpu has reported nothing");
  if (found() == all.end())
    refuse(by_number ? fmt::format("there are diagnoses 1 to {}", all.size())
                     : fmt::format("there is no diagnosis {}: `diagnoses` lists those that there are", which));
  const size_t n = size_t(found() - all.begin()) + 1;
  const Json d = session_.diagnoses()[n - 1];
  Json place = d["place"];
  if (words.size() > 2) {
    const size_t k = number_of(words[2], "number");
    const Json others = d.value("others", Json::array());
    if (k < 2 || k > others.size() + 1) refuse(fmt::format("diagnosis {} names places 1 to {}", n, others.size() + 1));
    place = others[k - 2]["place"];
  }
  std::string out = fmt::format("{}: {}\n", d["code"].get<std::string>(), d["message"].get<std::string>());
  if (!place.contains("cta") || !place.value("ptx_line", 0)) refuse(out + "it names no instruction to go to");
  Json conditions = Json::array();
  const char* axes[] = {"cta.x", "cta.y", "cta.z"};
  for (size_t k = 0; k < 3; ++k)
    conditions.push_back({{"what", axes[k]}, {"comparison", "=="}, {"value", place["cta"][k]}});
  if (place.contains("warp")) conditions.push_back({{"what", "warp"}, {"comparison", "=="}, {"value", place["warp"]}});
  if (place.contains("cycle"))
    conditions.push_back({{"what", "cycle"}, {"comparison", "<="}, {"value", place["cycle"]}});
  // The last time before the diagnosis that this warp came to this instruction.
  const uint64_t reported = d["position"];
  while (session_.alive() && session_.position() < reported) session_.run({{"limit", reported}});
  const Json wanted = {{"breakpoints", Json::array({{{"ptx_line", place["ptx_line"]}, {"conditions", conditions}}})}};
  return out + resume_back(wanted, "the run has not come to this instruction");
}

std::string Debugger::choose(const Words& words) {
  if (words[0] == "lane") {
    const std::string& which = word(words, 1, "a number from 0 to 31, or all");
    const int lane = which == "all" ? -1 : int(number_of(which, "lane"));
    if (lane > 31) refuse("a warp has lanes 0 to 31");
    lane_ = lane;
    return lane < 0 ? "all lanes are in focus\n" : fmt::format("lane {} is in focus\n", lane);
  }
  if (focus_.is_null()) refuse("no grid is on the chip here");
  Json wanted = focus_;
  if (words[0] == "warp") {
    wanted["warp"] = number_of(word(words, 1, "a warp's number in its CTA"), "warp");
  } else {
    wanted["cta"] = {number_of(word(words, 1, "a CTA's coordinates"), "coordinate"),
                     words.size() > 2 ? number_of(words[2], "coordinate") : 0,
                     words.size() > 3 ? number_of(words[3], "coordinate") : 0};
    wanted["warp"] = 0;
  }
  const Json before = focus_;
  focus_ = wanted;
  frame_ = 0;
  const Json answer = session_.view(request({{"view", "where"}}));
  if (answer.contains("error")) {
    focus_ = before;
    refuse("that warp is not resident: `show warps` lists those that are");
  }
  stopped_.focus = answer["focus"];
  return text_of_frames(answer, sources_);
}

std::string Debugger::repeated(std::string text, const std::string& line) {
  last_ = line;
  return text;
}

std::string Debugger::perform(const std::string& name, Words& words, const std::string& line) {
  if (name == "run" || name == "continue") return resume(stops());
  if (name == "step" || name == "next" || name == "stepi") {
    Json wanted = stops();
    wanted["step"] = step_of(name != "stepi", name == "next");
    return repeated(resume(wanted), line);
  }
  if (name == "back" || name == "backi")
    return repeated(resume_back({{"step", step_of(name == "back", false)}}, "this warp begins here"), line);
  if (name == "reverse")
    return resume_back(stops(), breakpoints_.empty() && watches_.empty() ? "there is no breakpoint"
                                                                         : "no breakpoint was met before this moment");
  if (name == "goto") return arrived(session_.go_to(number_of(word(words, 1, "a position"), "position")));
  if (name == "until") return until(words, false);
  if (name == "back-until") return until(words, true);
  if (name == "break") return add_breakpoint(words, line);
  if (name == "watch") return add_watch(words);
  if (name == "delete") {
    const uint64_t id = number_of(word(words, 1, "a number"), "number");
    const auto is = [&](const Json& b) { return b["id"] == id; };
    if (!std::erase_if(breakpoints_, is) && !std::erase_if(watches_, is))
      refuse(fmt::format("there is no breakpoint {}", id));
    return fmt::format("deleted {}\n", id);
  }
  if (name == "where") return text_of_frames(ask({{"view", "where"}}), sources_);
  if (name == "list") {
    const Json place = ask({{"view", "where"}})["focus"].value("place", Json::object());
    return place.value("line", 0) ? around(sources_, place["file"], place["line"], 6) : text_of_place(place, sources_);
  }
  if (name == "print") return print(words, false);
  if (name == "lanes") return print(words, true);
  if (name == "locals") return locals();
  if (name == "frame") return choose_frame(words);
  if (name == "registers") {
    const std::string format = take_format(words);
    return text_of_registers(ask({{"view", "registers"}, {"call", call()}}), lane_, format);
  }
  if (name == "show") return show(words);
  if (name == "why") return text_of_waits(ask({{"view", "why"}}), sources_);
  if (name == "warp" || name == "cta" || name == "lane") return choose(words);
  if (name == "diagnoses") return list_diagnoses();
  if (name == "diagnosis") return go_to_diagnosis(words);
  return help();
}

Debugger::Answer Debugger::run(const std::string& given) {
  std::string line = given;
  Words words = split(line);
  if (words.empty()) {
    if (last_.empty()) return {};
    line = last_;
    words = split(line);
  }
  const auto command = std::ranges::find_if(
      kCommands, [&](const Command& c) { return words[0] == c.name || (*c.shorter && words[0] == c.shorter); });
  if (command == std::end(kCommands)) {
    std::string like;
    for (const Command& c : kCommands)
      if (std::string_view(c.name).starts_with(words[0]))
        like += fmt::format("{}{}", like.empty() ? ": did you mean " : ", ", c.name);
    return {.text = fmt::format("there is no command {}{}; `help` lists them\n", words[0], like), .error = true};
  }
  const std::string name = words[0] = command->name;
  last_.clear();
  Answer out;
  const uint64_t before = session_.position();
  const bool was_alive = session_.alive();
  try {
    out.quit = name == "quit";
    if (!out.quit) out.text = perform(name, words, line);
  } catch (const std::exception& e) {
    out.text = std::string(e.what()) + "\n";
    out.error = true;
  }
  from_here(out.text);
  out.moved = session_.position() != before || session_.alive() != was_alive;
  return out;
}

}  // namespace tinygpu::debug
