#include "cli/slurm/layout.hpp"

#include <charconv>

#include "cli/slurm/options.hpp"

namespace holon::cli::slurm {
namespace {

// The number at the beginning of the text, which is taken from it; 0: there is none.
std::size_t take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return number;
}

}  // namespace

Result<std::vector<Part>> letters_in(const std::string& format,
                                     const std::function<bool(char)>& is_known) {
  std::vector<Part> parts;
  std::string_view rest = format;
  std::string before;
  while (!rest.empty()) {
    if (rest.front() != '%') {
      before += rest.front();
      rest.remove_prefix(1);
      continue;
    }
    rest.remove_prefix(1);
    Part part{std::move(before), {}, 0, false};
    before.clear();
    part.right = rest.starts_with('.');
    if (part.right) rest.remove_prefix(1);
    part.width = take_number(rest);
    if (rest.empty() || !is_known(rest.front()))
      return fail(Errc::invalid_argument,
                  "Invalid job format specification: " + std::string(rest.substr(0, 1)));
    part.field = rest.front();
    rest.remove_prefix(1);
    parts.push_back(std::move(part));
  }
  if (!before.empty()) parts.push_back({std::move(before), {}, 0, false});
  return parts;
}

Result<std::vector<Part>> names_in(const std::string& format,
                                   const std::function<bool(std::string_view)>& is_known) {
  constexpr std::size_t kUsual = 20;
  std::vector<Part> parts;
  for (const std::string& item : items_of(format)) {
    const auto colon = item.rfind(':');
    const bool is_whole = is_known(item);  // "S:C:T"
    std::string_view size = is_whole || colon == std::string::npos
                                ? std::string_view()
                                : std::string_view(item).substr(colon + 1);
    Part part{{}, is_whole ? item : item.substr(0, colon), kUsual, size.starts_with('.')};
    if (part.right) size.remove_prefix(1);
    if (const std::size_t width = take_number(size); width > 0) part.width = width;
    if (!is_known(part.field))
      return fail(Errc::invalid_argument, "Invalid job format specification: " + part.field);
    parts.push_back(std::move(part));
  }
  return parts;
}

std::string line_of(const std::vector<Part>& parts, const std::vector<std::string>& texts) {
  std::string line;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    line += part.before;
    if (part.field.empty()) continue;
    std::string text = texts.at(i);
    if (part.width > 0) text.resize(std::min(text.size(), part.width));
    const std::string blanks(part.width > text.size() ? part.width - text.size() : 0, ' ');
    line += part.right ? blanks + text : text + blanks;
  }
  return line + "\n";
}

}  // namespace holon::cli::slurm
