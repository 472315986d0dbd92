// The server of the page beside a real instance: who may look, what comes over the stream, what the
// questions are answered with.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "msg/grant.hpp"
#include "tests/instance/live.hpp"
#include "tests/web/browser/web_process.hpp"
#include "tests/web/visitor.hpp"
#include "web/details.hpp"
#include "web/server.hpp"

namespace holon::web {
namespace {

using instance::testing::eventually;
using instance::testing::Live;
using nlohmann::json;
using testing::get;
using testing::Visitor;

// The server in a thread of its own.
class Served {
 public:
  explicit Served(const Live& live, bool write = false) {
    client::Address address;
    address.uri = live.uri();
    auto observer = client::Observer::connect(address);
    EXPECT_TRUE(observer) << to_string(observer.error());
    WebOptions options;
    options.write = write;
    options.program = HOLON_BINARY;
    auto server = WebServer::start(std::move(*observer), options);
    EXPECT_TRUE(server) << to_string(server.error());
    server_ = std::move(*server);
    stop_ = server_->reactor().every(20, [this] {
      if (stopping_) server_->stop();
    });
    thread_ = std::thread([this] { ended_ = server_->run(); });
  }
  ~Served() {
    stopping_ = true;
    thread_.join();
    stop_.cancel();
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  std::uint16_t port() const { return server_->port(); }
  const std::string& token() const { return server_->look_token(); }
  const std::string& write_token() const { return server_->write_token(); }
  std::string bearer() const { return "Authorization: Bearer " + token() + "\r\n"; }

  json ask(const std::string& target) const {
    Visitor visitor(port());
    visitor.say(get(target, bearer()));
    const auto whole = visitor.answer();
    return json::parse(whole.substr(whole.find("\r\n\r\n") + 4), nullptr, false);
  }

 private:
  std::unique_ptr<WebServer> server_;
  transport::Subscription stop_;
  std::atomic<bool> stopping_{false};
  Status ended_;
  std::thread thread_;
};

class Web : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_page()) GTEST_SKIP() << "there is no page in this build: npm or esbuild was missing";
  }
};

// The next state that comes over a stream.
json next_state(Visitor& visitor) {
  EXPECT_TRUE(visitor.hear("event: state\n"));
  const auto begin = visitor.heard().find("event: state\n");
  while (visitor.heard().find("\n\n", begin) == std::string::npos)
    if (!visitor.hear("\n\n")) break;
  EXPECT_TRUE(eventually([&] {
    return visitor.heard().find("\n\n", begin) != std::string::npos || !visitor.hear("never");
  }));
  const auto data = visitor.heard().find("data: ", begin) + 6;
  return json::parse(visitor.heard().substr(data, visitor.heard().find("\n\n", data) - data),
                     nullptr, false);
}

TEST_F(Web, NobodyLooksWithoutTheToken) {
  const Live live({"--resources", "node=1/core=2"});
  const Served served(live);
  for (const std::string target :
       {"/", "/page.js", "/events", "/jobs", "/metrics", "/?token=wrong", "/job?path=/1"}) {
    Visitor visitor(served.port());
    visitor.say(get(target, "Cookie: holon-" + std::to_string(served.port()) + "=wrong\r\n"));
    EXPECT_EQ(visitor.answer().substr(0, 12), "HTTP/1.1 403") << target;
  }
}

TEST_F(Web, TheTokenBecomesACookie) {
  const Live live({"--resources", "node=1/core=2"});
  const Served served(live);
  Visitor visitor(served.port());
  visitor.say(get("/rnode/host/1/?token=" + served.token()));
  const auto first = visitor.answer();
  EXPECT_EQ(first.substr(0, 12), "HTTP/1.1 303");
  EXPECT_NE(first.find("Location: ./\r\n"), std::string::npos) << "below any prefix";
  const std::string cookie = "holon-" + std::to_string(served.port()) + "=" + served.token();
  EXPECT_NE(first.find("Set-Cookie: " + cookie + "; HttpOnly; SameSite=Strict\r\n"),
            std::string::npos);
  visitor.say(get("/rnode/host/1/", "Cookie: other=1; " + cookie + "\r\n"));
  const auto page = visitor.answer();
  EXPECT_EQ(page.substr(0, 12), "HTTP/1.1 200");
  EXPECT_NE(page.find("Content-Security-Policy: default-src 'none'"), std::string::npos);
  EXPECT_NE(page.find("Content-Encoding: gzip"), std::string::npos);
}

