// session.hpp - one run of `holon query`: a store, the jobs made in it, and their ids.
//
// Nothing here reads a terminal or prints: commands take a Session and give a Reply.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "base/result.hpp"
#include "base/time.hpp"
#include "cli/query/options.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "resource/store.hpp"

namespace holon::cli::query {

enum class JobState { allocated, reserved, cancelled };

// "ALLOCATED", "RESERVED", "CANCELED": the spelling of resource-query.
std::string_view name_of(JobState state);

struct JobRecord {
  JobState state = JobState::allocated;
  Time at = 0;
  std::string file;    // the jobspec, or the R that was imposed
  double seconds = 0;  // of the match
};

// Times of the matches so far.
struct MatchTimes {
  std::uint64_t count = 0;
  double least = 0;
  double most = 0;
  double sum = 0;

  void add(double seconds);
};

class Session {
 public:
  // Reads the graph that `options` names. Errors: not_found, invalid_argument with the place.
  static Result<Session> open(const Options& options);

  const Options& options() const { return options_; }
  resource::ResourceStore& store() { return store_; }
  const resource::ResourceStore& store() const { return store_; }
  double load_seconds() const { return load_seconds_; }

  // The jobspec in the file, parsed at most once as long as the file's bytes stay the same. Errors:
  // those of read_whole_file and of parse_jobspec.
  Result<const resource::Jobspec*> jobspec(const std::string& file);

  // The id of the next match that holds something.
  JobId next_job{1};
  std::map<JobId, JobRecord> jobs;
  MatchTimes times;
  bool shortened = false;  // was something written in shorthand? resource-query says so ever after

  // Does the job hold something, now or later?
  bool is_live(JobId job) const;

 private:
  Session(Options options, resource::ResourceStore store, double load_seconds);

  Options options_;
  resource::ResourceStore store_;
  double load_seconds_;
  std::unordered_map<std::string, resource::Jobspec> parsed_;  // by the file's bytes
};

}  // namespace holon::cli::query
