// layout.hpp - rows in the forms that formats of squeue, sinfo and sacct ask for.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace holon::cli::slurm {

// A part of a format: a field and how wide it is.
struct Part {
  std::string before;     // text in front of it
  std::string field;      // a letter of -o, a name of -O; "": there is only text
  std::size_t width = 0;  // 0: as wide as the text
  bool right = false;
};

// "%.18i %.9P|%j". Errors: invalid_argument (a letter that is none).
Result<std::vector<Part>> letters_in(const std::string& format,
                                     const std::function<bool(char letter)>& is_known);
// "JobID:12,Name:.8,State". Each is 20 wide unless it says so. Errors: invalid_argument.
Result<std::vector<Part>> names_in(const std::string& format,
                                   const std::function<bool(std::string_view name)>& is_known);

// A line of texts, cut to their widths.
std::string line_of(const std::vector<Part>& parts, const std::vector<std::string>& texts);

}  // namespace holon::cli::slurm
