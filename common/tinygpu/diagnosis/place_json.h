// Where something happened, as JSON: all that is known, and nothing of what is not.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "common/tinygpu/base/diagnosis.h"

namespace tinygpu::diagnosis {

nlohmann::ordered_json place_json(const Where& where);
Where place_of_json(const nlohmann::ordered_json& place);

}  // namespace tinygpu::diagnosis
