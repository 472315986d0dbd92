#include "web/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <nlohmann/json.hpp>

#include "transport/secret.hpp"
#include "web/answers.hpp"
#include "web/commands.hpp"
#include "web/details.hpp"
#include "web/feed.hpp"
#include "web/gzip.hpp"
#include "web/page_files.hpp"

namespace holon::web {
namespace {

constexpr Duration kPush = 100;  // between two looks for changes to tell
constexpr Duration kSignOfLife =
    15'000;                       // a comment, by which a connection that has gone is noticed
constexpr Duration kFresh = 400;  // for so long an answer is given again to the same question
constexpr std::size_t kMostCached = 64;
constexpr std::size_t kWorthPacking = 4'096;  // bytes; of rows and bars a fifth is left
constexpr int kQuickly = 1;                   // a level of gzip
constexpr std::size_t kMostViewers = 256;

const std::map<std::string, std::string> kSafe = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
     "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-store"}};

HttpAnswer json_answer(const Result<std::string>& text) {
  if (text) return {200, "application/json", *text};
  const Errc code = text.error().code;
  const unsigned status = code == Errc::not_found ? 404 : code == Errc::denied ? 403 : 400;
  return {status, "application/json", error_json(text.error())};
}

std::string given_or_new(const std::string& secret) {
  return secret.empty() ? transport::new_secret() : secret;
}

// The value of a cookie in a header of them.
std::string cookie(const std::string& header, const std::string& name) {
  for (std::size_t at = 0; at < header.size();) {
    const std::size_t begin = header.find_first_not_of("; ", at);
    if (begin == std::string::npos) break;
    const std::size_t end = std::min(header.find(';', begin), header.size());
    if (header.compare(begin, name.size() + 1, name + "=") == 0)
      return header.substr(begin + name.size() + 1, end - begin - name.size() - 1);
    at = end;
  }
  return "";
}

}  // namespace

class WebServer::Impl {
 public:
  Impl(client::Observer observer, WebOptions options)
      : observer_(std::move(observer)),
        options_(std::move(options)),
        look_(given_or_new(options_.look_token)),
        write_(options_.write ? given_or_new(options_.write_token) : ""),
        incarnation_(transport::new_secret().substr(0, 8)),
        feed_(observer_, model_, [this](const Status& status) { over(status); }),
        details_(observer_, model_),
        commands_(observer_.reactor(), options_.program, observer_.uri()),
        http_(observer_.reactor(), options_.bounds,
              [this](const HttpRequest& request, std::shared_ptr<Exchange> exchange) {
                handle(request, std::move(exchange));
              }) {
    pushes_ = observer_.reactor().every(kPush, [this] { push(); });
  }

  Status listen() {
    if (!options_.socket.empty()) return http_.listen_at_socket(options_.socket);
    const auto port = http_.listen_at_port(options_.port, options_.host);
    if (!port) return tl::unexpected(port.error());
    port_ = *port;
    cookie_name_ = fmt::format("holon-{}", *port);
    return {};
  }

  std::uint16_t port() const { return port_; }
  const std::string& look() const { return look_; }
  const std::string& write() const { return write_; }
  transport::Reactor& reactor() { return observer_.reactor(); }
  std::size_t connections() const { return http_.connections(); }

  Status run() {
    if (!over_) reactor().run();
    return over_.value_or(Status());
  }

 private:
  struct Viewer {
    std::shared_ptr<Exchange> exchange;
    std::string at;
    std::uint64_t seen = 0;
    bool may_write = false;
    Time last = 0;
  };
  struct Cached {
    std::string question, answer;
    std::string packed;  // the answer as gzip; "": nobody has asked for that
    std::uint64_t version = 0;
    Time made = 0;
    Duration cost = 0;
  };
  enum class Right : std::uint8_t { none, look, write };

  Right right_of(const std::string& token) const {
    if (transport::is_same_secret(token, write_)) return Right::write;
    return transport::is_same_secret(token, look_) ? Right::look : Right::none;
  }

  // The token of a request: of its address, its cookie, or an Authorization header.
  Right right_of(const HttpRequest& request) const {
    const Right by_query = right_of(request.query_of("token"));
    if (by_query != Right::none) return by_query;
    const std::string bearer = request.header_of("authorization");
    if (bearer.starts_with("Bearer ")) return right_of(bearer.substr(7));
    return right_of(cookie(request.header_of("cookie"), cookie_name_));
  }

