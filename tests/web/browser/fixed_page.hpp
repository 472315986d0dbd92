// fixed_page.hpp - the page and the answers of its server over a model that a test has made and a
// clock that the test sets: the same records are the same picture on any day and machine.
#pragma once
#include <algorithm>
#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "msg/job_filter.hpp"
#include "transport/codec/json.hpp"
#include "web/answers.hpp"
#include "web/http.hpp"
#include "web/page_files.hpp"

namespace holon::web::testing {

class FixedPage {
 public:
  // What happens next in the model, and what the time is then; false: nothing more.
  using Step = std::function<bool(Model&, Time&)>;

  // Steps follow each other quickly, but none before all viewers have taken the last one.
  FixedPage(Model model, Time now, Step step = {})
      : model_(std::move(model)), now_(now), step_(std::move(step)) {
    reactor_ = std::move(*transport::Reactor::create());
    http_ = std::make_unique<HttpServer>(
        *reactor_, HttpBounds(),
        [this](const HttpRequest& request, std::shared_ptr<Exchange> exchange) {
          handle(request, exchange);
        });
    port_ = *http_->listen_at_port(0);
    turns_ = reactor_->every(5, [this] { turn(); });
    thread_ = std::thread([this] { reactor_->run(); });
  }
  ~FixedPage() {
    stop_ = true;
    thread_.join();
    turns_.cancel();
    viewers_.clear();
    http_.reset();
  }
  FixedPage(const FixedPage&) = delete;
  FixedPage& operator=(const FixedPage&) = delete;

  std::string address() const { return "http://127.0.0.1:" + std::to_string(port_) + "/"; }

 private:
  struct Viewer {
    std::shared_ptr<Exchange> exchange;
    std::uint64_t seen = 0;
  };

  void turn() {
    if (stop_) return reactor_->stop();
    viewers_.remove_if([](const Viewer& viewer) { return viewer.exchange->is_gone(); });
    const auto takes_more = [](const Viewer& viewer) { return viewer.exchange->takes_more(); };
    if (viewers_.empty() || !std::all_of(viewers_.begin(), viewers_.end(), takes_more)) return;
    if (step_ && !step_(model_, now_)) step_ = {};
    for (Viewer& viewer : viewers_) tell(viewer);
  }
  void tell(Viewer& viewer) {
    if (viewer.seen == model_.version()) return;
    viewer.exchange->send(
        "event: state\ndata: " + state_json(model_, {"/", viewer.seen, true, now_}) + "\n\n");
    viewer.seen = model_.version();
  }

  void handle(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
    exchange->trust();
    const std::string name = request.page.empty() ? "index.html" : request.page;
    if (const PageFile* file = page_file(name))
      return exchange->answer(
          {200, std::string(file->type), std::string(file->bytes), {{"Content-Encoding", "gzip"}}});
    if (request.page == "events") {
      exchange->begin_stream();
      viewers_.push_back({exchange, 0});
      return tell(viewers_.back());
    }
    const auto text = answer_of(request);
    if (text) return exchange->answer({200, "application/json", *text});
    exchange->answer({400, "application/json", error_json(text.error())});
  }

  Result<std::string> answer_of(const HttpRequest& request) {
    const std::string at = request.query_of("at", "/");
    const ListQuestion list{at, request.query_of("filter"),
                            std::stoul(request.query_of("first", "0")),
                            std::stoul(request.query_of("most", "100"))};
    if (request.page == "jobs") return list_json(model_, list);
    if (request.page == "failures")
      return failures_json(model_, list,
                           [](const auto& job) { return "No such dataset: " + job.name; });
    if (request.page == "node") return node_json(model_, at, request.query_of("name"));
    if (request.page == "grants") return grants_json(model_, at);
    if (request.page == "job") return job_json(request.query_of("path"));
    auto question = read_time_question(request.query, now_);
    if (!question) return tl::unexpected(question.error());
    question->at = at;
    return time_json(model_, *question);
  }

  Result<std::string> job_json(const std::string& path) const {
    const auto* const job = model_.job(path);
    if (job == nullptr) return fail(Errc::not_found, "there is no such job", path);
    const nlohmann::json life = {{job->t_submit, "depend"},
                                 {job->t_submit, "priority"},
                                 {job->t_alloc, "alloc"},
                                 {job->t_start, "start"},
                                 {job->t_finish, "finish"}};
    return nlohmann::json({{"job", nlohmann::json::parse(transport::to_json(*job))},
                           {"id", msg::shown_path(*job)},
                           {"state", msg::state_word(*job)},
                           {"tasks", ""},
                           {"life", job->t_start > 0 ? life : nlohmann::json::array()},
                           {"output", "reading\nNo such dataset: " + job->name + "\n"}})
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  Model model_;
  Time now_;
  Step step_;
  std::unique_ptr<transport::Reactor> reactor_;
  std::unique_ptr<HttpServer> http_;
  std::list<Viewer> viewers_;
  transport::Subscription turns_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace holon::web::testing
