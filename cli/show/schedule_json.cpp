#include "cli/show/schedule_json.hpp"

#include <nlohmann/json.hpp>

#include "cli/show/job_json.hpp"

namespace holon::cli {
namespace {

using Json = nlohmann::ordered_json;

Json object_of(const msg::Explained& job) {
  Json in_the_way = Json::array(), remedies = Json::array();
  for (const auto& other : job.in_the_way)
    in_the_way.push_back({{"kind", other.kind},
                          {"id", other.id},
                          {"name", other.name},
                          {"user", other.user},
                          {"state", other.state},
                          {"nodelist", other.nodelist},
                          {"from", other.from},
                          {"until", other.until}});
  for (const auto& remedy : job.remedies)
    remedies.push_back({{"kind", remedy.kind},
                        {"value", remedy.value},
                        {"queue", remedy.queue},
                        {"cost", remedy.cost},
                        {"text", remedy.text}});
  return {{"id", job.id},
          {"path", job.path},
          {"name", job.name},
          {"user", job.user},
          {"queue", job.queue},
          {"state", job.state},
          {"reason", job.reason},
          {"resources", job.resources},
          {"limit", job.limit},
          {"t_planned", job.t_planned},
          {"t_room", job.t_room},
          {"position", job.position},
          {"considered", job.considered},
          {"pending", job.pending},
          {"in_the_way", in_the_way},
          {"remedies", remedies}};
}

Json object_of(const msg::Prioritized& job) {
  Json parts = Json::array();
  for (const auto& part : job.parts)
    parts.push_back({{"factor", part.factor},
                     {"value", part.value},
                     {"weight", part.weight},
                     {"points", part.points}});
  return {{"id", job.id},           {"path", job.path},         {"name", job.name},
          {"user", job.user},       {"queue", job.queue},       {"state", job.state},
          {"urgency", job.urgency}, {"priority", job.priority}, {"set_by", job.set_by},
          {"parts", parts}};
}

Json object_of(const msg::Span& span) {
  Json vertices = Json::array();
  for (const auto& v : span.vertices)
    vertices.push_back({{"path", v.path}, {"amount", v.amount}, {"exclusive", v.exclusive}});
  return {{"job", span.job},     {"path", span.path},   {"name", span.name},
          {"user", span.user},   {"queue", span.queue}, {"kind", span.kind},
          {"begin", span.begin}, {"end", span.end},     {"nodelist", span.nodelist},
          {"nodes", span.nodes}, {"cores", span.cores}, {"gpus", span.gpus},
          {"pools", span.pools}, {"vertices", vertices}};
}

Json object_of(const msg::WindowsReply& reply) {
  Json windows = Json::array();
  for (const auto& window : reply.windows)
    windows.push_back({{"cores", window.cores}, {"length", window.length}});
  Json closed = Json::array();
  for (const auto& queue : reply.closed)
    closed.push_back({{"queue", queue.queue}, {"reason", queue.reason}});
  return {{"now", reply.now},
          {"cores", reply.cores},
          {"windows", std::move(windows)},
          {"closed", std::move(closed)}};
}

Json object_of(const msg::QueueInfo& q) {
  return {{"name", q.name},
          {"policy", q.policy},
          {"enabled", q.enabled},
          {"started", q.started},
          {"disabled_because", q.disabled_because},
          {"stopped_because", q.stopped_because},
          {"depth", q.depth},
          {"pending", q.pending},
          {"held", q.held},
          {"blocked", q.blocked},
          {"reserved", q.reserved},
          {"running", q.running},
          {"considered", q.considered},
          {"submitted", q.submitted},
          {"begun", q.begun},
          {"backfilled", q.backfilled},
          {"finished", q.finished},
          {"cancelled", q.cancelled},
          {"rejected", q.rejected},
          {"reprioritized", q.reprioritized}};
}

Json object_of(const msg::StatsReply& stats) {
  Json queues = Json::array();
  for (const auto& queue : stats.queues) queues.push_back(object_of(queue));
  return {
      {"queues", queues},         {"passes", stats.passes},         {"last_us", stats.last_us},
      {"mean_us", stats.mean_us}, {"longest_us", stats.longest_us}, {"vertices", stats.vertices}};
}

template <class T>
Json list_of(const std::vector<T>& items) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(object_of(item));
  return list;
}

}  // namespace

std::string json_text(const msg::ExplainReply& reply) {
  return pretty({{"jobs", list_of(reply.jobs)}, {"more", reply.more}});
}
std::string json_text(const msg::PriorityReply& reply) {
  return pretty({{"jobs", list_of(reply.jobs)}, {"pending", reply.pending}});
}
std::string json_text(const msg::PlanPart& plan) {
  return pretty({{"now", plan.now}, {"spans", list_of(plan.spans)}});
}
std::string json_text(const msg::WindowsReply& reply) {
  return pretty(object_of(reply));
}
std::string json_text(const std::vector<msg::QueueInfo>& queues) {
  return pretty({{"queues", list_of(queues)}});
}
std::string json_text(const msg::StatsReply& stats) {
  return pretty(object_of(stats));
}

}  // namespace holon::cli
