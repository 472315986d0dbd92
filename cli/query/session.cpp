#include "cli/query/session.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/whole_file.hpp"
#include "cli/query/stopwatch.hpp"
#include "cli/query/writing.hpp"

namespace holon::cli::query {
namespace {

// Enough for every session that repeats its jobspecs; beyond it they are simply parsed again.
constexpr std::size_t kMaxParsed = 4096;

// Plans reach a hundred years, as resource-query's.
constexpr Interval kHorizon{0, 3153600000};

}  // namespace

std::string_view name_of(JobState state) {
  switch (state) {
    case JobState::allocated:
      return "ALLOCATED";
    case JobState::reserved:
      return "RESERVED";
    case JobState::cancelled:
      return "CANCELED";
  }
  return "";
}

void MatchTimes::add(double seconds) {
  least = count == 0 ? seconds : std::min(least, seconds);
  most = std::max(most, seconds);
  sum += seconds;
  ++count;
}

Session::Session(Options options, resource::ResourceStore store, double load_seconds)
    : options_(std::move(options)), store_(std::move(store)), load_seconds_(load_seconds) {}

Result<Session> Session::open(const Options& options) {
  const Stopwatch watch;
  auto spec = read_graph_file(options);
  if (!spec) return tl::unexpected(spec.error());
  resource::StoreOptions store_options;
  store_options.match_policy = options.policy;
  store_options.prune_filters = options.prune_filters;
  store_options.traverser = options.traverser;
  store_options.horizon = kHorizon;
  store_options.as_fluxion = true;
  auto store = resource::ResourceStore::load(*spec, std::move(store_options));
  if (!store) return tl::unexpected(store.error());
  return Session(options, std::move(*store), watch.seconds());
}

Result<const resource::Jobspec*> Session::jobspec(const std::string& file) {
  auto bytes = read_whole_file(file);
  if (!bytes) return tl::unexpected(bytes.error());
  if (const auto known = parsed_.find(*bytes); known != parsed_.end()) return &known->second;
  auto jobspec = resource::parse_jobspec(*bytes);
  if (!jobspec) return tl::unexpected(jobspec.error());
  if (parsed_.size() >= kMaxParsed) parsed_.clear();
  return &parsed_.emplace(std::move(*bytes), std::move(*jobspec)).first->second;
}

bool Session::is_live(JobId job) const {
  const auto found = jobs.find(job);
  return found != jobs.end() && found->second.state != JobState::cancelled;
}

}  // namespace holon::cli::query
