#include "cli/paths.hpp"

#include <fmt/format.h>

#include "base/instance_path.hpp"

namespace holon::cli {
namespace {

// "1-1000000000" is a slip of the hand; a list of that length helps nobody.
constexpr std::uint64_t kMaxRange = 1'000'000;

Result<std::vector<JobRef>> parse_range(const std::string& word, std::size_t dash) {
  const auto first = job_number(std::string_view(word).substr(0, dash));
  const auto last = job_number(std::string_view(word).substr(dash + 1));
  if (!first || !last || *last < *first)
    return fail(Errc::invalid_argument, "not a range of job ids, such as 3-9", word);
  if (*last - *first >= kMaxRange)
    return fail(Errc::invalid_argument, fmt::format("more than {} jobs", kMaxRange), word);
  std::vector<JobRef> jobs;
  for (std::uint64_t id = *first; id <= *last; ++id) jobs.push_back({"", id});
  return jobs;
}

}  // namespace

Result<std::vector<JobRef>> parse_jobs(const std::string& word) {
  if (word.find('/') != std::string::npos) {
    const auto path = join_path("/", word);
    if (!path) return tl::unexpected(path.error());
    if (*path == "/" || !word.starts_with('/'))
      return fail(Errc::invalid_argument, "not the path of a job, such as /3/7", word);
    const auto cut = path->rfind('/');
    const std::string instance = cut == 0 ? "/" : path->substr(0, cut);
    return std::vector<JobRef>{{instance, *job_number(std::string_view(*path).substr(cut + 1))}};
  }
  if (const auto dash = word.find('-'); dash != std::string::npos && dash > 0)
    return parse_range(word, dash);
  const auto id = job_number(word);
  if (!id)
    return fail(Errc::invalid_argument,
                "not a job; accepted are an id (7), a range (3-9), a path (/3/7)", word);
  return std::vector<JobRef>{{"", *id}};
}

Result<JobSelection> select_jobs(const std::vector<std::string>& words) {
  JobSelection selection;
  for (const auto& word : words) {
    const auto jobs = parse_jobs(word);
    if (!jobs) return tl::unexpected(jobs.error());
    for (const auto& job : *jobs) {
      if (selection.ids.empty()) selection.instance = job.instance;
      if (job.instance != selection.instance)
        return fail(Errc::invalid_argument, "one command, one instance: name jobs of the same one",
                    word);
      selection.ids.push_back(job.id);
    }
  }
  return selection;
}

}  // namespace holon::cli
