#include "cli/paths.hpp"

#include <fmt/format.h>

#include <optional>

#include "base/idset.hpp"
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

// The place where the indices of "7.3-9" begin. ("..": the parent.)
std::optional<std::size_t> dot_of(const std::string& word) {
  const auto is_digit = [&](std::size_t at) {
    return at < word.size() && word[at] >= '0' && word[at] <= '9';
  };
  const auto dot = word.find('.', word.rfind('/') + 1);
  if (dot == std::string::npos || dot == 0 || !is_digit(dot - 1)) return std::nullopt;
  return dot;
}

Result<std::vector<JobRef>> parse_tasks(const std::string& word, std::size_t dot) {
  auto array = parse_jobs(word.substr(0, dot));
  const auto indices = Idset::parse(word.substr(dot + 1));
  if (array && array->size() == 1 && indices && !indices->empty()) {
    array->front().indices = indices->str();
    return array;
  }
  return fail(Errc::invalid_argument, "not tasks of an array; accepted are 7.12, 7.3-9 and 7.1,4-6",
              word);
}

}  // namespace

Result<std::vector<JobRef>> parse_jobs(const std::string& word) {
  if (const auto dot = dot_of(word)) return parse_tasks(word, *dot);
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
    return fail(
        Errc::invalid_argument,
        "not a job; accepted are an id (7), a range (3-9), a path (/3/7), tasks of an array "
        "(7.12, 7.3-9)",
        word);
  return std::vector<JobRef>{{"", *id}};
}

Result<JobRef> one_job(const std::string& word) {
  auto jobs = parse_jobs(word);
  if (!jobs) return tl::unexpected(jobs.error());
  if (jobs->size() != 1)
    return fail(Errc::invalid_argument, "one job at a time: an id (7) or a path (/3/7)", word);
  return std::move(jobs->front());
}

std::string label_in(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

Result<JobSelection> select_jobs(const std::vector<std::string>& words) {
  JobSelection selection;
  for (const auto& word : words) {
    const auto jobs = parse_jobs(word);
    if (!jobs) return tl::unexpected(jobs.error());
    for (const auto& job : *jobs) {
      if (selection.ids.empty() && selection.tasks.empty()) selection.instance = job.instance;
      if (job.instance != selection.instance)
        return fail(Errc::invalid_argument, "one command, one instance: name jobs of the same one",
                    word);
      if (job.indices.empty())
        selection.ids.push_back(job.id);
      else
        selection.tasks.push_back(job);
    }
  }
  return selection;
}

}  // namespace holon::cli