TEST_F(Web, ThereAreNoOtherFilesThanThoseOfThePage) {
  const Live live({"--resources", "node=1/core=2"});
  const Served served(live);
  for (const std::string target :
       {"/report.js", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/page.js/../../etc/passwd",
        "//etc/passwd", "/..%2f..%2fetc%2fpasswd", "/index.html%00.js", "/node_modules"}) {
    Visitor visitor(served.port());
    visitor.say(get(target, served.bearer()));
    EXPECT_EQ(visitor.answer().substr(0, 12), "HTTP/1.1 404") << target;
  }
}

TEST_F(Web, TheStreamBeginsWithTheStateAndGoesOnBehindWhatWasSeen) {
  const Live live({"--resources", "node=1/core=2"});
  const Served served(live);
  live.wait_one(live.job({"true"}));
  std::string id;
  {
    Visitor viewer(served.port());
    viewer.say(get("/events", served.bearer()));
    const auto state = next_state(viewer);
    EXPECT_TRUE(state["anew"]);
    ASSERT_FALSE(state["instances"].empty());
    EXPECT_EQ(state["instances"][0]["cores"], 2);
    const auto at = viewer.heard().find("id: ") + 4;
    id = viewer.heard().substr(at, viewer.heard().find('\n', at) - at);
  }
  live.wait_one(live.job({"false"}));
  Visitor again(served.port());
  again.say(get("/events", served.bearer() + "Last-Event-ID: " + id + "\r\n"));
  EXPECT_FALSE(next_state(again)["anew"]);
  Visitor stale(served.port());
  stale.say(get("/events", served.bearer() + "Last-Event-ID: 12345678.3\r\n"));
  EXPECT_TRUE(next_state(stale)["anew"]) << "the id of another server";
}

TEST_F(Web, ShowsJobsTheirOutputAndWhyTheyWait) {
  const Live live({"--resources", "node=1/core=2"});
  const Served served(live);
  const auto failed = live.job({"sh", "-c", "echo '<script>alert(1)</script>' >&2; exit 3"});
  live.wait_one(failed);
  const auto runs = live.job(live.gated("gate"), {.cores = 2});
  live.when_running(runs);
  const auto waits = live.job({"true"}, {.cores = 2});
  ASSERT_TRUE(eventually([&] { return served.ask("/jobs")["all"] == 3; }));
  const auto list = served.ask("/jobs");
  EXPECT_EQ(list["jobs"][0]["state"], "RUN");
  EXPECT_EQ(list["jobs"][1]["id"], "/" + std::to_string(waits));
  EXPECT_EQ(list["jobs"][2]["exit"], 3);
  const auto of_failed = served.ask("/job?path=/" + std::to_string(failed));
  EXPECT_EQ(of_failed["output"], "<script>alert(1)</script>\n");
  EXPECT_GE(of_failed["life"].size(), 5u);
  const auto of_waiting = served.ask("/job?path=/" + std::to_string(waits));
  EXPECT_EQ(of_waiting["why"]["in_the_way"][0]["path"], "/" + std::to_string(runs))
      << of_waiting.dump(1);
  const auto failures = served.ask("/failures");
  ASSERT_EQ(failures["groups"].size(), 1u);
  EXPECT_EQ(failures["groups"][0]["line"], "<script>alert(1)</script>");
  EXPECT_EQ(served.ask("/jobs?filter=exit:3")["all"], 1);
  EXPECT_TRUE(served.ask("/jobs?filter=exit:x").contains("error"));
  EXPECT_TRUE(served.ask("/job?path=/99").contains("error"));
  const auto time = served.ask("/time?rows=nodes&width=400&height=100");
  EXPECT_EQ(time["cores"], 2);
  EXPECT_GE(time["bars"].size(), 2u);
  live.release("gate");
}

