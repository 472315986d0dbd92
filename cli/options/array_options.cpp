#include "cli/options/array_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <system_error>

#include "instance/job/wishes.hpp"
#include "resource/graph/spec.hpp"

namespace holon::cli {
namespace {

std::optional<std::int64_t> index_of(std::string_view digits) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size();
  return whole && n >= 0 && n <= instance::kMostIndex ? std::optional(n) : std::nullopt;
}

// An environment and a jobspec hold text without zero bytes.
Status check_entry(const std::string& entry, const std::string& where) {
  if (!resource::is_utf8(entry))
    return fail(Errc::invalid_argument, "not UTF-8; a jobspec cannot hold it", where);
  if (entry.find('\0') != std::string::npos)
    return fail(Errc::invalid_argument, "has a zero byte; text is accepted", where);
  return {};
}

Result<std::vector<std::string>> lines_of_file(const std::string& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (auto good = check_entry(line, fmt::format("{}:{}", file, lines.size() + 1)); !good)
      return tl::unexpected(good.error());
    lines.push_back(std::move(line));
  }
  if (in.eof() && !lines.empty()) return lines;
  if (in.eof()) return fail(Errc::invalid_argument, file + " has no lines", "--each-line");
  const int error = errno;
  return fail(error == ENOENT ? Errc::not_found : Errc::system,
              fmt::format("{}: {}", file, std::strerror(error)), "--each-line");
}

// What stands behind ":::"; nothing where there is none.
Result<std::optional<std::vector<std::string>>> take_words(std::vector<std::string>& command) {
  const auto mark = std::find(command.begin(), command.end(), ":::");
  if (mark == command.end()) return std::nullopt;
  std::vector<std::string> words(mark + 1, command.end());
  command.erase(mark, command.end());
  if (command.empty())
    return fail(Errc::invalid_argument, "there is no command before it", "':::'");
  if (words.empty()) return fail(Errc::invalid_argument, "there is nothing behind it", "':::'");
  for (const auto& word : words)
    if (auto good = check_entry(word, "':::'"); !good) return tl::unexpected(good.error());
  return words;
}

}  // namespace

Result<IndexRange> parse_indices(const std::string& word) {
  if (word.find('%') != std::string::npos)
    return fail(Errc::unsupported,
                fmt::format("'{}': how many run at a time cannot be said; 1-10 and 0-100:2 are "
                            "accepted",
                            word));
  const auto colon = word.find(':');
  const std::string range = word.substr(0, colon);
  const auto dash = range.find('-');
  const auto first = index_of(range.substr(0, dash));
  const auto last = dash == std::string::npos ? first : index_of(range.substr(dash + 1));
  const auto step = colon == std::string::npos ? 1 : index_of(word.substr(colon + 1));
  if (first && last && step && *first <= *last && *step >= 1)
    return IndexRange{*first, *step, (*last - *first) / *step + 1};
  return fail(Errc::invalid_argument,
              fmt::format("'{}' is no range of indices; 7, 1-10 and 0-100:2 are, from 0 to {}",
                          word, instance::kMostIndex));
}

void add_array_options(Parser& parser, ArrayOptions& options) {
  parser
      .option(
          "-a,--array",
          [&options](const std::string& word) -> Status {
            const auto read = parse_indices(word);
            if (!read) return tl::unexpected(read.error());
            options.indices = *read;
            return {};
          },
          "RANGE",
          "a job for each index: 1-10, 0-100:2; it is HOLON_ARRAY_INDEX, and {{array.index}} in "
          "COMMAND, --output and --error")
      .option("--each-line", options.each_line, "FILE",
              "a job for each line; it is HOLON_ENTRY, and {{entry}} in COMMAND or else its last "
              "argument; as behind ':::'");
}

Result<std::optional<ArrayRequest>> take_array(const ArrayOptions& options,
                                               std::vector<std::string>& command, bool wrapped) {
  auto words = take_words(command);
  if (!words) return tl::unexpected(words.error());
  if (options.indices.has_value() + !options.each_line.empty() + words->has_value() > 1)
    return fail(Errc::invalid_argument,
                "one of --array, --each-line and ':::' is accepted, not several of them");
  if (options.indices) return ArrayRequest{*options.indices, {}};
  std::vector<std::string> entries;
  if (*words) {
    entries = std::move(**words);
  } else if (!options.each_line.empty()) {
    auto lines = lines_of_file(options.each_line);
    if (!lines) return tl::unexpected(lines.error());
    entries = std::move(*lines);
  } else {
    return std::nullopt;
  }
  const auto holds = [](const std::string& w) { return w.find("{{entry}}") != std::string::npos; };
  if (!wrapped && std::none_of(command.begin(), command.end(), holds))
    command.push_back("{{entry}}");
  return ArrayRequest{{1, 1, static_cast<std::int64_t>(entries.size())}, std::move(entries)};
}

}  // namespace holon::cli
