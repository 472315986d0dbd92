// options.hpp - options of one of Slurm's commands, as getopt_long(3) reads them: letters in a row,
// values joined or behind, long names abbreviated.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace holon::cli::slurm {

struct Option {
  char letter;  // 0: it has none
  const char* name;
  enum class Takes { nothing, value, joined_value } takes = Takes::nothing;
};

class Options {
 public:
  // Reads the words. `stops`: options end at the first word that is none. Errors: invalid_argument
  // (an unknown option, a value that is missing).
  static Result<Options> read(const std::vector<std::string>& words, std::span<const Option> known,
                              bool stops = false);

  bool has(std::string_view name) const { return value(name).has_value(); }
  // The value given last; "" of an option without one.
  std::optional<std::string> value(std::string_view name) const;
  // Names and values in the order in which they were given.
  const std::vector<std::pair<std::string, std::string>>& given() const { return given_; }
  // What is no option, in order.
  const std::vector<std::string>& rest() const { return rest_; }

 private:
  std::vector<std::pair<std::string, std::string>> given_;
  std::vector<std::string> rest_;
};

// The items of "a,b c": commas and blanks are between them.
std::vector<std::string> items_of(std::string_view list);

}  // namespace holon::cli::slurm
