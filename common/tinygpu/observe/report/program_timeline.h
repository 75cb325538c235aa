// A timeline that the program itself has written down: what its tasks did, and which waited for which.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace tinygpu::observe {

/// `text` is JSON: {"title", "rows": [{"name": "SM 0", "spans": [{"name": "qkv 3", "begin", "end", "critical":
/// true}]}], "arrows": [[from, to]]}. Times are SM cycles; "critical" may be missing; arrows name spans by their place
/// among all. What comes back is as timeline_json() has it, with the title. Throws std::invalid_argument, with a
/// sentence.
nlohmann::ordered_json program_timeline(std::string_view text);

}  // namespace tinygpu::observe
