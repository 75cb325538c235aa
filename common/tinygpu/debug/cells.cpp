#include "common/tinygpu/debug/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace tinygpu::debug {
namespace {

/// The part of a matrix that is asked for: eight rows of eight columns, if nothing is said.
struct Window {
  uint32_t row, rows, column, columns;
};
std::optional<Window> window_of(const Json& request, uint32_t rows, uint32_t columns) {
  Window w{request.value("row", 0u), request.value("rows", 8u), request.value("column", 0u),
           request.value("columns", 8u)};
  if (w.row >= rows || w.column >= columns || !w.rows || !w.columns) return {};
  w.rows = std::min(w.rows, rows - w.row);
  w.columns = std::min(w.columns, columns - w.column);
  return w;
}

}  // namespace

Json no_tile(const std::string& sentence) { return {{"error", sentence}}; }

std::string text_of_element(numerics::Format f, uint32_t bits) {
  if (f == numerics::Format::s8 || f == numerics::Format::u8)
    return fmt::format("{}", numerics::unpack_integer(f, bits));
  return fmt::format("{}", float(numerics::to_double(f, bits)));
}

Json cells_of(const Json& request, uint32_t rows, uint32_t columns, std::string title, const char* row_name,
              const char* column_name, const std::function<Json(uint32_t, uint32_t)>& at) {
  const auto w = window_of(request, rows, columns);
  if (!w) return no_tile(fmt::format("the tile has {} rows and {} columns", rows, columns));
  Json out = {{"title", std::move(title)},  {"row", w->row},         {"column", w->column}, {"row_name", row_name},
              {"column_name", column_name}, {"all", {rows, columns}}};
  for (uint32_t r = 0; r < w->rows; ++r) {
    Json row = Json::array();
    for (uint32_t c = 0; c < w->columns; ++c) row.push_back(at(w->row + r, w->column + c));
    out["rows"].push_back(std::move(row));
  }
  return out;
}

}  // namespace tinygpu::debug
