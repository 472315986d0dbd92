// update, attach, remove, partial-cancel: what a session is told from outside, as files of R or
// JGF.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/idset.hpp"
#include "base/whole_file.hpp"
#include "cli/query/commands.hpp"
#include "cli/query/json_object.hpp"
#include "cli/query/printing.hpp"
#include "cli/query/stopwatch.hpp"
#include "cli/query/writing.hpp"
#include "resource/find/find_expression.hpp"
#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"
#include "resource/match/policy.hpp"

namespace holon::cli::query {
namespace {

using resource::Allocation;
using resource::VertexId;

Result<Time> seconds(const std::string& text) {
  Time value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0)
    return fail(Errc::invalid_argument, "'" + text + "': a number of seconds is expected");
  return value;
}

// The vertices that R in a file names, looked up in the session's graph.
Result<Allocation> read_r(const Session& session, const std::string& reader,
                          const std::string& file) {
  const auto bytes = read_whole_file(file);
  if (!bytes) return tl::unexpected(bytes.error());
  const auto& graph = session.store().graph();
  auto r = reader == "rv1exec"
               ? resource::read_allocation_rv1(graph, *bytes)
               : resource::read_allocation_jgf(graph, *bytes, reader == "jgf_shorthand");
  if (!r && r.error().where.empty()) r.error().where = file;
  return r;
}

// Shows a node that an Rv1 names as if it were held, even if only some of its cores are.
void show_nodes_held(const resource::ResourceGraph& graph, Allocation& allocation) {
  for (auto& share : allocation.shares) {
    const auto v = graph.find_uniq(share.uniq_id);
    if (!v || graph.type_name(*v) != "node") continue;
    share.exclusive = true;
    share.amount = graph[*v].size;
  }
}

// Shows an R from outside as whole nodes, under a policy that takes nodes whole; what it holds
// stays as it says.
void show_whole_nodes(const resource::ResourceGraph& graph, Allocation& allocation) {
  const auto type = graph.words().types.find("node");
  if (!type) return;
  std::vector<resource::Share> shares;
  const auto show = [&](const auto& self, VertexId v) -> void {
    for (const VertexId child : graph.children(v)) self(self, child);
    shares.push_back({graph[v].uniq_id, graph[v].size, true});
  };
  for (const auto& share : allocation.shares) {
    const auto v = graph.find_uniq(share.uniq_id);
    const VertexId node = v ? graph.ancestor_of_type(*v, *type) : resource::kNoVertex;
    if (node == resource::kNoVertex)
      shares.push_back(share);
    else if (node == *v)  // what is listed below it came before, and is among all that is there
      show(show, node);
  }
  allocation.shares = std::move(shares);
}

struct UpdateRequest {
  JobId job;
  Interval when;
  std::string operation;
  std::string reader;
  std::string file;
};

Result<UpdateRequest> parse_update(const Session& session, const Words& words) {
  UpdateRequest request;
  request.operation = words[1];
  request.reader = words[2];
  request.file = words[3];
  if (words[1] != "allocate" && words[1] != "reserve")
    return fail(Errc::invalid_argument, "'" + words[1] + "': allocate or reserve is expected");
  if (words[2] != "jgf" && words[2] != "jgf_shorthand" && words[2] != "rv1exec")
    return fail(Errc::invalid_argument,
                "'" + words[2] + "': jgf, jgf_shorthand or rv1exec is expected");
  const auto job = resource::parse_job_id(words[4]);
  if (!job) return tl::unexpected(job.error());
  if (session.is_live(*job)) return fail(Errc::exists, "job " + words[4] + " is there already");
  const auto start = seconds(words[5]);
  if (!start) return tl::unexpected(start.error());
  const auto duration = seconds(words[6]);
  if (!duration) return tl::unexpected(duration.error());
  if (*duration == 0) return fail(Errc::invalid_argument, "a duration of 0 s");
  request.job = *job;
  request.when = {*start, saturating_add(*start, *duration)};
  return request;
}

Status impose(Session& session, const UpdateRequest& request, MatchReport& report) {
  auto allocation = read_r(session, request.reader, request.file);
  if (!allocation) return tl::unexpected(allocation.error());
  allocation->job = request.job;
  allocation->when = request.when;
  if (auto status = session.store().update(*allocation); !status) return status;
  if (request.reader == "rv1exec") show_nodes_held(session.store().graph(), *allocation);
  const auto policy = resource::match::Policy::parse(session.options().policy);
  if (policy && policy->node_exclusive) show_whole_nodes(session.store().graph(), *allocation);
  // An R of another dominant subsystem has no way from this graph's root: it is held, not shown.
  const auto& graph = session.store().graph();
  const bool has_root = request.reader == "rv1exec" ||
                        std::any_of(allocation->shares.begin(), allocation->shares.end(),
                                    [&](const resource::Share& share) {
                                      return share.uniq_id == graph[graph.root()].uniq_id;
                                    });
  auto text = write_allocation(session, *allocation, "");
  if (text && has_root) report.r = std::move(*text);
  report.outcome = MatchReport::Outcome::held;
  return {};
}

void print_part_counts(const Session& session, Reply& reply) {
  if (session.options().json) return;
  // resource-query counts no visit here: a partial cancel does not walk the graph.
  reply.out += fmt::format(
      "{0}INFO: PARTIAL CANCEL PREORDER COUNT=\"0\"\n"
      "INFO: PARTIAL CANCEL POSTORDER COUNT=\"0\"\n{0}",
      kRule);
}

// The job's vertices that a file names.
Result<std::vector<VertexId>> named_vertices(const Session& session, JobId job,
                                             const std::string& reader, const std::string& file) {
  const auto& graph = session.store().graph();
  std::vector<VertexId> vertices;
  if (reader == "rv1exec") {
    const auto bytes = read_whole_file(file);
    if (!bytes) return tl::unexpected(bytes.error());
    auto ranks = resource::rv1_ranks(*bytes);
    if (!ranks) return tl::unexpected(ranks.error());
    const Allocation* held = session.store().find(job);
    if (held == nullptr) return fail(Errc::not_found, "the job holds nothing");
    Idset missing = *ranks;
    for (const auto& share : held->shares) {
      const VertexId v = *graph.find_uniq(share.uniq_id);
      const auto rank = graph[v].rank;
      if (rank < 0 || !ranks->contains(static_cast<std::uint64_t>(rank))) continue;
      vertices.push_back(v);
      missing.erase(static_cast<std::uint64_t>(rank));
    }
    if (!missing.empty())
      return fail(Errc::not_found, "the job has nothing on ranks " + missing.str(), file);
    return vertices;
  }
  const auto r = read_r(session, reader, file);
  if (!r) return tl::unexpected(r.error());
  for (const auto& share : r->shares) vertices.push_back(*graph.find_uniq(share.uniq_id));
  return vertices;
}

Result<std::vector<std::int32_t>> parse_ranks(const std::string& text) {
  const auto set = Idset::parse(text);
  if (!set) return tl::unexpected(set.error());
  if (!set->empty() && set->last() > INT32_MAX)
    return fail(Errc::out_of_range, "there is no such rank", text);
  std::vector<std::int32_t> ranks;
  for (const auto& range : set->ranges())
    for (auto rank = range.first; rank <= range.last; ++rank)
      ranks.push_back(static_cast<std::int32_t>(rank));
  return ranks;
}

}  // namespace

