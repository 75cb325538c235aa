#include "common/tinygpu/observe/report/page.h"

#include <map>
#include <stdexcept>
#include <string_view>

#include "common/tinygpu/observe/report/html.h"
#include "common/tinygpu/observe/report/parts.h"

namespace tinygpu::observe {
namespace {

/// The built-in files whose names end so, one behind the other.
std::string parts_of(std::string_view ending) {
  std::string all;
  for (const EmbeddedFile& f : parts::files())
    if (f.path.ends_with(ending)) all += f.text;
  return all;
}

}  // namespace

void write_page(std::ostream& out, const std::string& title, const std::string& tables,
                const nlohmann::ordered_json& data) {
  const std::string head = html(title), json = script(data);
  const std::string page = parts_of(".html"), style = parts_of(".css"), scripts = parts_of(".js");
  const std::map<std::string_view, std::string_view> insertions = {
      {"title", head}, {"style", style}, {"tables", tables}, {"data", json}, {"script", scripts}};
  // What comes in is not searched again: it may hold anything.
  std::string_view rest = page;
  for (size_t open; (open = rest.find("{{")) != std::string_view::npos;) {
    const size_t close = rest.find("}}", open);
    out << rest.substr(0, open) << insertions.at(rest.substr(open + 2, close - open - 2));
    rest.remove_prefix(close + 2);
  }
  out << rest;
}

}  // namespace tinygpu::observe
