#include "common/tinygpu/observe/report/page.h"

#include <map>
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

using Insertions = std::map<std::string_view, std::string_view>;

/// What comes in is not searched again: it may hold anything.
void write(std::ostream& out, std::string_view page, const Insertions& insertions) {
  for (size_t open; (open = page.find("{{")) != std::string_view::npos;) {
    const size_t close = page.find("}}", open);
    out << page.substr(0, open) << insertions.at(page.substr(open + 2, close - open - 2));
    page.remove_prefix(close + 2);
  }
  out << page;
}

}  // namespace

void write_page(std::ostream& out, const std::string& title, const std::string& tables,
                const nlohmann::ordered_json& data) {
  const std::string head = html(title), json = script(data);
  const std::string page = parts_of("page.html"), style = parts_of(".css"), scripts = parts_of(".js");
  write(out, page, {{"title", head}, {"style", style}, {"tables", tables}, {"data", json}, {"script", scripts}});
}

void write_still_page(std::ostream& out, const std::string& title, const std::string& body) {
  const std::string head = html(title), page = parts_of("still.html"), style = parts_of(".css");
  write(out, page, {{"title", head}, {"style", style}, {"tables", body}});
}

}  // namespace tinygpu::observe
