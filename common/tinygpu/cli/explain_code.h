// The diagnoses' side of `gen5 explain`: a code's whole story, and the list of codes.
#pragma once
#include <string>

namespace tinygpu::cli {

/// Prints every code with its sentence, a line each, by subjects.
void list_codes();

/// True if `word` is a diagnosis's code.
bool is_code(const std::string& word);

/// True if `word` is written like a code: small letters and digits, joined by dashes.
bool looks_like_code(const std::string& word);

/// Prints what is wrong, the rule, its section, what hardware does, and the fix. If there is no such code it says which
/// are written alike. Returns the exit code.
int explain_code(const std::string& code);

}  // namespace tinygpu::cli