TEST_F(Web, TasksOfArraysAreDrawnAndFound) {
  const Live live({"--resources", "node=1/core=2"});
  const Served served(live);
  const auto array = live.job({"sh", "-c", "exit $((HOLON_ARRAY_INDEX % 2))"},
                              {.count = 6, .system = R"({"holon": {"array": {}}})"});
  live.wait_one(array);
  EXPECT_EQ(served.ask("/jobs")["all"], 1);
  EXPECT_TRUE(eventually([&] { return served.ask("/jobs?filter=failed,completed")["all"] == 6; }))
      << served.ask("/jobs?filter=failed,completed").dump(1);
}

// What small tasks wrote is in the instance's log, and no file of their own.
TEST_F(Web, FailuresOfAnArrayAreGroupedByTheirLastLines) {
  const Live live({"--resources", "node=1/core=2"});
  const Served served(live);
  const auto array = live.job({"sh", "-c",
                               "[ $HOLON_ARRAY_INDEX -le 4 ] || { echo 'this went wrong'; exit 5; }"
                               "; echo \"no such dataset\" >&2; exit 5"},
                              {.count = 6, .system = R"({"holon": {"array": {}}})"});
  live.wait_one(array);
  const auto has_lines = [&] {
    const auto groups = served.ask("/failures")["groups"];
    return groups.size() == 2 && groups[0]["line"] == "no such dataset" && groups[0]["jobs"] == 4 &&
           groups[1]["line"] == "this went wrong";
  };
  EXPECT_TRUE(eventually(has_lines)) << served.ask("/failures").dump(1);
}

TEST_F(Web, SaysWhyAJobWaitsThoughNothingHasHappenedToIt) {
  const Live live({"--resources", "node=1/core=1"});
  const Served served(live);
  Visitor viewer(served.port());
  viewer.say(get("/events", served.bearer()));
  live.when_running(live.job(live.gated("gate")));
  const auto waits = live.job({"true"});
  const auto reason_listed = [&] {
    const auto list = served.ask("/jobs");
    for (const auto& job : list["jobs"])
      if (job["id"] == "/" + std::to_string(waits)) return job["reason"].get<std::string>();
    return std::string();
  };
  EXPECT_TRUE(eventually([&] { return !reason_listed().empty(); }));
  testing::holon_in(live, "resource drain -m 'ECC errors' node0");
  live.release("gate");
  EXPECT_TRUE(eventually([&] { return reason_listed().find("ECC errors") != std::string::npos; }))
      << reason_listed();
}

TEST_F(Web, NamesNodesThatTakeNoWork) {
  const Live live({"--resources", "node=3/core=2"});
  const Served served(live);
  Visitor viewer(served.port());
  viewer.say(get("/events", served.bearer()));  // resources are asked for while somebody looks
  testing::holon_in(live, "resource drain -m 'ECC errors' node1");
  const auto row_says = [&] {
    const auto rows = served.ask("/time?rows=nodes&width=400&height=100")["rows"];
    return rows == json({{"node0", 2}, {"node1", 2, "drained"}, {"node2", 2}});
  };
  EXPECT_TRUE(eventually(row_says)) << served.ask("/time?rows=nodes").dump(1);
  Visitor again(served.port());
  again.say(get("/events", served.bearer()));
  const auto instance = next_state(again)["instances"][0];
  EXPECT_EQ(instance["drained"], 1);
  EXPECT_EQ(instance["out_of_use"],
            json({{{"name", "node1"}, {"state", "drained"}, {"reason", "ECC errors"}}}));
}