void run_update(Session& session, const Words& words, Reply& reply) {
  if (words.size() != 7)
    return complain(session, "update",
                    "allocate|reserve jgf|jgf_shorthand|rv1exec FILE JOBID START DURATION is "
                    "expected",
                    reply);
  const auto request = parse_update(session, words);
  if (!request) return complain(session, "update", request.error(), reply);
  if (auto bytes = read_whole_file(request->file); !bytes)
    return complain(session, "update", bytes.error(), reply);
  const Stopwatch watch;
  MatchReport report;
  report.command = "update";
  report.operation = request->operation;
  report.job = request->job;
  report.at = request->when.begin;
  report.file = request->file;
  if (auto status = impose(session, *request, report); !status)
    report.problem = to_string(status.error());
  report.seconds = watch.seconds();
  if (report.outcome == MatchReport::Outcome::held) {
    const JobState state = report.at == 0 ? JobState::allocated : JobState::reserved;
    session.jobs[report.job] = {state, report.at, report.file, report.seconds};
  }
  session.next_job = JobId{request->job.value() + 1};
  print_match(session, report, reply);
}

void run_attach(Session& session, const Words& words, Reply& reply) {
  if (words.size() != 2) return complain(session, "attach", "FILE is expected", reply);
  const auto bytes = read_whole_file(words[1]);
  if (!bytes) return complain(session, "attach", bytes.error(), reply);
  const auto part = resource::read_jgf(*bytes, graph_options(session.options()));
  if (!part) return complain(session, "attach", part.error(), reply);
  if (auto status = session.store().grow(*part); !status)
    return complain(session, "attach", status.error(), reply);
  print_done(session, "attach", reply);
}

void run_remove(Session& session, const Words& words, Reply& reply) {
  if (words.size() != 3 || (words[2] != "true" && words[2] != "false"))
    return complain(session, "remove", "PATH true or RANKS false is expected", reply);
  Status status;
  if (words[2] == "true") {
    status = session.store().shrink(words[1]);
  } else {
    const auto ranks = parse_ranks(words[1]);
    if (!ranks) return complain(session, "remove", ranks.error(), reply);
    status = session.store().shrink_ranks(*ranks);
  }
  if (!status) return complain(session, "remove", status.error(), reply);
  print_done(session, "remove", reply);
}

void run_partial_cancel(Session& session, const Words& words, Reply& reply) {
  constexpr std::string_view kName = "partial-cancel";
  if (words.size() < 4 || words.size() > 5)
    return complain(session, kName, "JOBID jgf|rv1exec FILE [stats] is expected", reply);
  const auto job = resource::parse_job_id(words[1]);
  if (!job) return complain(session, kName, job.error(), reply);
  if (words[2] != "jgf" && words[2] != "rv1exec")
    return complain(session, kName, "'" + words[2] + "': jgf or rv1exec is expected", reply);
  if (!session.is_live(*job)) return complain(session, kName, "there is no job " + words[1], reply);
  if (session.jobs[*job].state == JobState::reserved)
    return complain(session, kName, "a reservation cannot be given back in part", reply);
  if (auto bytes = read_whole_file(words[3]); !bytes)
    return complain(session, kName, bytes.error(), reply);
  const auto vertices = named_vertices(session, *job, words[2], words[3]);
  if (!vertices) {
    complain(session, kName, vertices.error(), reply);
  } else if (const auto gone = session.store().release_listed(*job, *vertices); !gone) {
    complain(session, kName, gone.error(), reply);
  } else {
    if (*gone) session.jobs[*job].state = JobState::cancelled;
    print_done(session, kName, reply);
  }
  if (words.size() == 5 && words[4] == "stats") print_part_counts(session, reply);
}

}  // namespace holon::cli::query
