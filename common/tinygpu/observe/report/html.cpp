#include "common/tinygpu/observe/report/html.h"

#include <nlohmann/json.hpp>

namespace tinygpu::observe {

std::string html(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      case '\0': out += "\uFFFD"; break;
      default: out += c;
    }
  return out;
}

std::string thousands(uint64_t n) {
  std::string text = std::to_string(n);
  for (size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

std::string script(const nlohmann::ordered_json& data) {
  const std::string text = data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  // In JSON these stand inside of strings only.
  for (const char c : text) switch (c) {
      case '<': out += "\\u003c"; break;
      case '>': out += "\\u003e"; break;
      case '&': out += "\\u0026"; break;
      default: out += c;
    }
  return out;
}

}  // namespace tinygpu::observe
