// The HTTP of the server, by those who mean well and by those who do not.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/web/visitor.hpp"
#include "web/http.hpp"

namespace holon::web {
namespace {

using testing::get;
using testing::Visitor;

// A server that answers with what it was asked, in a thread of its own.
class Echo {
 public:
  explicit Echo(HttpBounds bounds = {}) {
    reactor_ = std::move(*transport::Reactor::create());
    server_ = std::make_unique<HttpServer>(
        *reactor_, bounds,
        [this](const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
          ++asked_;
          if (request.query_of("token") == "good") exchange->trust();
          if (request.page == "stream") {
            exchange->begin_stream();
            streams_.push_back(exchange);
            return;
          }
          if (request.page == "later") {
            later_.push_back(exchange);
            return;
          }
          exchange->answer({200, "text/plain",
                            request.method + " " + request.page + " " + request.query_of("a") +
                                " " + request.body});
        });
    port_ = *server_->listen_at_port(0);
    sends_ = reactor_->every(20, [this] {
      for (const auto& stream : streams_)
        if (stream->takes_more()) stream->send("data: " + std::string(100'000, 'x') + "\n\n");
      connections_ = server_->connections();
      if (!stop_) return;
      reactor_->stop();
    });
    thread_ = std::thread([this] { reactor_->run(); });
  }
  ~Echo() {
    stop_ = true;
    thread_.join();
    sends_.cancel();
    streams_.clear();
    later_.clear();
    server_.reset();
  }
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;

  std::uint16_t port() const { return port_; }
  std::size_t connections() const { return connections_; }
  int asked() const { return asked_; }

 private:
  std::unique_ptr<transport::Reactor> reactor_;
  std::unique_ptr<HttpServer> server_;
  std::vector<std::shared_ptr<Exchange>> streams_, later_;
  transport::Subscription sends_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<std::size_t> connections_{0};
  std::atomic<int> asked_{0};
  std::thread thread_;
};

TEST(Http, AnswersSeveralRequestsOfAConnection) {
  const Echo echo;
  Visitor visitor(echo.port());
  visitor.say(get("/some/where/state?a=1%2F2+3&b"));
  EXPECT_TRUE(visitor.answer().ends_with("GET state 1/2 3 "));
  visitor.say("POST /do HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody");
  EXPECT_TRUE(visitor.answer().ends_with("POST do  body"));
}

TEST(Http, TakesARequestInPiecesAndSeveralAtOnce) {
  const Echo echo;
  Visitor visitor(echo.port());
  for (const char c : get("/one")) ASSERT_TRUE(visitor.say(std::string(1, c)));
  EXPECT_TRUE(visitor.answer().ends_with("GET one  "));
  visitor.say(get("/two") + get("/three"));
  EXPECT_TRUE(visitor.answer().ends_with("GET two  "));
  EXPECT_TRUE(visitor.answer().ends_with("GET three  "));
}

TEST(Http, ManyRequestsAtOnceAreAnsweredOneByOne) {
  const Echo echo;
  Visitor visitor(echo.port());
  std::string all;
  for (int i = 0; i < 2'000; ++i) all += get("/x");
  std::thread sends([&] { visitor.say(all + get("/last", "Connection: close\r\n")); });
  const auto heard = visitor.to_the_end();
  sends.join();
  EXPECT_TRUE(heard.ends_with("GET last  "));
  EXPECT_EQ(echo.asked(), 2'001);
}

TEST(Http, ClosesWhereItIsAskedTo) {
  const Echo echo;
  Visitor visitor(echo.port());
  visitor.say(get("/x", "Connection: close\r\n"));
  EXPECT_TRUE(visitor.to_the_end().ends_with("GET x  "));
}

TEST(Http, RefusesWhatIsNoRequest) {
  const Echo echo;
  for (const std::string& nonsense :
       {std::string("hello\r\n\r\n"), std::string("GET / HTTP/9.9\r\n\r\n"),
        std::string(50, '\0') + "\r\n\r\n",
        std::string("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"),
        std::string("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")}) {
    Visitor visitor(echo.port());
    visitor.say(nonsense);
    EXPECT_EQ(visitor.to_the_end().substr(0, 12), "HTTP/1.1 400") << nonsense;
  }
  EXPECT_EQ(echo.asked(), 0);
}

TEST(Http, RefusesHugeHeadersAndBodies) {
  const Echo echo;
  Visitor headers(echo.port());
  headers.say("GET / HTTP/1.1\r\nX: ");
  while (headers.say(std::string(4'096, 'x'))) {
    pollfd answered{headers.fd(), POLLIN, 0};
    if (::poll(&answered, 1, 0) == 1) break;
  }
  EXPECT_EQ(headers.to_the_end().substr(0, 12), "HTTP/1.1 431");
  Visitor body(echo.port());
  body.say("POST /do HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n");
  EXPECT_EQ(body.to_the_end().substr(0, 12), "HTTP/1.1 431");
  EXPECT_EQ(echo.asked(), 0);
}

TEST(Http, CutsOffWhoDoesNotSendARequestInTime) {
  HttpBounds bounds;
  bounds.request = 300;
  bounds.idle = 300;
  const Echo echo(bounds);
  Visitor slow(echo.port()), silent(echo.port());
  slow.say("GET / HT");
  EXPECT_EQ(slow.to_the_end(), "");
  EXPECT_EQ(silent.to_the_end(), "");
}

TEST(Http, ASlowReaderCostsOneMessageAndIsCutOff) {
  HttpBounds bounds;
  bounds.stalled = 1'000;
  const Echo echo(bounds);
  Visitor slow(echo.port()), reads(echo.port());
  slow.say(get("/stream"));
  reads.say(get("/stream"));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(reads.hear("data: ")) << "who reads gets on";
    reads.forget();
  }
  // It is closed though its end was never read: what it was sent before is all there is.
  ASSERT_TRUE(slow.hear("data: "));
  while (echo.connections() > 1) {
    ASSERT_TRUE(reads.hear("data: "));
    reads.forget();
  }
  SUCCEED();
}

TEST(Http, WhoHasShownATokenKeepsTheirPlace) {
  HttpBounds bounds;
  bounds.connections = 20;
  const Echo echo(bounds);
  Visitor trusted(echo.port());
  trusted.say(get("/x?token=good"));
  EXPECT_NE(trusted.answer().find("200"), std::string::npos);
  std::vector<std::unique_ptr<Visitor>> strangers;
  for (int i = 0; i < 500; ++i) strangers.push_back(std::make_unique<Visitor>(echo.port()));
  Visitor late(echo.port());
  late.say(get("/late"));
  EXPECT_NE(late.answer().find("GET late"), std::string::npos) << "the oldest stranger has gone";
  trusted.say(get("/again"));
  EXPECT_NE(trusted.answer().find("GET again"), std::string::npos);
  EXPECT_LE(echo.connections(), 20u);
}

TEST(Http, TenThousandConnectionsOneAfterTheOther) {
  HttpBounds bounds;
  bounds.connections = 64;
  const Echo echo(bounds);
  for (int i = 0; i < 10'000; ++i) {
    const Visitor visitor(echo.port());
    ASSERT_TRUE(visitor.connected()) << i;
  }
  Visitor last(echo.port());
  last.say(get("/last"));
  EXPECT_NE(last.answer().find("GET last"), std::string::npos);
}

TEST(Http, WhoLeavesBeforeTheAnswerIsForgotten) {
  const Echo echo;
  {
    Visitor leaves(echo.port());
    leaves.say(get("/later"));
    Visitor stays(echo.port());
    stays.say(get("/x"));
    EXPECT_NE(stays.answer().find("GET x"), std::string::npos);
  }
  Visitor next(echo.port());
  next.say(get("/x"));
  EXPECT_NE(next.answer().find("GET x"), std::string::npos);
}

TEST(Query, IsDecoded) {
  const auto query = read_query("a=%41%zz&&b=&=c&d=x=y&a=2");
  EXPECT_EQ(query.at("a"), "A%zz") << "the first one counts";
  EXPECT_EQ(query.at("b"), "");
  EXPECT_EQ(query.at("d"), "x=y");
}

}  // namespace
}  // namespace holon::web
