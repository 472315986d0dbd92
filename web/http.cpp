#include "web/http.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <cstring>
#include <optional>

namespace holon::web {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t kReadAtOnce = 16'384;
constexpr Duration kSweep = 1'000;

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && digit_of(text[i + 1]) >= 0 &&
                        digit_of(text[i + 2]) >= 0;
    if (escape) {
      plain += static_cast<char>(digit_of(text[i + 1]) * 16 + digit_of(text[i + 2]));
      i += 2;
    } else {
      plain += text[i] == '+' ? ' ' : text[i];
    }
  }
  return plain;
}

std::string text_of(const HttpAnswer& answer, bool keep) {
  std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: {}\r\n",
      answer.status, std::string(http::obsolete_reason(static_cast<http::status>(answer.status))),
      answer.type, answer.body.size(), keep ? "keep-alive" : "close");
  for (const auto& [name, value] : answer.header) text += name + ": " + value + "\r\n";
  return text + "\r\n" + answer.body;
}

using Parser = http::request_parser<http::string_body>;

HttpRequest request_of(const http::request<http::string_body>& read) {
  HttpRequest request;
  request.method = std::string(read.method_string());
  const std::string target(read.target());
  const auto mark = target.find('?');
  const std::string path = target.substr(0, mark);
  request.page = path.substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
  if (mark != std::string::npos)
    request.query = read_query(std::string_view(target).substr(mark + 1));
  for (const auto& field : read) {
    std::string name(field.name_string());
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    request.header.emplace(std::move(name), std::string(field.value()));
  }
  request.body = read.body();
  return request;
}

}  // namespace

std::string HttpRequest::query_of(const std::string& key, const std::string& otherwise) const {
  const auto found = query.find(key);
  return found == query.end() ? otherwise : found->second;
}

std::string HttpRequest::header_of(const std::string& key) const {
  const auto found = header.find(key);
  return found == header.end() ? "" : found->second;
}