  void handle(const HttpRequest& request, std::shared_ptr<Exchange> exchange) {
    const Right right = right_of(request);
    if (right == Right::none)
      return answer(*exchange,
                    {403, "text/plain",
                     "The address that `holon web` has printed is needed, with its token.\n"});
    exchange->trust();
    if (request.method == "POST" && request.page == "do") return change(request, right, exchange);
    if (request.method != "GET")
      return answer(*exchange, {405, "text/plain", "only GET here\n", {{"Allow", "GET"}}});
    const std::string at = request.query_of("at", observer_.path());
    if (request.page.empty() && request.query.contains("token"))
      return set_cookie(request, *exchange);
    if (const PageFile* file = page_file(request.page.empty() ? "index.html" : request.page);
        file != nullptr && file->name != kReportScript)
      return serve(*file, *exchange);
    if (request.page == "events") return follow(request, at, right, exchange);
    if (request.page == "metrics")
      return answer(*exchange, {200, "application/openmetrics-text; version=1.0.0; charset=utf-8",
                                metrics_text(model_, observer_.asked())});
    feed_.look_at(at);
    if (request.page == "job") {
      return details_.of_job(request.query_of("path"), [exchange](const Result<std::string>& text) {
        answer(*exchange, json_answer(text));
      });
    }
    answer_question(request, at, *exchange);
  }

  static void answer(Exchange& exchange, HttpAnswer answer) {
    answer.header.insert(kSafe.begin(), kSafe.end());
    exchange.answer(std::move(answer));
  }

  static void serve(const PageFile& file, Exchange& exchange) {
    answer(exchange,
           {200, std::string(file.type), std::string(file.bytes), {{"Content-Encoding", "gzip"}}});
  }

  // The cookie holds for this page only, wherever a proxy shows it: it has no path of its own.
  void set_cookie(const HttpRequest& request, Exchange& exchange) {
    answer(exchange, {303,
                      "text/plain",
                      "",
                      {{"Location", "./"},
                       {"Set-Cookie", fmt::format("{}={}; HttpOnly; SameSite=Strict", cookie_name_,
                                                  request.query_of("token"))}}});
  }

  static std::string question_of(const HttpRequest& request) {
    std::string question = request.page;
    for (const auto& [key, value] : request.query)
      if (key != "token") question += "\n" + key + "=" + value;
    return question;
  }

  // The answer that was given to this question a moment ago; nullptr: there is none that still
  // holds.
  Cached* cached(const std::string& question) {
    const Time now = reactor().now();
    for (Cached& known : cache_)
      if (known.question == question && now - known.made < std::max(kFresh, 10 * known.cost) &&
          (known.version == model_.version() || now - known.made < 10 * known.cost))
        return &known;
    return nullptr;
  }

  // Answers a question about the model. Many who look at the same are answered once.
  void answer_question(const HttpRequest& request, const std::string& at, Exchange& exchange) {
    const std::string question = question_of(request);
    Cached* known = cached(question);
    if (known == nullptr) {
      const Time began = wall_clock();
      auto text = computed(request, at);
      if (!text) return answer(exchange, {404, "text/plain", "there is nothing here\n"});
      if (!*text) return answer(exchange, json_answer(*text));
      std::erase_if(cache_, [&](const Cached& old) { return old.question == question; });
      cache_.push_front({question, std::move(**text), "", model_.version(), reactor().now(),
                         wall_clock() - began});
      if (cache_.size() > kMostCached) cache_.pop_back();
      known = &cache_.front();
    }
    const bool packs = known->answer.size() >= kWorthPacking &&
                       request.header_of("accept-encoding").find("gzip") != std::string::npos;
    if (!packs) return answer(exchange, {200, "application/json", known->answer});
    if (known->packed.empty()) known->packed = to_gzip(known->answer, kQuickly);
    answer(exchange, {200, "application/json", known->packed, {{"Content-Encoding", "gzip"}}});
  }

  std::optional<Result<std::string>> computed(const HttpRequest& request, const std::string& at) {
    const auto number = [&](const char* key, std::size_t otherwise) {
      const std::string text = request.query_of(key);
      return text.empty() ? otherwise
                          : static_cast<std::size_t>(std::strtoull(text.c_str(), nullptr, 10));
    };
    const ListQuestion list{at, request.query_of("filter"), number("first", 0),
                            number("most", 100)};
    if (request.page == "jobs") return list_json(model_, list);
    if (request.page == "failures")
      return failures_json(model_, list,
                           [this](const auto& job) { return details_.last_line(job); });
    if (request.page == "grants") return grants_json(model_, at);
    if (request.page == "node") return node_json(model_, at, request.query_of("name"));
    if (request.page != "time") return std::nullopt;
    auto question = read_time_question(request.query, wall_clock());
    if (!question) return tl::unexpected(question.error());
    question->at = at;
    return time_json(model_, *question);
  }

