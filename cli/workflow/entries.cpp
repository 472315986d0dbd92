#include "cli/workflow/entries.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text/nesting.hpp"
#include "base/whole_file.hpp"
#include "cli/options/job_options.hpp"
#include "launch/array_words.hpp"

namespace holon::cli {
namespace {

// Several times what an instance takes as entries: a larger file is told what takes them.
constexpr std::size_t kLargestEntriesFile = std::size_t{64} << 20;  // bytes

std::string name_of(const std::string& file) {
  return file == "-" ? "standard input" : file;
}

// The fields of one line of a table, quoted or not (RFC 4180); nullopt: a quoted field has no end.
std::optional<std::vector<std::string>> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"')
      fields.back() += line[++i];
    else if (c == '"' && (quoted || fields.back().empty()))
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += c;
  }
  return quoted ? std::nullopt : std::optional(fields);
}

}  // namespace

Result<std::vector<std::string>> lines_of_file(const std::string& file, const char* option) {
  const auto text = read_whole_file(file == "-" ? "/dev/stdin" : file, kLargestEntriesFile);
  if (!text) return fail(Errc::invalid_argument, name_of(file) + ": " + text.error().what, option);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text->size();) {
    const std::size_t end = std::min(text->find('\n', begin), text->size());
    std::string line = text->substr(begin, end - begin);
    if (auto good = check_text(line, fmt::format("{}:{}", name_of(file), lines.size() + 1)); !good)
      return tl::unexpected(good.error());
    lines.push_back(std::move(line));
    begin = end + 1;
  }
  if (lines.empty()) return fail(Errc::invalid_argument, name_of(file) + " has no lines", option);
  return lines;
}

Result<std::vector<std::string>> entries_of_json(const std::string& file) {
  using nlohmann::ordered_json;
  auto lines = lines_of_file(file, "--each-json");
  if (!lines) return lines;
  const std::string text = fmt::format("{}", fmt::join(*lines, "\n"));
  const auto whole = ordered_json::parse(text, nullptr, false);
  const auto too_deep = [](std::string where) {
    return fail(Errc::invalid_argument,
                fmt::format("nests deeper than {} levels", launch::kMostEntryNesting),
                std::move(where));
  };
  std::vector<std::string> entries;
  if (whole.is_array() && json_nesting(text) > launch::kMostEntryNesting + 1)
    return too_deep(name_of(file));
  if (whole.is_array()) {
    for (const auto& entry : whole) entries.push_back(entry.dump());
    if (entries.empty())
      return fail(Errc::invalid_argument, name_of(file) + " is a list without elements",
                  "--each-json");
    return entries;
  }
  for (std::size_t i = 0; i < lines->size(); ++i) {
    if ((*lines)[i].find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = fmt::format("{}:{}", name_of(file), i + 1);
    const auto entry = ordered_json::parse((*lines)[i], nullptr, false);
    if (entry.is_discarded())
      return fail(Errc::invalid_argument, "is no JSON; a list, or one value a line, is accepted",
                  where);
    if (json_nesting((*lines)[i]) > launch::kMostEntryNesting) return too_deep(where);
    entries.push_back(entry.dump());
  }
  if (entries.empty())
    return fail(Errc::invalid_argument, name_of(file) + " has no values", "--each-json");
  return entries;
}

Result<std::vector<std::string>> entries_of_csv(const std::string& file) {
  auto lines = lines_of_file(file, "--each-csv");
  if (!lines) return lines;
  std::vector<std::string> names, entries;
  for (std::size_t i = 0; i < lines->size(); ++i) {
    std::string& line = (*lines)[i];
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    const std::string where = fmt::format("{}:{}", name_of(file), i + 1);
    const auto fields = fields_of(line);
    if (!fields)
      return fail(Errc::invalid_argument, "a quotation mark has no end in this line", where);
    if (names.empty()) {
      names = *fields;
      for (const auto& name : names)
        if (name.empty() || std::count(names.begin(), names.end(), name) > 1)
          return fail(
              Errc::invalid_argument,
              fmt::format("'{}': each column has a name of its own in the first line", name),
              where);
      continue;
    }
    if (fields->size() != names.size())
      return fail(Errc::invalid_argument,
                  fmt::format("{} fields, and {} columns: {}", fields->size(), names.size(),
                              fmt::join(names, ", ")),
                  where);
    nlohmann::ordered_json entry;
    for (std::size_t column = 0; column < names.size(); ++column)
      entry[names[column]] = (*fields)[column];
    entries.push_back(entry.dump());
  }
  if (entries.empty())
    return fail(Errc::invalid_argument,
                name_of(file) + " has no lines behind the one that names its columns",
                "--each-csv");
  return entries;
}

Result<std::optional<Words>> take_words(std::vector<std::string>& command, std::size_t most) {
  const auto mark = std::find(command.begin(), command.end(), kMark);
  if (mark == command.end()) return std::nullopt;
  std::vector<std::vector<std::string>> lists;
  for (auto word = mark; word != command.end(); ++word) {
    if (*word == kMark) {
      lists.emplace_back();
      continue;
    }
    if (auto good = check_text(*word, "':::'"); !good) return tl::unexpected(good.error());
    lists.back().push_back(std::move(*word));
  }
  command.erase(mark, command.end());
  if (command.empty())
    return fail(Errc::invalid_argument, "there is no command before it", "':::'");
  std::size_t count = 1;
  for (const auto& list : lists) {
    if (list.empty()) return fail(Errc::invalid_argument, "there is nothing behind it", "':::'");
    if (count > most / list.size())
      return fail(
          Errc::out_of_range,
          fmt::format("more than {} combinations of the words of its {} lists", most, lists.size()),
          "':::'");
    count *= list.size();
  }
  Words words{{}, lists.size()};
  if (lists.size() == 1) {
    words.entries = std::move(lists.front());
    return words;
  }
  // The words of the last list change fastest.
  for (std::size_t n = 0; n < count; ++n) {
    nlohmann::ordered_json entry = nlohmann::ordered_json::array();
    std::size_t rest = n, size = count;
    for (const auto& list : lists) {
      size /= list.size();
      entry.push_back(list[rest / size]);
      rest %= size;
    }
    words.entries.push_back(entry.dump());
  }
  return words;
}

Status refuse_words(const std::vector<std::string>& command, std::string_view verb) {
  if (std::find(command.begin(), command.end(), kMark) == command.end()) return {};
  return fail(Errc::invalid_argument,
              fmt::format("`holon submit` makes a task for each word behind it, `holon {}` does "
                          "not; for the program itself it stands in --wrap 'COMMAND ::: ...'",
                          verb),
              "':::'");
}

}  // namespace holon::cli
