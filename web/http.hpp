// http.hpp - HTTP/1.1 over sockets that a reactor watches: Beast reads the requests, this bounds
// what a connection may cost.
//
// A connection has one request at a time: the next one is read once the answer is written. Who does
// not send a request in time, or takes nothing for a while, is cut off; when all places are taken,
// the oldest connection that has shown no token goes.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "transport/reactor.hpp"
#include "transport/unique_fd.hpp"

namespace holon::web {

struct HttpRequest {
  std::string method;                        // GET, POST
  std::string page;                          // what stands behind the last '/' of the path: "state"
  std::map<std::string, std::string> query;  // decoded
  std::map<std::string, std::string> header;  // names in lower case
  std::string body;
  std::string query_of(const std::string& key, const std::string& otherwise = "") const;
  std::string header_of(const std::string& key) const;
};

struct HttpAnswer {
  unsigned status = 200;
  std::string type = "application/json";
  std::string body;
  std::map<std::string, std::string> header = {};  // more than those that every answer has
};

// The two sides of a request that may be answered later. Answers of a connection that has gone are
// dropped.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void answer(HttpAnswer answer) = 0;
  // Begins a stream of server-sent events.
  virtual void begin_stream() = 0;
  // Is there room, as the viewer has taken all that was sent before?
  virtual bool takes_more() const = 0;
  virtual bool is_gone() const = 0;
  virtual void send(const std::string& event) = 0;
  // The request had a good token: its connection is no stranger's any more.
  virtual void trust() = 0;
};

struct HttpBounds {
  std::size_t connections = 512;
  std::uint32_t header_bytes = 16'384;
  std::uint64_t body_bytes = 65'536;
  Duration request = 10'000;  // ms for a whole request to come
  Duration idle = 60'000;     // until the next one
  Duration stalled = 30'000;  // with an answer that is not taken
};

// "a=1&b=%2F3" as keys and values.
std::map<std::string, std::string> read_query(std::string_view text);

class HttpServer {
 public:
  using Handler = std::function<void(const HttpRequest&, std::shared_ptr<Exchange>)>;

  HttpServer(transport::Reactor& reactor, HttpBounds bounds, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Listens at an IPv4 address of this machine (port 0: a free one); returns the port. Errors:
  // exists, invalid_argument, system.
  Result<std::uint16_t> listen_at_port(std::uint16_t port,
                                       const std::string& address = "127.0.0.1");
  // Listens at a unix socket that only this user may open. Errors: exists, invalid_argument,
  // system.
  Status listen_at_socket(const std::string& path);

  std::size_t connections() const;

 private:
  class Connection;
  void accept_all();
  Status watch(transport::UniqueFd listener);
  bool make_room();

  transport::Reactor& reactor_;
  HttpBounds bounds_;
  Handler handler_;
  transport::UniqueFd listener_;
  std::string socket_path_;
  transport::Subscription watch_, sweep_;
  std::map<std::uint64_t, std::shared_ptr<Connection>> connections_;  // by their order
  std::uint64_t next_ = 1;
};

}  // namespace holon::web
