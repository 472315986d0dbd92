// server.hpp - the server of the live page: one process beside the broker, one connection to it,
// any number of viewers (docs/web.md).
//
// Who may look: loopback is shared by all users of a machine, so that every request has to show a
// secret, which stands in the address that the server tells. It is taken from there into a cookie
// once. There are two with --write: one to look, and one that may change things, too.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/observer.hpp"
#include "web/http.hpp"

namespace holon::web {

struct WebOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;   // 0: any free one
  std::string socket = {};  // a unix socket instead
  bool write = false;
  // The secrets that viewers show; "": new ones are made.
  std::string look_token = {}, write_token = {};
  std::string program = {};  // holon, for what the page changes
  HttpBounds bounds = {};
};

// Was the page built into this program? It is not where npm or esbuild were missing.
bool has_page();

class WebServer {
 public:
  // Errors: those of HttpServer's listen_at_port() and listen_at_socket(), unsupported (no page).
  static Result<std::unique_ptr<WebServer>> start(client::Observer observer, WebOptions options);
  ~WebServer();
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  std::uint16_t port() const;  // 0: it listens at a unix socket
  // The secret to look with; and that to change things with, "" if nobody may.
  const std::string& look_token() const;
  const std::string& write_token() const;
  transport::Reactor& reactor();
  std::size_t connections() const;

  // Serves until stop(), or until the instance has ended: then the reason.
  Status run();
  void stop();

 private:
  class Impl;
  explicit WebServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace holon::web
