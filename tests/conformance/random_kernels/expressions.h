// Random CUDA C++ expressions whose value every compiler must agree on: no undefined behaviour, nothing approximated.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tests/conformance/random.h"

namespace conformance::random_kernels {

/// What an expression may name, by type: 'u' u32, 'q' u64, 's' u16, 'c' u8, 'f' f32, 'd' f64, 'h' f16, 'b' bf16,
/// 'H' f16x2, 'B' bf16x2, 'U' u32 that is equal in all threads of the block. The variables of type t are t0, t1, …;
/// those of 'U' are named in `uniform`.
struct Scope {
  std::map<char, int> variables;
  std::vector<std::string> uniform;
};

/// The C++ name of a type letter.
const char* type_name(char type);
/// All letters that variables may have.
inline constexpr char kVariableTypes[] = "uqscfdhbHB";

/// An expression of a type ('p': bool) with at most `depth` levels of operators.
std::string expression(Random& r, const Scope& scope, char type, int depth);
/// A word, which `u` spells, as a value of a type.
std::string made_from(const std::string& u, char type);
/// A variable's name; the scope has one of the type.
std::string variable(Random& r, const Scope& scope, char type);

}  // namespace conformance::random_kernels