TEST_F(Web, ChangesNothingWithoutTheOtherToken) {
  const Live live({"--resources", "node=1/core=2"});
  const Served served(live, true);
  const auto runs = live.job(live.gated("gate"));
  live.when_running(runs);
  const std::string body =
      R"({"verb": "cancel", "at": "/", "what": ["/)" + std::to_string(runs) + R"("]})";
  const auto ask = [&](const std::string& token, const std::string& header) {
    Visitor visitor(served.port());
    visitor.say("POST /do HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token + "\r\n" + header +
                "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return visitor.answer();
  };
  EXPECT_EQ(ask(served.token(), "X-Holon: 1\r\n").substr(0, 12), "HTTP/1.1 403");
  EXPECT_EQ(ask(served.write_token(), "").substr(0, 12), "HTTP/1.1 403")
      << "as a form of another site would";
  EXPECT_EQ(ask("", "X-Holon: 1\r\n").substr(0, 12), "HTTP/1.1 403");
  EXPECT_EQ(live.record(runs).state, "RUN");
  const auto done = ask(served.write_token(), "X-Holon: 1\r\n");
  EXPECT_NE(done.find("\"good\":true"), std::string::npos) << done;
  EXPECT_EQ(live.wait_one(runs).result, "CANCELED");
}

TEST_F(Web, AChildAndItsJobsAreInTheState) {
  const Live live({"--resources", "node=1/core=4"});
  const Served served(live);
  const auto child = live.child({.cores = 2});
  const std::string path = "/" + std::to_string(child);
  live.wait_one(live.job({"true"}, {}, path), path);
  EXPECT_TRUE(eventually([&] { return served.ask("/jobs?at=" + path)["all"] == 1; }));
  const auto metrics = [&] {
    Visitor visitor(served.port());
    visitor.say(get("/metrics", served.bearer()));
    return visitor.answer();
  }();
  EXPECT_NE(metrics.find("holon_cores{instance=\"" + path + "\"} 2\n"), std::string::npos)
      << metrics;
  EXPECT_NE(metrics.find("holon_cores_given{instance=\"/\"} 2\n"), std::string::npos);
}

std::int64_t requests_of(const Served& served) {
  Visitor visitor(served.port());
  visitor.say(get("/metrics", served.bearer()));
  const auto text = visitor.answer();
  const auto at = text.find("holon_web_requests_total ");
  return at == std::string::npos ? -1 : std::stoll(text.substr(at + 25));
}

// As many pages that are open: all ask before any of them has its answer.
void all_ask(const Served& served, std::size_t viewers, const std::string& target) {
  std::vector<std::unique_ptr<Visitor>> all;
  for (std::size_t i = 0; i < viewers; ++i) {
    all.push_back(std::make_unique<Visitor>(served.port()));
    all.back()->say(get(target, served.bearer()));
  }
  for (auto& viewer : all) EXPECT_EQ(viewer->answer().substr(0, 12), "HTTP/1.1 200") << target;
}

TEST_F(Web, TheBrokerIsAskedAsOftenByFiftyViewersAsByOne) {
  const Live live({"--resources", "node=1/core=2"});
  const Served served(live);
  live.wait_one(live.job({"true"}));
  const auto runs = live.job(live.gated("gate"), {.cores = 2});
  live.when_running(runs);
  const auto waits = live.job({"true"}, {.cores = 2});
  ASSERT_TRUE(eventually([&] { return served.ask("/jobs")["all"] == 3; }));
  std::vector<std::unique_ptr<Visitor>> streams;
  for (int i = 0; i < 50; ++i) {
    streams.push_back(std::make_unique<Visitor>(served.port()));
    streams.back()->say(get("/events", served.bearer()));
    ASSERT_TRUE(streams.back()->hear("event: state"));
  }
  // Plans, resources and grants are asked for as time passes, at most three times a second.
  const auto began = std::chrono::steady_clock::now();
  const auto before = requests_of(served);
  ASSERT_GT(before, 0);
  for (const std::string target :
       {"/time?width=400", "/jobs", "/failures", "/grants", "/job?path=/1", "/node?name=node0"})
    all_ask(served, 50, target);
  all_ask(served, 50, "/job?path=/" + std::to_string(waits));
  const auto passed = std::chrono::steady_clock::now() - began;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(passed).count() + 1;
  EXPECT_LE(requests_of(served) - before, 2 * 3 + 8 * seconds)
      << "one for each viewer would be 350 and more";
  live.release("gate");
}

TEST_F(Web, TenThousandWhoOnlyConnectHarmNobody) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlim_t wanted = 12'000;
  if (limit.rlim_max < wanted) GTEST_SKIP() << "this process may not open as many files";
  limit.rlim_cur = std::max(limit.rlim_cur, wanted);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  const Live live({"--resources", "node=1/core=2"});
  const Served served(live);
  Visitor viewer(served.port());
  viewer.say(get("/events", served.bearer()));
  ASSERT_TRUE(viewer.hear("event: state"));
  viewer.forget();
  std::vector<std::unique_ptr<Visitor>> crowd;
  for (int i = 0; i < 10'000; ++i) {
    crowd.push_back(std::make_unique<Visitor>(served.port()));
    ASSERT_TRUE(crowd.back()->connected()) << i;
    if (i % 3 == 0) crowd.back()->say("GET / HTTP/1.1\r\nX: ");  // and never goes on
  }
  const auto asked = requests_of(served);
  EXPECT_EQ(live.wait_one(live.job({"true"})).result, "COMPLETED") << "the broker works";
  EXPECT_TRUE(viewer.hear("event: state")) << "who has the token is told of it";
  EXPECT_EQ(served.ask("/jobs")["all"], 1) << "and others with the token come in";
  EXPECT_LT(requests_of(served) - asked, 100) << "the broker was not asked for the crowd";
}

