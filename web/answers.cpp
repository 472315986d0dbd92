#include "web/answers.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/hostlist.hpp"

namespace holon::web {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostRows = 5'000;     // whose names are told
constexpr std::size_t kMostNodesNamed = 20;  // of those that take no work
constexpr std::size_t kParts = 240;          // of the curves
constexpr Time kSparkSeconds = 60;

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json job_line(const msg::JobRecord& job) {
  Json line = {{"path", job.path},
               {"id", msg::shown_path(job)},
               {"name", job.name},
               {"user", job.user},
               {"queue", job.queue},
               {"state", msg::state_word(job)},
               {"cores", job.ncores},
               {"nodes", job.nodelist},
               {"submit", job.t_submit},
               {"start", job.t_start},
               {"end", is_over(job) ? std::max(job.t_finish, job.t_inactive) : 0},
               {"exit", job.exit_code},
               {"reason", job.reason}};
  if (job.t_estimate > 0) line["estimate"] = job.t_estimate;
  if (job.tasks > 0) line["tasks"] = msg::tasks_text(job);
  if (job.is_instance) line["instance"] = true;
  return line;
}

bool is_of_use(const Host& host) {
  return host.state != "down" && host.state != "drained";
}

std::int64_t with_state(const std::vector<Host>& hosts, std::string_view state) {
  return std::count_if(hosts.begin(), hosts.end(),
                       [&](const Host& host) { return host.state == state; });
}

// Nodes that take no work: which, and why.
Json out_of_use(const std::vector<Host>& hosts) {
  Json nodes = Json::array();
  for (const Host& host : hosts)
    if (!is_of_use(host) && nodes.size() < kMostNodesNamed)
      nodes.push_back({{"name", host.name}, {"state", host.state}, {"reason", host.reason}});
  return nodes;
}

Json instance_json(const Model& model, const InstanceView& at, Time now) {
  const auto& node = at.node;
  Json ends = Json::array();
  for (Time second = now / 1'000 - kSparkSeconds; second < now / 1'000; ++second) {
    const auto found = at.ended.find(second);
    ends.push_back(found == at.ended.end() ? 0 : found->second);
  }
  return {{"path", node.path},
          {"name", node.name},
          {"policy", node.policy},
          {"health", node.health},
          {"trouble", node.policy_trouble},
          {"nodes", node.nodes},
          {"cores", node.cores},
          {"free", node.cores_free},
          {"given", at.given},
          {"extra", model.extra(node.path)},
          {"lent", model.lent(node.path)},
          {"gpus", node.gpus},
          {"gpus_free", node.gpus_free},
          {"pending", node.pending},
          {"running", node.running},
          {"over", node.inactive},
          {"failed", node.failed - node.cancelled},
          {"cancelled", node.cancelled},
          {"started", node.t_started},
          {"expires", node.expiration},
          {"oldest", at.waiting.empty() ? 0 : at.waiting.begin()->first},
          {"said", at.last_event},
          {"said_at", at.last_time},
          {"ends", ends},
          {"down", with_state(at.hosts, "down")},
          {"drained", with_state(at.hosts, "drained")},
          {"out_of_use", out_of_use(at.hosts)}};
}

template <class Choice>
Result<Choice> choice(const std::map<std::string, std::string>& query, const std::string& key,
                      const std::map<std::string, Choice>& choices, Choice otherwise) {
  const auto asked = query.find(key);
  if (asked == query.end()) return otherwise;
  const auto found = choices.find(asked->second);
  if (found == choices.end())
    return fail(Errc::invalid_argument, "is none of those there are", key);
  return found->second;
}

std::int64_t number(const std::map<std::string, std::string>& query, const std::string& key,
                    std::int64_t otherwise, std::int64_t least, std::int64_t most) {
  const auto found = query.find(key);
  const std::int64_t value =
      found == query.end() ? otherwise : std::strtoll(found->second.c_str(), nullptr, 10);
  return std::clamp(value, least, most);
}

Json bars_json(const Picture& picture) {
  Json bars = Json::array();
  for (const Bar& bar : picture.bars)
    bars.push_back({bar.y, bar.lanes, bar.x0, bar.x1, static_cast<int>(bar.kind), bar.colour,
                    bar.level, bar.count, bar.subject});
  return bars;
}

// Names only those subjects that a bar has, and gives the bars new numbers of them.
Json subjects_of(const Layout& layout, Picture& picture) {
  Json subjects = Json::array();
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (Bar& bar : picture.bars) {
    const auto [place, is_new] =
        numbers.try_emplace(bar.subject, static_cast<std::uint32_t>(numbers.size()));
    if (is_new) {
      const Subject& subject = layout.subjects[bar.subject];
      subjects.push_back({subject.path, subject.label});
    }
    bar.subject = place->second;
  }
  return subjects;
}

// The names of rows with their lanes, and the state of a node that takes no work.
Json rows_json(const Model& model, const InstanceView& at, RowsBy by,
               const std::vector<Row>& rows) {
  std::map<std::string_view, std::string_view> states;
  if (by == RowsBy::nodes)
    for (const Host& host : at.hosts)
      if (!is_of_use(host)) states.emplace(host.name, host.state);
  Json all = Json::array();
  for (std::size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) {
    const auto* job = by == RowsBy::jobs ? model.job(rows[i].name) : nullptr;
    Json row = {job != nullptr ? msg::shown_path(*job) : rows[i].name, rows[i].lanes};
    if (const auto state = states.find(rows[i].name); state != states.end())
      row.push_back(state->second);
    all.push_back(std::move(row));
  }
  return all;
}

Result<std::vector<const msg::JobRecord*>> chosen(const Model& model, const std::string& at,
                                                  const std::string& text, bool tasks) {
  const auto filter = read_filter(text);
  if (!filter) return tl::unexpected(filter.error());
  auto jobs = model.jobs_below(at, tasks);
  if (!filter->empty())
    jobs.erase(std::remove_if(jobs.begin(), jobs.end(),
                              [&](const auto* job) { return !filter->matches(*job); }),
               jobs.end());
  return jobs;
}

Json parts_json(const std::vector<msg::GrantPart>& parts) {
  Json all = Json::array();
  for (const auto& part : parts)
    all.push_back({{"path", part.path},
                   {"source", part.source},
                   {"state", part.state},
                   {"cores", part.cores},
                   {"gpus", part.gpus},
                   {"until", part.until},
                   {"grant", part.grant},
                   {"why", part.why},
                   {"nodes", part.nodes}});
  return all;
}

Json rounded(const std::vector<double>& values) {
  Json all = Json::array();
  for (const double value : values)
    all.push_back(static_cast<double>(static_cast<std::int64_t>(value * 100 + 0.5)) / 100);
  return all;
}

}  // namespace

