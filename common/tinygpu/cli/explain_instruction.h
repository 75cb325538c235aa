// How one PTX instruction reads, or what is wrong with it.
#pragma once
#include <string>

namespace tinygpu::cli {

struct Explained {
  std::string text;    // lines
  bool legal = false;  // some form of `target` takes it
};
/// `text`: without declarations; its registers are typed by their names, or by what fits. `target`: "sm_100a".
Explained explain_instruction(std::string text, const std::string& target, const std::string& version);

}  // namespace tinygpu::cli
