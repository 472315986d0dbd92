#include "cli/workflow/array_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/options/indices.hpp"
#include "cli/workflow/entries.hpp"
#include "instance/request/scheduling_options.hpp"
#include "launch/array_words.hpp"
#include "resource/graph/spec.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::cli {
namespace {

// Checks that each {{entry.FIELD}} stands for something in each task.
Status check_fields(const std::vector<std::string>& entries,
                    const std::vector<std::string>& command) {
  for (const auto& word : command)
    for (const auto& field : launch::entry_fields_in(word))
      for (std::size_t i = 0; i < entries.size(); ++i)
        if (!launch::entry_field(entries[i], field))
          return fail(Errc::invalid_argument,
                      fmt::format("entry {} has no member '{}': {}", i + 1, field, entries[i]),
                      word);
  return {};
}

Status check_bounds(const ArrayOptions& options, bool is_array) {
  const auto check = [&](const std::optional<std::int64_t>& n, std::int64_t least,
                         const char* option) -> Status {
    if (!n) return {};
    if (!is_array)
      return fail(Errc::invalid_argument,
                  "is about arrays: --array, --each-line, --each-csv, --each-json or ':::'",
                  option);
    if (*n >= least && *n <= instance::kMostIndex) return {};
    return fail(Errc::invalid_argument,
                fmt::format("{} is not accepted; {} to {} are", *n, least, instance::kMostIndex),
                option);
  };
  if (auto good = check(options.max_running, 1, "--max-running"); !good) return good;
  return check(options.max_fails, 0, "--max-fails");
}

// An instance takes jobspecs of 8 MiB and kMaxJobspecValues; some of both is for the rest of one.
constexpr std::size_t kMostEntries = resource::kMaxJobspecValues - 1'072;
constexpr std::size_t kMostEntryBytes = std::size_t{7} << 20;

// Checks the bounds of entries, which go along with the submission; an array of indices has none.
Status check_size(const ArrayOptions& options, const std::vector<std::string>& entries) {
  std::size_t bytes = 0;
  for (const std::string& entry : entries) bytes += entry.size() + 3;  // with its quotes and comma
  if (entries.size() <= kMostEntries && bytes <= kMostEntryBytes) return {};
  const bool lines = !options.each_line.empty();
  std::string what =
      fmt::format("{} entries of {} bytes in all; at most {} of {} bytes are accepted",
                  entries.size(), bytes, kMostEntries, kMostEntryBytes);
  if (lines)
    what += fmt::format(
        "; more go as indices: --array 1-{} sh -c 'COMMAND \"$(sed -n ${{HOLON_ARRAY_INDEX}}p "
        "{})\"'",
        entries.size(), options.each_line);
  return fail(Errc::out_of_range, what,
              lines                       ? "--each-line"
              : options.each_json.empty() ? "':::'"
                                          : "--each-json");
}

}  // namespace

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
          "an array, a task for each index: 1-10, 0-100:2, 1,3,5-7; it is HOLON_ARRAY_INDEX, and "
          "{{array.index}} in "
          "COMMAND, --output and --error")
      .option("--each-line", options.each_line, "FILE",
              "an array, a task for each line; it is HOLON_ENTRY, and {{entry}} in COMMAND or else "
              "its last argument; as behind ':::', of which several are all their combinations; - "
              "is standard input")
      .option("--each-csv", options.each_csv, "FILE",
              "the same of a table with commas, whose first line names the columns: "
              "{{entry.COLUMN}}")
      .option("--each-json", options.each_json, "FILE",
              "the same of a JSON list, or of one JSON value a line; {{entry.FIELD}} is a member "
              "of an entry, in COMMAND, --name, --output and --error")
      .option("--max-running", options.max_running, "N", "so many tasks of an array at a time")
      .option("--max-fails", options.max_fails, "N",
              "when more than N tasks of an array have failed, cancel the others")
      .flag("--open", options.open,
            "an array (of one task, unless other options say of which) that may get more tasks: "
            "`holon submit --into ID`; it is over once `holon close ID` has said that there are no "
            "more");
}

Result<std::optional<ArrayRequest>> take_array(const ArrayOptions& options,
                                               std::vector<std::string>& command, bool wrapped) {
  auto words = take_words(command, kMostEntries);
  if (!words) return tl::unexpected(words.error());
  const int ways = options.indices.has_value() + !options.each_line.empty() +
                   !options.each_json.empty() + !options.each_csv.empty() + words->has_value();
  if (ways > 1)
    return fail(Errc::invalid_argument,
                "one of --array, --each-line, --each-csv, --each-json and ':::' is accepted, not "
                "several of them");
  if (auto good = check_bounds(options, ways > 0 || options.open); !good)
    return tl::unexpected(good.error());
  if (ways == 0 && !options.open) return std::nullopt;
  ArrayRequest array;
  array.open = options.open;
  if (options.indices) array.indices = *options.indices;
  array.max_running = options.max_running.value_or(array.indices.max_running);
  array.max_fails = options.max_fails;
  if (options.indices || ways == 0) return array;
  if (*words) {
    array.entries = std::move((*words)->entries);
  } else {
    auto read = !options.each_line.empty()  ? lines_of_file(options.each_line, "--each-line")
                : !options.each_csv.empty() ? entries_of_csv(options.each_csv)
                                            : entries_of_json(options.each_json);
    if (!read) return tl::unexpected(read.error());
    array.entries = std::move(*read);
  }
  if (auto good = check_size(options, array.entries); !good) return tl::unexpected(good.error());
  const auto holds = [](const std::string& w) { return w.find("{{entry") != std::string::npos; };
  if (!wrapped && std::none_of(command.begin(), command.end(), holds)) {
    if (!*words || (*words)->lists == 1) command.push_back("{{entry}}");
    for (std::size_t i = 0; *words && (*words)->lists > 1 && i < (*words)->lists; ++i)
      command.push_back(fmt::format("{{{{entry.{}}}}}", i));
  }
  if (auto good = check_fields(array.entries, command); !good) return tl::unexpected(good.error());
  array.indices.count = static_cast<std::int64_t>(array.entries.size());
  return array;
}

}  // namespace holon::cli