std::map<std::string, std::string> read_query(std::string_view text) {
  std::map<std::string, std::string> query;
  while (!text.empty()) {
    const auto end = std::min(text.find('&'), text.size());
    const auto pair = text.substr(0, end);
    const auto equals = std::min(pair.find('='), pair.size());
    query.emplace(decoded(pair.substr(0, equals)),
                  decoded(pair.substr(std::min(equals + 1, pair.size()))));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return query;
}

// One connection. Kept by the server, and by exchanges that wait for an answer.
class HttpServer::Connection : public Exchange, public std::enable_shared_from_this<Connection> {
 public:
  Connection(HttpServer& server, std::uint64_t number, transport::UniqueFd fd)
      : server_(server), number_(number), fd_(std::move(fd)), since_(server.reactor_.now()) {}

  bool begin() {
    auto watch = server_.reactor_.on_fd(fd_.get(), transport::kReadable,
                                        [this](unsigned events) { ready(events); });
    if (!watch) return false;
    watch_ = std::move(*watch);
    return true;
  }

  void answer(HttpAnswer answer) override {
    if (gone_ || !busy_) return;
    busy_ = false;
    since_ = server_.reactor_.now();
    out_ += text_of(answer, keep_);
    closing_ = !keep_;
    flush();
    // Not from here: many requests that came at once would stand on the stack together.
    if (!gone_ && !in_.empty())
      server_.reactor_.defer([self = shared_from_this()] { self->next(); });
  }
  void begin_stream() override {
    out_ +=
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
        "X-Accel-Buffering: no\r\nConnection: close\r\n\r\n";
    streams_ = true;
    flush();
  }
  bool takes_more() const override { return !gone_ && out_.empty(); }
  bool is_gone() const override { return gone_; }
  void send(const std::string& event) override {
    if (gone_) return;
    out_ += event;
    since_ = server_.reactor_.now();
    flush();
  }
  void trust() override { trusted_ = true; }
  bool trusted() const { return trusted_; }

  // Has its time run out?
  bool overdue(Time now) const {
    const auto& bounds = server_.bounds_;
    if (!out_.empty()) return now - since_ > bounds.stalled;
    if (streams_ || busy_) return false;
    return now - since_ > (parser_ ? bounds.request : bounds.idle);
  }
  void close() {
    if (std::exchange(gone_, true)) return;
    watch_.cancel();
    fd_.reset();
    // The last owner may be the one that calls: it goes once this turn's callbacks are over.
    server_.reactor_.defer([self = shared_from_this()] {});
    server_.connections_.erase(number_);
  }

 private:
  void ready(unsigned events) {
    const auto self = shared_from_this();
    if ((events & transport::kWritable) != 0) flush();
    if (!gone_ && (events & transport::kReadable) != 0) read_some();
    if (!gone_ && (events & transport::kHangUp) != 0) close();
  }

  void read_some() {
    char bytes[kReadAtOnce];
    const ssize_t n = ::read(fd_.get(), bytes, sizeof bytes);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return close();
    if (n < 0 || streams_) return;  // a viewer of a stream has nothing to say
    if (in_.size() + static_cast<std::size_t>(n) > server_.bounds_.body_bytes + kReadAtOnce * 2)
      return close();
    in_.append(bytes, static_cast<std::size_t>(n));
    if (!busy_) next();
  }

  // Reads the next request out of what has come.
  void next() {
    if (in_.empty() || busy_ || gone_ || closing_) return;
    if (!parser_) {
      parser_.emplace();
      parser_->header_limit(server_.bounds_.header_bytes);
      parser_->body_limit(server_.bounds_.body_bytes);
      parser_->eager(true);
      since_ = server_.reactor_.now();
    }
    boost::system::error_code error;
    const std::size_t used = parser_->put(boost::asio::buffer(in_), error);
    in_.erase(0, used);
    if (error == http::error::need_more) return;
    if (error) return refuse(error);
    if (parser_->is_done()) handle();
  }

  void refuse(const boost::system::error_code& error) {
    busy_ = true;
    keep_ = false;
    const bool large = error == http::error::header_limit || error == http::error::body_limit;
    answer({large ? 431U : 400U, "text/plain", error.message() + "\n"});
  }

  void handle() {
    const auto read = parser_->release();
    parser_.reset();
    busy_ = true;
    keep_ = read.keep_alive();
    server_.handler_(request_of(read), shared_from_this());
  }

  void flush() {
    while (!out_.empty()) {
      const ssize_t n = ::send(fd_.get(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) break;
      if (n <= 0) return close();
      sent_ += static_cast<std::size_t>(n);
      since_ = server_.reactor_.now();
      if (sent_ < out_.size()) continue;
      out_.clear();
      out_.shrink_to_fit();
      sent_ = 0;
    }
    if (out_.empty() && closing_) return close();
    watch_for(out_.empty() ? transport::kReadable : transport::kReadable | transport::kWritable);
  }

  void watch_for(unsigned events) {
    if (events == watched_) return;
    watched_ = events;
    watch_.cancel();
    auto watch = server_.reactor_.on_fd(fd_.get(), events, [this](unsigned came) { ready(came); });
    if (!watch) return close();
    watch_ = std::move(*watch);
  }

  HttpServer& server_;
  const std::uint64_t number_;
  transport::UniqueFd fd_;
  transport::Subscription watch_;
  unsigned watched_ = transport::kReadable;
  std::string in_, out_;
  std::size_t sent_ = 0;  // of out_
  std::optional<Parser> parser_;
  Time since_;  // the last sign that it goes on
  bool busy_ = false, keep_ = true, closing_ = false, streams_ = false, gone_ = false;
  bool trusted_ = false;
};

HttpServer::HttpServer(transport::Reactor& reactor, HttpBounds bounds, Handler handler)
    : reactor_(reactor), bounds_(bounds), handler_(std::move(handler)) {
  sweep_ = reactor_.every(kSweep, [this] {
    const auto all = connections_;
    for (const auto& [number, connection] : all)
      if (connection->overdue(reactor_.now())) connection->close();
  });
}

HttpServer::~HttpServer() {
  const auto all = connections_;
  for (const auto& [number, connection] : all) connection->close();
  if (!socket_path_.empty()) ::unlink(socket_path_.c_str());
}

std::size_t HttpServer::connections() const {
  return connections_.size();
}

Status HttpServer::watch(transport::UniqueFd listener) {
  if (::listen(listener.get(), 128) != 0) return fail(Errc::system, std::strerror(errno), "listen");
  auto watched =
      reactor_.on_fd(listener.get(), transport::kReadable, [this](unsigned) { accept_all(); });
  if (!watched) return tl::unexpected(watched.error());
  listener_ = std::move(listener);
  watch_ = std::move(*watched);
  return {};
}

Result<std::uint16_t> HttpServer::listen_at_port(std::uint16_t port, const std::string& host) {
  transport::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1)
    return fail(Errc::invalid_argument, "is no IPv4 address, as 127.0.0.1", host);
  socklen_t length = sizeof address;
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0)
    return fail(errno == EADDRINUSE ? Errc::exists : Errc::system, std::strerror(errno),
                fmt::format("{}:{}", host, port));
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &length);
  if (auto watched = watch(std::move(fd)); !watched) return tl::unexpected(watched.error());
  return ntohs(address.sin_port);
}

Status HttpServer::listen_at_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return fail(Errc::invalid_argument, "a name of at most 107 bytes is needed", path);
  std::memcpy(address.sun_path, path.data(), path.size());
  transport::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const mode_t before = ::umask(0177);
  const int bound = ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int why = errno;
  ::umask(before);
  if (bound != 0)
    return fail(why == EADDRINUSE ? Errc::exists : Errc::system, std::strerror(why), path);
  socket_path_ = path;
  return watch(std::move(fd));
}

// Is there a place? Where not, the oldest stranger gives up his.
bool HttpServer::make_room() {
  if (connections_.size() < bounds_.connections) return true;
  for (const auto& [number, connection] : connections_) {
    if (connection->trusted()) continue;
    connection->close();
    return true;
  }
  return false;
}

void HttpServer::accept_all() {
  for (int n = 0; n < 64; ++n) {
    transport::UniqueFd fd(
        ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    if (!make_room()) continue;  // closed at once
    const std::uint64_t number = next_++;
    auto connection = std::make_shared<Connection>(*this, number, std::move(fd));
    if (connection->begin()) connections_.emplace(number, std::move(connection));
  }
}

}  // namespace holon::web