TEST_F(Web, AGrantThatMovesIsInTheState) {
  const Live live({"--resources", "node=1/core=4"});
  const Served served(live);
  const auto child = live.child({.cores = 2});
  const std::string path = "/" + std::to_string(child);
  ASSERT_TRUE(eventually([&] { return live.status(path).has_value(); }));
  const auto shown = [&](const std::string& at, const char* key) {
    Visitor viewer(served.port());
    viewer.say(get("/events", served.bearer()));
    const json state = next_state(viewer);
    for (const auto& instance : state["instances"])
      if (instance["path"] == at) return instance[key].get<std::int64_t>();
    return std::int64_t{-1};
  };
  ASSERT_TRUE(eventually([&] { return shown(path, "cores") == 2; }));
  EXPECT_EQ(shown("/", "lent"), 0);
  const auto asked = live.call<msg::GrantAnswer>(
      "grant.ask", msg::GrantAsk{Live::request({"grant"}, {.duration = 600}).jobspec}, path);
  ASSERT_TRUE(asked) << asked.error().what;
  EXPECT_TRUE(eventually([&] { return shown("/", "lent") == 1 && shown(path, "extra") == 1; }));
  EXPECT_TRUE(eventually([&] { return served.ask("/grants?at=" + path)["held"].size() == 2; }))
      << served.ask("/grants?at=" + path).dump(1);
  EXPECT_TRUE(eventually([&] { return served.ask("/grants")["given"].size() == 2; }));
  EXPECT_TRUE(served.ask("/grants?at=/99").contains("error"));
  ASSERT_TRUE(live.call<msg::Empty>("grant.release", msg::GrantRelease{}, path));
  EXPECT_TRUE(eventually([&] { return shown("/", "lent") == 0 && shown(path, "extra") == 0; }));
  EXPECT_TRUE(eventually([&] {
    const auto history = served.ask("/grants")["history"];
    return !history.empty() && history.back()["name"] == "gone";
  })) << served.ask("/grants").dump(1);
}

TEST_F(Web, GoesOnOverARestartOfTheBroker) {
  const Live live({"--resources", "node=1/core=2"});
  const Served served(live);
  live.wait_one(live.job({"true"}));
  live.kill_broker();
  live.wait_one(live.job({"true"}));
  EXPECT_TRUE(eventually([&] { return served.ask("/jobs")["all"] == 2; }));
}

TEST(TailOfAFile, IsOfOnesOwnRegularFilesOnly) {
  EXPECT_FALSE(tail_of("/dev/zero", 10));
  EXPECT_FALSE(tail_of("/proc/self/mem/none", 10));
}

}  // namespace
}  // namespace holon::web
