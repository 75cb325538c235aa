// A part of a matrix as text: what all views of tiles and fragments answer.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "common/tinygpu/debug/wire.h"
#include "common/tinygpu/numerics/formats.h"

namespace tinygpu::debug {

/// There is no such matrix, and why.
Json no_tile(const std::string& sentence);

/// Every float format here is a part of f32, so the shortest text that gives the f32 again gives the pattern again.
std::string text_of_element(numerics::Format f, uint32_t bits);

/// The window of `request` ("row", "rows", "column", "columns"; eight by eight, if nothing is said): {"title", "row",
/// "column", "row_name", "column_name", "all": [rows, columns], "rows": [[at(row, column)]]}; null where `at` knows no
/// value.
Json cells_of(const Json& request, uint32_t rows, uint32_t columns, std::string title, const char* row_name,
              const char* column_name, const std::function<Json(uint32_t, uint32_t)>& at);

}  // namespace tinygpu::debug
