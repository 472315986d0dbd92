#include "web/details.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "msg/job_filter.hpp"
#include "transport/codec/codec.hpp"
#include "transport/codec/json.hpp"
#include "transport/unique_fd.hpp"
#include "web/listing.hpp"

namespace holon::web {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kTail = 8'192;     // bytes of output that are shown
constexpr std::size_t kForLine = 2'048;  // in which the last line is looked for
constexpr std::size_t kMostLines = 20'000;
constexpr std::size_t kLinesAtOnce = 4;      // jobs that are asked for what they wrote
constexpr std::size_t kMostOfAJob = 65'536;  // bytes of its output; the log has less of each
constexpr std::size_t kMostKnown = 256;      // jobs, each with the end of its output

Json parsed(const std::string& text) {
  auto json = Json::parse(text, nullptr, false);
  return json.is_discarded() ? Json() : json;
}

// The events of a log, JSON lines, as times and names.
Json life_of(const std::string& eventlog) {
  Json life = Json::array();
  std::istringstream lines(eventlog);
  for (std::string line; std::getline(lines, line);) {
    const Json event = parsed(line);
    if (!event.is_object() || !event.contains("timestamp") || !event.contains("name")) continue;
    if (!event["timestamp"].is_number()) continue;
    life.push_back(
        {static_cast<std::int64_t>(event["timestamp"].get<double>() * 1'000), event["name"]});
  }
  return life;
}

// For how long an answer about a job holds, in ms, if the job stays as it is: why it waits depends
// on others, and what runs may write.
Duration holds(const msg::JobRecord& job) {
  return is_over(job) ? 60'000 : is_running(job) ? 1'000 : 5'000;
}

// Where it wrote its errors, or all.
const std::string& error_file(const msg::JobRecord& job) {
  return job.error.empty() ? job.output : job.error;
}

}  // namespace

Result<std::string> tail_of(const std::string& file, std::size_t most) {
  const transport::UniqueFd fd(
      ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!fd) return fail(Errc::not_found, std::strerror(errno), file);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return fail(Errc::denied, "is no regular file", file);
  if (info.st_uid != ::geteuid()) return fail(Errc::denied, "belongs to somebody else", file);
  const auto size = static_cast<std::size_t>(info.st_size);
  std::string text(std::min(size, most), '\0');
  const ssize_t n =
      ::pread(fd.get(), text.data(), text.size(), static_cast<off_t>(size - text.size()));
  if (n < 0) return fail(Errc::system, std::strerror(errno), file);
  text.resize(static_cast<std::size_t>(n));
  return text;
}

struct Details::Gathered {
  Json answer;
  msg::JobRecord job;
  std::string path, instance;
  std::string output;
};

void Details::of_job(const std::string& path, OnAnswer on_answer) {
  const msg::JobRecord* const job = model_.job(path);
  if (job == nullptr) return on_answer(fail(Errc::not_found, "there is no such job", path));
  if (known_.size() > kMostKnown)
    std::erase_if(known_, [](const auto& one) { return !one.second.is_open; });
  Known& known = known_[path];
  const bool is_same = known.record == transport::pack(*job);
  if (known.is_open) return (is_same ? known.waiting : known.later).push_back(std::move(on_answer));
  if (is_same && observer_.reactor().now() - known.asked < holds(*job))
    return on_answer(known.answer);
  known.waiting.push_back(std::move(on_answer));
  ask_for(path, known);
}

// Those who have asked again meanwhile have the next answer together.
void Details::told(const std::string& path, const std::string& answer) {
  Known& known = known_[path];
  known.is_open = false;
  known.answer = answer;
  const auto waited = std::exchange(known.waiting, std::exchange(known.later, {}));
  if (!known.waiting.empty()) ask_for(path, known);
  for (const OnAnswer& waits : waited) waits(answer);
}

void Details::ask_for(const std::string& path, Known& known) {
  known.is_open = true;
  known.asked = observer_.reactor().now();
  auto gathered = std::make_shared<Gathered>();
  if (const auto* const job = model_.job(path); job != nullptr) gathered->job = *job;
  known.record = transport::pack(gathered->job);
  gathered->path = path;
  gathered->instance = instance_of(path);
  observer_.ask<msg::JobInfoReply>(
      "job.info", msg::JobInfoRequest{gathered->job.id}, gathered->instance,
      [this, gathered, alive = std::weak_ptr(alive_)](const Result<msg::JobInfoReply>& info) {
        if (alive.expired()) return;
        // An instance that has ended is not asked any more: the record
        // is what is left.
        if (info) {
          gathered->job = info->job;
          gathered->answer["life"] = life_of(info->eventlog);
        }
        ask_why(gathered);
      });
}

void Details::ask_why(const std::shared_ptr<Gathered>& gathered) {
  if (!is_waiting(gathered->job)) return ask_output(gathered);
  msg::ExplainRequest request;
  request.ids = {gathered->job.id};
  observer_.ask<msg::ExplainReply>(
      "explain", request, gathered->instance,
      [this, gathered, alive = std::weak_ptr(alive_)](const Result<msg::ExplainReply>& reply) {
        if (alive.expired()) return;
        if (reply && !reply->jobs.empty())
          gathered->answer["why"] = parsed(transport::to_json(reply->jobs.front()));
        ask_output(gathered);
      });
}

// A file of one's own is read from its end; otherwise the instance is asked, which begins at the
// beginning.
void Details::ask_output(const std::shared_ptr<Gathered>& gathered) {
  const auto& job = gathered->job;
  if (job.t_start == 0 || job.tasks > 0) return finish(*gathered);
  const std::string& file =
      is_over(job) && job.result != "COMPLETED" ? error_file(job) : job.output;
  if (auto tail = tail_of(file, kTail); tail && !tail->empty()) {
    gathered->output = std::move(*tail);
    return finish(*gathered);
  }
  observer_.collect<msg::OutputChunk>(
      "job.attach", msg::AttachRequest{job.id}, gathered->instance,
      [gathered](const msg::OutputChunk& chunk) {
        gathered->output += chunk.data.substr(0, kTail);
        // What a running job has not written yet is not waited for.
        return gathered->output.size() < kTail && is_over(gathered->job);
      },
      [this, gathered, alive = std::weak_ptr(alive_)](const Status&) {
        if (!alive.expired()) finish(*gathered);
      },
      2'000);
}

void Details::finish(Gathered& gathered) {
  const auto& job = gathered.job;
  gathered.answer["job"] = parsed(transport::to_json(job));
  gathered.answer["id"] = msg::shown_path(job);
  gathered.answer["state"] = msg::state_word(job);
  gathered.answer["tasks"] = job.tasks > 0 ? msg::tasks_text(job) : "";
  const std::size_t begin = gathered.output.size() > kTail ? gathered.output.size() - kTail : 0;
  gathered.answer["output"] = gathered.output.substr(begin);
  told(gathered.path, gathered.answer.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string Details::last_line(const msg::JobRecord& job) {
  if (last_lines_.size() > kMostLines && lines_wanted_.empty() && lines_open_ == 0)
    last_lines_.clear();
  const auto [place, is_new] = last_lines_.try_emplace(job.path);
  if (!is_new) return place->second;
  for (const std::string& file : {job.error, job.output}) {
    if (file.empty()) continue;
    if (const auto tail = tail_of(file, kForLine)) place->second = last_line_of(*tail);
    if (!place->second.empty()) return place->second;
  }
  lines_wanted_.push_back(job.path);
  ask_for_lines();
  return "";
}

void Details::ask_for_lines() {
  while (lines_open_ < kLinesAtOnce && !lines_wanted_.empty()) {
    const std::string path = std::move(lines_wanted_.front());
    lines_wanted_.pop_front();
    collect_line(path);
  }
}

void Details::collect_line(const std::string& path) {
  const auto* const job = model_.job(path);
  const auto* const instance = model_.find(instance_of(path));
  // One that does not answer would keep the others waiting.
  if (job == nullptr || instance == nullptr || instance->node.health == "unreachable") return;
  struct Written {
    std::string errors, output;
  };
  const auto written = std::make_shared<Written>();
  ++lines_open_;
  observer_.collect<msg::OutputChunk>(
      "job.attach", msg::AttachRequest{job->id}, instance_of(path),
      [written](const msg::OutputChunk& chunk) {
        (chunk.error ? written->errors : written->output) += chunk.data;
        return written->errors.size() + written->output.size() <= kMostOfAJob;
      },
      [this, written, path, alive = std::weak_ptr(alive_)](const Status&) {
        if (alive.expired()) return;
        --lines_open_;
        std::string line;
        // The end of more than that was not seen.
        if (written->errors.size() + written->output.size() <= kMostOfAJob) {
          line = last_line_of(written->errors);
          if (line.empty()) line = last_line_of(written->output);
        }
        if (!line.empty()) {
          last_lines_[path] = std::move(line);
          model_.touch();
        }
        ask_for_lines();
      },
      10'000);
}

}  // namespace holon::web
