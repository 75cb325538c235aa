// Variables of the source in a module's PTX, as `nvcc -G` describes them in DWARF. elfutils' libdw reads that; without
// it (kReadsVariables) there are none.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tinygpu::debug {

extern const bool kReadsVariables;

struct SourceType {
  enum class Kind : uint8_t {
    unknown,
    boolean,
    character,
    signed_integer,
    unsigned_integer,
    real,
    pointer,
    record,
    array,
    enumeration
  } kind = Kind::unknown;
  std::string name;
  uint64_t size = 0;
  struct Member {
    std::string name;
    uint64_t offset = 0;
    const SourceType* type = nullptr;
    bool bit_field = false;
  };
  std::vector<Member> members;         // of a record
  const SourceType* target = nullptr;  // of a pointer, null: void; of an array: its elements
  uint64_t count = 0;                  // of an array
  std::map<int64_t, std::string> enumerators;
};

struct SourceVariable {
  std::string name;
  const SourceType* type = nullptr;
  int depth = 0;  // of the block that declares it, in its function
  enum class Where : uint8_t {
    nowhere,     // optimised out at this place
    not_yet,     // a parameter that the function's first instructions have yet to store
    unreadable,  // a description that is not understood here
    in_register,
    in_memory
  } where = Where::nowhere;
  std::string register_name;
  std::string space, symbol;  // in memory: "local", "param", "shared", "global"
  uint64_t offset = 0;        // from the symbol
};

/// Of one module. Lines of its text take the place of addresses: that of an instruction says where it stands.
class SourceVariables {
 public:
  /// Throws std::runtime_error where the description cannot be read.
  explicit SourceVariables(std::string ptx);
  ~SourceVariables();
  SourceVariables(const SourceVariables&) = delete;
  SourceVariables& operator=(const SourceVariables&) = delete;

  /// `instruction`, as a view gives it, stands at `line`, in a function of that name.
  bool is_of(std::string_view function, int line, std::string_view instruction) const;
  /// What can be named before the instruction at `line` runs; inner blocks last.
  std::vector<SourceVariable> at(int line);

 private:
  class Dwarf;
  const std::string ptx_;
  std::vector<size_t> lines_;  // where each begins
  std::unique_ptr<Dwarf> dwarf_;
};

}  // namespace tinygpu::debug