  void change(const HttpRequest& request, Right right, const std::shared_ptr<Exchange>& exchange) {
    // A page of another origin cannot send this header: it would have to be allowed to.
    if (right != Right::write || request.header_of("x-holon").empty())
      return answer(*exchange, json_answer(fail(Errc::denied,
                                                "this address is for looking only; holon web "
                                                "--write prints one that may change things")));
    auto commands = read_commands(request.body);
    if (!commands) return answer(*exchange, json_answer(tl::unexpected(commands.error())));
    const auto begun = commands_.run(std::move(*commands), [this, exchange](const CommandEnd& end) {
      feed_.hurry();
      const nlohmann::json said = {{"good", end.good}, {"said", end.said}};
      answer(*exchange, {200, "application/json",
                         said.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
    });
    if (!begun) answer(*exchange, json_answer(tl::unexpected(begun.error())));
  }

  // A stream of what changes, from the beginning or behind what the viewer has seen.
  void follow(const HttpRequest& request, const std::string& at, Right right,
              const std::shared_ptr<Exchange>& exchange) {
    if (viewers_.size() >= kMostViewers)
      return answer(*exchange, {503, "text/plain", "there are too many viewers\n"});
    Viewer viewer{exchange, at, 0, right == Right::write, reactor().now()};
    const std::string last = request.header_of("last-event-id");
    const auto dot = last.find('.');
    if (dot != std::string::npos && last.substr(0, dot) == incarnation_)
      viewer.seen = std::strtoull(last.c_str() + dot + 1, nullptr, 10);
    exchange->begin_stream();
    exchange->send("retry: 1000\n\n");
    viewers_.push_back(std::move(viewer));
    feed_.look_at(at);
  }

  void push() {
    const Time now = reactor().now();
    std::map<std::string, std::string> said;  // by all that it depends on
    for (auto viewer = viewers_.begin(); viewer != viewers_.end();) {
      if (viewer->exchange->is_gone()) {
        viewer = viewers_.erase(viewer);
        continue;
      }
      feed_.look_at(viewer->at);
      tell(*viewer++, said, now);
    }
  }

  void tell(Viewer& viewer, std::map<std::string, std::string>& said, Time now) {
    if (!viewer.exchange->takes_more()) return;  // it is told of all once it has taken the last
    if (viewer.seen == model_.version() && viewer.seen != 0) {
      if (now - viewer.last < kSignOfLife) return;
      viewer.last = now;
      return viewer.exchange->send(": \n\n");
    }
    std::string& text = said[fmt::format("{} {} {}", viewer.at, viewer.seen, viewer.may_write)];
    if (text.empty())
      text =
          fmt::format("id: {}.{}\nevent: state\ndata: {}\n\n", incarnation_, model_.version(),
                      state_json(model_, {viewer.at, viewer.seen, viewer.may_write, wall_clock()}));
    viewer.seen = model_.version();
    viewer.last = now;
    viewer.exchange->send(text);
  }

  void over(const Status& status) {
    over_ = status;
    for (const Viewer& viewer : viewers_) viewer.exchange->send("event: over\ndata: {}\n\n");
    reactor().stop();
  }

  client::Observer observer_;
  const WebOptions options_;
  const std::string look_, write_, incarnation_;
  std::uint16_t port_ = 0;
  std::string cookie_name_ = "holon";
  Model model_;
  std::optional<Status> over_;
  std::list<Viewer> viewers_;
  std::list<Cached> cache_;
  Feed feed_;
  Details details_;
  Commands commands_;
  HttpServer http_;
  transport::Subscription pushes_;
};

WebServer::WebServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WebServer::~WebServer() = default;

bool has_page() {
  return page_file("index.html") != nullptr;
}

Result<std::unique_ptr<WebServer>> WebServer::start(client::Observer observer, WebOptions options) {
  if (!has_page())
    return fail(Errc::unsupported,
                "this holon was built without the page, as npm or esbuild was missing");
  auto impl = std::make_unique<Impl>(std::move(observer), std::move(options));
  if (auto listens = impl->listen(); !listens) return tl::unexpected(listens.error());
  return std::unique_ptr<WebServer>(new WebServer(std::move(impl)));
}

std::uint16_t WebServer::port() const {
  return impl_->port();
}
const std::string& WebServer::look_token() const {
  return impl_->look();
}
const std::string& WebServer::write_token() const {
  return impl_->write();
}
transport::Reactor& WebServer::reactor() {
  return impl_->reactor();
}
std::size_t WebServer::connections() const {
  return impl_->connections();
}
Status WebServer::run() {
  return impl_->run();
}
void WebServer::stop() {
  impl_->reactor().stop();
}

}  // namespace holon::web
