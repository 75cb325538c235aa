// Checks an instruction against the table of forms (forms.h): modifiers, operands, version and target.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/tinygpu/ptx/form_pattern.h"
#include "common/tinygpu/ptx/module.h"
#include "common/tinygpu/ptx/parser.h"
#include "common/tinygpu/ptx/spelling.h"

namespace tinygpu::ptx::forms {

class Checker {
 public:
  explicit Checker(const Module& module) : module_(module) {}
  using Report = std::function<void(ParseMessage)>;
  /// Starts a function; its parameters and local variables are seen through `f`.
  void begin(const Function& f);
  /// Reports what is wrong with `in`, an instruction of `f` whose operands are resolved as far as they can be, and
  /// binds it to the form that takes it.
  void check(const Function& f, Instruction& in, const Spelling& spelling, const Report& report);
  /// The first form that takes `in` as it stands, whatever target and version.
  Reading read(const Function& f, const Instruction& in, const Spelling& s);
  /// What is wrong with a spelling's modifiers, whatever its operands; empty if nothing.
  std::string fault_of(const Spelling& s);
  /// When the module is whole: a kernel with everything it calls must not mix .cta_group::1 and .cta_group::2.
  void finish(const Report& report);

 private:
  /// How one row takes the modifiers of one spelling.
  struct Match {
    const Pattern* pattern = nullptr;
    std::vector<int> bound;      // per modifier pattern: index into Spelling::mods, or -1
    std::vector<int> strangers;  // modifiers that the row has no place for
    std::vector<int> missing;    // required modifier patterns without a modifier
    std::vector<int> lonely;     // modifier patterns whose companion is missing
    int faults() const { return int(strangers.size()) * 4 + int(missing.size()) * 3 + int(lonely.size()) * 2; }
  };
  struct Verdict {               // of a spelling, worked out once
    std::vector<Match> fitting;  // rows whose modifiers fit
    Match nearest;               // else the closest
    const std::vector<Pattern>* patterns = nullptr;
  };
  struct Fault {
    Pos pos;
    std::string text, help;
    bool count = false;  // the number of operands is wrong
  };

  const Verdict& verdict(const Spelling& s);
  static Match match_modifiers(const Pattern& p, const Spelling& s);
  void report_modifiers(const Instruction& in, const Spelling& s, const Verdict& v, const Report& report) const;
  class Operands;
  bool operands_fit(const Function& f, const Instruction& in, const Spelling& s, const Match& m,
                    std::vector<Fault>* faults) const;
  /// The form that takes `in`, one that the module's target and version have before others; nullptr: none.
  const Match* taken(const Function& f, const Instruction& in, const Spelling& s, const Verdict& v);
  struct AddressFault {
    bool fits = true;
    std::string why, help;  // empty: as of any other operand
  };
  /// Whether `base` may be the base of an address that `p` describes.
  AddressFault address_fault(const Function& f, const Spelling& s, const OperandPattern& p, const Operand& base) const;
  int64_t count_of(const OperandPattern& p, const Spelling& s, const Match& m) const;
  Type type_of(const OperandPattern& p, const Instruction& in) const;
  std::string describe(const OperandPattern& p, const Instruction& in, const Spelling& s, const Match& m) const;
  std::string describe(const Operand& o, const Function& f) const;
  Space space_of(const std::string& symbol, const Function& f) const;
  bool available(const Form& f) const;
  void report_unavailable(const Instruction& in, const Form& f, const Report& report) const;
  void note_cta_group(const Instruction& in, const Report& report);

  const Module& module_;
  std::unordered_map<const Spelling*, Verdict> verdicts_;
  // What finish() needs.
  struct Use {
    Pos one, two;  // first .cta_group::1 and ::2 of a tcgen05 instruction; line 0: none
    std::vector<std::string> calls;
    bool entry = false;
    Pos pos;
  };
  std::unordered_map<std::string, Use> uses_;
  std::vector<std::string> order_;
  Use* use_ = nullptr;
  mutable std::unordered_map<std::string, Space> module_spaces_;
  mutable size_t indexed_variables_ = 0;
  mutable std::unordered_map<std::string, Space> local_spaces_;
  mutable size_t indexed_locals_ = 0;
};

}  // namespace tinygpu::ptx::forms