std::string error_json(const Error& error) {
  return dumped({{"error", (error.where.empty() ? "" : error.where + ": ") + error.what}});
}

std::string state_json(const Model& model, const StateQuestion& question) {
  Json instances = Json::array();
  for (const auto& [path, at] : model.instances())
    if (at.changed > question.since) instances.push_back(instance_json(model, at, question.now));
  return dumped({{"version", model.version()},
                 {"anew", question.since == 0},
                 {"now", question.now},
                 {"at", question.at},
                 {"write", question.may_write},
                 {"instances", instances}});
}

Result<TimeQuestion> read_time_question(const std::map<std::string, std::string>& query, Time now) {
  TimeQuestion question;
  const auto rows = choice<RowsBy>(query, "rows",
                                   {{"nodes", RowsBy::nodes},
                                    {"jobs", RowsBy::jobs},
                                    {"instances", RowsBy::instances},
                                    {"users", RowsBy::users}},
                                   RowsBy::nodes);
  if (!rows) return tl::unexpected(rows.error());
  const auto colour = choice<ColourBy>(query, "colour",
                                       {{"result", ColourBy::result},
                                        {"user", ColourBy::user},
                                        {"queue", ColourBy::queue},
                                        {"wait", ColourBy::wait},
                                        {"size", ColourBy::size}},
                                       ColourBy::result);
  if (!colour) return tl::unexpected(colour.error());
  question.rows = *rows;
  question.colour = *colour;
  question.now = now;
  const auto most = std::int64_t{1} << 50;
  question.window.from = number(query, "from", now - 3'600'000, 0, most);
  question.window.to = number(query, "to", now, question.window.from + 1, most + 1);
  question.window.width = static_cast<std::int32_t>(number(query, "width", 800, 10, 8'000));
  question.window.height = static_cast<std::int32_t>(number(query, "height", 300, 10, 4'000));
  const auto text = query.find("filter");
  if (text != query.end()) question.filter = text->second;
  const auto at = query.find("at");
  question.at = at == query.end() ? "/" : at->second;
  return question;
}

Result<std::string> time_json(const Model& model, const TimeQuestion& question) {
  const auto jobs = chosen(model, question.at, question.filter, true);
  if (!jobs) return tl::unexpected(jobs.error());
  const InstanceView* at = model.find(question.at);
  if (at == nullptr) return fail(Errc::not_found, "there is no such instance", question.at);
  LayoutInput input{*jobs, {}, at->hosts, question.rows, question.colour, question.now};
  for (const auto& [path, other] : model.instances()) {
    if (!is_below(path, question.at)) continue;
    for (const auto& [grant, child] : other.grants)
      input.grants.emplace(path_of(path, grant), path_of(path, child));
    if (question.filter.empty())
      for (const auto& span : other.plan) input.plan.push_back(&span);
  }
  const Layout layout = lay_out(input);
  Picture picture = picture_of(layout, question.window);
  const Json subjects = subjects_of(layout, picture);
  // What a child does with its cores is shown with the child: here they are in use.
  auto own = *jobs;
  std::erase_if(own, [&](const auto* job) {
    const auto cut = job->path.rfind('/');
    return (cut == 0 ? "/" : job->path.substr(0, cut)) != question.at;
  });
  const Curves curves = curves_of(own, question.window, kParts, question.now);
  const Json rows = rows_json(model, *at, question.rows, layout.rows);
  Time first = question.now;
  for (const auto* job : *jobs) first = std::min(first, job->t_submit);
  return dumped({{"version", model.version()},
                 {"now", question.now},
                 {"from", question.window.from},
                 {"to", question.window.to},
                 {"width", question.window.width},
                 {"first", first},
                 {"cores", at->node.cores},
                 {"ends", at->node.expiration},
                 {"band", picture.lanes_a_band},
                 {"bands", picture.bands},
                 {"rows", rows},
                 {"colours", layout.colours},
                 {"bars", bars_json(picture)},
                 {"subjects", subjects},
                 {"busy", rounded(curves.busy)},
                 {"waiting", rounded(curves.waiting)},
                 {"ended", curves.ended},
                 {"failed", curves.failed}});
}

Result<std::string> list_json(const Model& model, const ListQuestion& question) {
  const auto filter = read_filter(question.filter);
  if (!filter) return tl::unexpected(filter.error());
  // Who looks for something finds the tasks of arrays, too.
  const auto jobs = chosen(model, question.at, question.filter, !filter->empty());
  if (!jobs) return tl::unexpected(jobs.error());
  Json lines = Json::array();
  for (const auto* job :
       in_order(*jobs, question.first, std::min<std::size_t>(question.most, 1'000)))
    lines.push_back(job_line(*job));
  return dumped({{"version", model.version()},
                 {"all", jobs->size()},
                 {"first", question.first},
                 {"jobs", lines}});
}

Result<std::string> failures_json(
    const Model& model, const ListQuestion& question,
    const std::function<std::string(const msg::JobRecord&)>& last_line) {
  const auto jobs = chosen(model, question.at, question.filter, true);
  if (!jobs) return tl::unexpected(jobs.error());
  Json groups = Json::array();
  for (const auto& group : failures_of(*jobs, last_line)) {
    Json named = Json::array();
    for (const auto* job : group.newest)
      named.push_back({{"path", job->path}, {"id", msg::shown_path(*job)}, {"name", job->name}});
    groups.push_back({{"result", group.result},
                      {"exit", group.exit_code},
                      {"line", group.line},
                      {"jobs", group.jobs},
                      {"named", named}});
  }
  return dumped({{"groups", groups}});
}

Result<std::string> node_json(const Model& model, const std::string& at, const std::string& host) {
  const InstanceView* const instance = model.find(at);
  const auto is_it = [&](const Host& known) { return known.name == host; };
  const auto found = instance == nullptr
                         ? std::vector<Host>::const_iterator()
                         : std::find_if(instance->hosts.begin(), instance->hosts.end(), is_it);
  if (instance == nullptr || found == instance->hosts.end())
    return fail(Errc::not_found, "there is no such node", host);
  Json jobs = Json::array();
  std::int64_t failed = 0, over = 0;
  for (const auto* job : model.jobs_below(at, true)) {
    const auto hosts = Hostlist::parse(job->nodelist);
    if (!hosts || !hosts->contains(host)) continue;
    if (is_running(*job) && jobs.size() < 200) jobs.push_back(job_line(*job));
    if (job->is_instance) continue;
    over += is_over(*job);
    failed += is_over(*job) && (job->result == "FAILED" || job->result == "TIMEOUT");
  }
  return dumped({{"name", host},
                 {"cores", found->cores},
                 {"gpus", found->gpus},
                 {"state", found->state},
                 {"reason", found->reason},
                 {"jobs", jobs},
                 {"over", over},
                 {"failed", failed}});
}

Result<std::string> grants_json(const Model& model, const std::string& at) {
  const InstanceView* const instance = model.find(at);
  if (instance == nullptr) return fail(Errc::not_found, "there is no such instance", at);
  const auto& [now, events] = instance->grant;
  Json history = Json::array();
  for (const auto& event : events) {
    auto entry = Json::parse(event.entry, nullptr, false);  // {"is", "what"}
    if (entry.is_object() && entry.contains("what")) entry = Json(entry["what"]);
    history.push_back({{"time", event.time},
                       {"name", event.name},
                       {"what", entry.is_object() ? std::move(entry) : Json::object()}});
  }
  return dumped({{"epoch", now.epoch},
                 {"held", parts_json(now.held)},
                 {"given", parts_json(now.given)},
                 {"promised", now.promised},
                 {"history", history}});
}

std::string metrics_text(const Model& model, std::uint64_t asked) {
  struct Figure {
    const char* name;
    const char* help;
    std::function<std::int64_t(const InstanceView&)> value;
  };
  const std::vector<Figure> figures = {
      {"slurm_jobs", "Jobs that are known",
       [](const auto& at) { return at.node.pending + at.node.running + at.node.inactive; }},
      {"slurm_jobs_pending", "Jobs that wait", [](const auto& at) { return at.node.pending; }},
      {"slurm_jobs_running", "Jobs that run", [](const auto& at) { return at.node.running; }},
      {"slurm_jobs_completed", "Jobs that completed",
       [](const auto& at) { return at.node.inactive - at.node.failed; }},
      {"slurm_jobs_failed", "Jobs that failed, time limits included",
       [](const auto& at) { return at.node.failed - at.node.cancelled; }},
      {"slurm_jobs_cancelled", "Jobs that were cancelled",
       [](const auto& at) { return at.node.cancelled; }},
      {"slurm_nodes", "Nodes", [](const auto& at) { return at.node.nodes; }},
      {"holon_up", "1: the instance answers",
       [](const auto& at) { return static_cast<std::int64_t>(at.node.health == "up"); }},
      {"holon_cores", "Cores", [](const auto& at) { return at.node.cores; }},
      {"holon_cores_free", "Cores that no job has",
       [](const auto& at) { return at.node.cores_free; }},
      {"holon_cores_given", "Cores that child instances have",
       [](const auto& at) { return at.given; }},
      {"holon_gpus", "GPUs", [](const auto& at) { return at.node.gpus; }},
      {"holon_gpus_free", "GPUs that no job has", [](const auto& at) { return at.node.gpus_free; }},
      {"holon_start_time_seconds", "When the instance began",
       [](const auto& at) { return at.node.t_started / 1'000; }},
      {"holon_expiration_seconds", "When its lease ends; 0: it has no end",
       [](const auto& at) { return at.node.expiration / 1'000; }},
      {"holon_oldest_wait_start_seconds",
       "Submission of the job that has waited longest; 0: none waits",
       [](const auto& at) { return at.waiting.empty() ? 0 : at.waiting.begin()->first / 1'000; }},
  };
  std::string text;
  for (const Figure& figure : figures) {
    text += std::string("# TYPE ") + figure.name + " gauge\n# HELP " + figure.name + " " +
            figure.help + ".\n";
    for (const auto& [path, at] : model.instances())
      text += std::string(figure.name) + "{instance=\"" + path + "\"} " +
              std::to_string(figure.value(at)) + "\n";
  }
  text +=
      "# TYPE holon_web_requests counter\n# HELP holon_web_requests Requests that the page's "
      "server "
      "has sent to instances.\nholon_web_requests_total " +
      std::to_string(asked) + "\n";
  return text + "# EOF\n";
}

}  // namespace holon::web
