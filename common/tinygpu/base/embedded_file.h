// A file of the source tree that is built in, by gen5_embed (cmake/Gen5Embed.cmake).
#pragma once
#include <span>
#include <string_view>

namespace tinygpu {

struct EmbeddedFile {
  std::string_view path;  ///< below the folder that gen5_embed names
  std::string_view text;
};

}  // namespace tinygpu
