#include "cli/workflow/shared_output.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "instance/request/file_words.hpp"
#include "instance/request/submission.hpp"

namespace holon::cli {
namespace {

namespace files = std::filesystem;

// Do the entries of any two tasks lead to two names?
bool names_differ(const ArrayRequest& request, const std::string& file) {
  instance::Submission array;
  array.wishes.array.emplace().entries = request.entries;
  std::set<std::string> names;
  for (std::uint64_t number = 1; number <= request.entries.size(); ++number)
    if (!names.insert(instance::with_words_of(array, JobId(number), file, true)).second)
      return false;
  return true;
}

Status check_shared(const JobOptions& job, std::int64_t count,
                    const std::optional<std::string>& file, const char* option) {
  const auto& array = job.array;
  const bool is_one = count < 2 && !(array && array->open);
  if (is_one || !file) return {};
  const auto whose = !array                   ? instance::InFileOf::job
                     : array->entries.empty() ? instance::InFileOf::array
                                              : instance::InFileOf::array_with_entries;
  const std::string where = fmt::format("{} {}", option, *file);
  if (auto good = instance::check_file_words(*file, whose, where); !good) return good;
  if (file->find("{{id}}") != std::string::npos) return {};
  if (array && file->find("{{array.index}}") != std::string::npos) return {};
  // Of an open array's entries to come nothing is known.
  if (array && !array->entries.empty() && !array->open && names_differ(*array, *file)) return {};
  std::error_code ignored;
  const files::path path = files::path(job.shape.cwd) / *file;
  if (files::exists(path, ignored) && !files::is_regular_file(path, ignored))
    return {};  // /dev/null
  const files::path name(*file);
  const std::string own =
      (name.parent_path() / (name.stem().string() + "-{{id}}" + name.extension().string()))
          .string();
  return fail(
      Errc::invalid_argument,
      fmt::format("each of the {} would write over the others' output; {} gives each a "
                  "file of its own",
                  array && array->open ? "tasks to come" : fmt::format("{} jobs", count), own),
      where);
}

}  // namespace

Status check_job_files(const JobOptions& job, std::int64_t count) {
  if (auto good = check_shared(job, count, job.output, "--output"); !good) return good;
  return check_shared(job, count, job.error, "--error");
}

}  // namespace holon::cli
