// A diagnosis as text, in the manner of a compiler: the source lines with what happened there, the rule, the fix.
#pragma once
#include <string>
#include <vector>

#include "common/tinygpu/base/diagnosis.h"
#include "common/tinygpu/diagnosis/source_files.h"

namespace tinygpu::diagnosis {

struct RenderOptions {
  bool color = false;            // escape sequences for a terminal
  bool general = true;           // the rule and the example of the fix; false where the reader has just seen them
  bool more = false;             // a line that says how to read all about the code
  std::string debug = {};        // the command that stands at it
  std::string folder = {};       // files in it, or below, are named from there
  SourceFiles* files = nullptr;  // whose lines are quoted; null: none are
  std::string runs = {};         // in which of several runs it was found
  std::string launch = {};       // what the program calls the launch: "step 6"
};

/// Whether to write in colour: the file is a terminal that knows colours, and the user has nothing against them
/// (NO_COLOR, https://no-color.org).
bool in_color(int file_descriptor);

/// Several lines; ends with a newline. What the diagnosis itself does not say of the rule and the fix is taken from the
/// table.
std::string render(const Diagnosis& d, const RenderOptions& options = {});

/// "CTA (0,0,0), warp 1, thread 37, at cycle 120", "tcgen05.mma of CTA (0,0,0), warp 0, at cycle 90"; empty if unknown.
std::string who_of(const Where& where);

/// The calls through which the compiler inlined the instruction into its kernel, innermost first, a line each:
/// "in gen5::load (tma.h:55:3), inlined into", "gen5::fill (ring.h:20:5), inlined here". Of long chains the ends.
std::vector<std::string> inlined_lines(const Where& where, const std::string& folder);

/// `path` as it is named from `folder`, if it lies in it or below; else as it is.
std::string path_from(const std::string& folder, const std::string& path);

/// "error", "warning", "note".
const char* name_of(Severity severity);

/// Why it is wrong, with the section of the PTX ISA; the fix as code. Of the diagnosis, or of its code's row in the
/// table; empty where neither has any.
std::string rule_of(const Diagnosis& d);
std::string example_of(const Diagnosis& d);

}  // namespace tinygpu::diagnosis
