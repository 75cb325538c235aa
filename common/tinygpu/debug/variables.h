// Variables of the source where a warp stands: which there are, and their values lane by lane.
#pragma once
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/tinygpu/debug/source_variables.h"
#include "common/tinygpu/debug/wire.h"

namespace tinygpu::debug {

/// The code at this place has no variables, and why.
class NoVariables : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Variables {
 public:
  /// `socket`: the session's; `ask`: views.h, which throws std::runtime_error with a sentence.
  Variables(std::string socket, std::function<Json(Json)> ask) : socket_(std::move(socket)), ask_(std::move(ask)) {}

  /// A variable, or a part of one.
  struct Object {
    std::string name;  // of a part: ".x", "[3]", "*"
    std::string path;  // how it is asked for: "p->x"
    const SourceType* type = nullptr;
    int depth = 0;
    std::string missing;  // why it has no value; "": it may have one
    size_t call = 0;
    Json item = {};          // variable_bytes.h
    uint64_t skip = 0;       // bytes of a register before it
    bool bit_field = false;  // these are not taken apart
    bool scalar() const;
    bool has_parts() const;
    std::string type_name() const { return type ? type->name : "?"; }
  };
  /// Values as text.
  struct Values {
    uint32_t lanes = 0;  // that have one
    std::array<std::string, 32> text;
    std::string missing;  // all of them
    bool uniform() const;
    int first() const { return lanes ? __builtin_ctz(lanes) : -1; }
  };

  /// In a frame of the view "where"; inner blocks last. Throws NoVariables.
  std::vector<Object> at(const Json& frame);
  /// `p->x[3]`, `*p`: throws std::runtime_error with a sentence.
  Object find(const Json& frame, std::string_view expression);
  /// Members, elements (the first thousand) or what a pointer points to.
  std::vector<Object> parts(const Object& of);
  /// `format`: as of registers, for numbers.
  std::vector<Values> read(const std::vector<Object>& objects, const std::string& format);
  Values read(const Object& object, const std::string& format) { return read(std::vector{object}, format).front(); }

 private:
  Object part(const Object& of, std::string name, std::string path, const SourceType* type, uint64_t offset) const;
  Object target(const Object& pointer, uint64_t index);
  Object member(const Object& of, std::string_view name);
  Object element(const Object& of, uint64_t index);
  SourceVariables& module_of(const Json& frame);

  const std::string socket_;
  const std::function<Json(Json)> ask_;
  std::map<std::string, std::unique_ptr<SourceVariables>> modules_;  // by file
};

/// A value in lane `lane`, or in all lanes (−1), on one line.
std::string text_in_focus(const Variables::Values& values, int lane);

}  // namespace tinygpu::debug
