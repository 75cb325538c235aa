#include "common/tinygpu/diagnosis/source_files.h"

#include <algorithm>

namespace tinygpu::diagnosis {

std::optional<std::string_view> SourceFiles::line(const std::string& path, int number) {
  constexpr size_t kColumns = 400;
  auto it = files_.find(path);
  if (it == files_.end()) {
    it = files_.emplace(path, std::nullopt).first;
    if (auto text = read_(path)) {
      File& f = it->second.emplace();
      f.text = std::move(*text);
      for (size_t at = 0; at < f.text.size();) {
        f.starts.push_back(at);
        at = std::min(f.text.find('\n', at), f.text.size() - 1) + 1;
      }
    }
  }
  if (!it->second || number < 1 || size_t(number) > it->second->starts.size()) return {};
  const File& f = *it->second;
  std::string_view text = std::string_view(f.text).substr(f.starts[size_t(number) - 1]);
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text.substr(0, kColumns);
}

}  // namespace tinygpu::diagnosis
