// Tables for the terminal.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace gen5::harness {

/// "1,048,576".
std::string with_commas(uint64_t n);
/// "1.5 MiB".
std::string with_unit(uint64_t bytes);

/// A table of text: the first `left` columns left, the others right.
class Table {
 public:
  explicit Table(std::vector<std::string> head, size_t left = 1) : head_(std::move(head)), left_(left) {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  const std::vector<std::string>& head() const { return head_; }
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }
  /// Lines with two spaces before them and a rule below the head.
  std::string render() const;

 private:
  std::vector<std::string> head_;
  std::vector<std::vector<std::string>> rows_;
  size_t left_;
};

}  // namespace gen5::harness
