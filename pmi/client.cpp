#include "pmi/client.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <ctime>

namespace holon::pmi {
namespace {

// The clock of the patience for one call, which is shown to nobody.
Time monotonic_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

std::size_t number_or(std::string_view text, std::size_t otherwise) {
  const long value = std::strtol(std::string(text).c_str(), nullptr, 10);
  return value > 0 ? static_cast<std::size_t>(value) : otherwise;
}

bool is_refusal(const Message& answer) {
  return answer.has("rc") && answer.at("rc") != "0";
}

tl::unexpected<Error> refused(const Message& question, const Message& answer) {
  const std::string_view why = answer.has("msg") ? answer.at("msg") : answer.at("errmsg");
  return fail(Errc::protocol, fmt::format("the PMI server refused '{}': {}", question.command,
                                          why.empty() ? "it does not say why" : why));
}

}  // namespace

Result<Client> Client::hello(Task task, Version version, Duration patience) {
  Client client(std::move(task), version, patience);
  if (auto begun = client.begin(); !begun) return tl::unexpected(begun.error());
  return client;
}

// The first exchange is a line in both versions.
Status Client::begin() {
  const std::string wanted = version_ == Version::one ? "1" : "2";
  const std::string sub = version_ == Version::one ? "1" : "0";
  const auto answer = ask_as(false, {"init", {{"pmi_version", wanted}, {"pmi_subversion", sub}}},
                             "response_to_init");
  if (!answer) return tl::unexpected(answer.error());
  if (is_refusal(*answer) || answer->at("pmi_version") != wanted)
    return fail(Errc::unsupported, fmt::format("the PMI server does not speak PMI-{}", wanted));
  return version_ == Version::one ? begin_one() : begin_two();
}

Status Client::begin_one() {
  const auto most = ask({"get_maxes", {}}, "maxes");
  if (!most) return tl::unexpected(most.error());
  max_key_ = number_or(most->at("keylen_max"), kMaxKey);
  max_value_ = number_or(most->at("vallen_max"), kMaxValue);
  const auto space = ask({"get_my_kvsname", {}}, "my_kvsname");
  if (!space) return tl::unexpected(space.error());
  name_ = space->at("kvsname");
  return {};
}

Status Client::begin_two() {
  const auto answer = ask(
      {"fullinit",
       {{"pmijobid", task_.job}, {"pmirank", std::to_string(task_.rank)}, {"threaded", "FALSE"}}},
      "fullinit-response");
  if (!answer) return tl::unexpected(answer.error());
  name_ = task_.job;
  return {};
}

Status Client::put(const std::string& key, const std::string& value) {
  for (const auto& [word, most] : {std::pair{&key, max_key_}, {&value, max_value_}}) {
    if (!is_word(*word))
      return fail(Errc::invalid_argument, "blanks and ';' cannot be sent by PMI", key);
    if (word->size() >= most)
      return fail(Errc::out_of_range,
                  fmt::format("{} characters; the PMI server takes {}", word->size(), most - 1),
                  key);
  }
  const auto answer =
      version_ == Version::one
          ? ask({"put", {{"kvsname", name_}, {"key", key}, {"value", value}}}, "put_result")
          : ask({"kvs-put", {{"key", key}, {"value", value}}}, "kvs-put-response");
  return answer ? Status() : tl::unexpected(answer.error());
}

Status Client::fence() {
  const auto answer = version_ == Version::one ? ask({"barrier_in", {}}, "barrier_out")
                                               : ask({"kvs-fence", {}}, "kvs-fence-response");
  return answer ? Status() : tl::unexpected(answer.error());
}

Result<std::string> Client::get(const std::string& key) {
  if (!is_word(key)) return fail(Errc::invalid_argument, "this is no key of PMI", key);
  const bool one = version_ == Version::one;
  const Message question =
      one ? Message{"get", {{"kvsname", name_}, {"key", key}}}
          : Message{"kvs-get", {{"jobid", name_}, {"srcid", "-1"}, {"key", key}}};
  const auto answer = ask_as(!one, question, one ? "get_result" : "kvs-get-response");
  if (!answer) return tl::unexpected(answer.error());
  // "flag" is MPICH's word, "found" that of others.
  const bool found = !is_refusal(*answer) && answer->at("flag") != "FALSE" &&
                     answer->at("found") != "FALSE" && answer->has("value");
  if (!found) return fail(Errc::not_found, "no task has put this key before the last fence", key);
  return std::string(answer->at("value"));
}

Status Client::finalize() {
  const auto answer = version_ == Version::one ? ask({"finalize", {}}, "finalize_ack")
                                               : ask({"finalize", {}}, "finalize-response");
  return answer ? Status() : tl::unexpected(answer.error());
}

Result<Message> Client::ask(const Message& question, const std::string& answer) {
  auto message = ask_as(version_ == Version::two, question, answer);
  if (message && is_refusal(*message)) return refused(question, *message);
  return message;
}

Result<Message> Client::ask_as(bool framed, const Message& question, const std::string& answer) {
  const Time deadline = saturating_add(monotonic_ms(), patience_);
  const auto sent = send(framed ? write_frame(question) : write_line(question), deadline);
  if (!sent) return tl::unexpected(sent.error());
  auto message = receive(framed, deadline);
  if (message && message->command != answer)
    return fail(Errc::protocol, fmt::format("the PMI server answered '{}' to '{}'",
                                            message->command, question.command));
  if (!message && message.error().code == Errc::timed_out)
    message.error().what =
        fmt::format("the PMI server did not answer '{}' within {} ms", question.command, patience_);
  return message;
}

Status Client::wait_for(short events, Time deadline) const {
  for (;;) {
    const Duration left = deadline - monotonic_ms();
    if (left < 0) return fail(Errc::timed_out, "the PMI server takes too long");
    pollfd one{task_.fd, events, 0};
    const int ready = poll(&one, 1, static_cast<int>(std::min<Duration>(left + 1, INT_MAX)));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return system_error("PMI");
  }
}

// Sends; a server that is gone is an error of this call and no SIGPIPE. PMI_FD is a socket
// everywhere but in a test that hands in a pipe.
Status Client::send(const std::string& bytes, Time deadline) {
  for (std::size_t at = 0; at < bytes.size();) {
    const auto n =
        ::send(task_.fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      at += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (auto ready = wait_for(POLLOUT, deadline); !ready) return ready;
    } else if (errno != EINTR) {
      const bool gone = errno == EPIPE || errno == ECONNRESET;
      auto error = system_error("PMI").value();
      if (gone) error.code = Errc::disconnected;
      return tl::unexpected(error);
    }
  }
  return {};
}

Result<Message> Client::receive(bool framed, Time deadline) {
  for (;;) {
    auto message = framed ? take_frame(buffer_) : take_line(buffer_);
    if (!message) return tl::unexpected(message.error());
    if (*message) return std::move(**message);
    if (auto ready = wait_for(POLLIN, deadline); !ready) return tl::unexpected(ready.error());
    char bytes[4096];
    const auto n = read(task_.fd, bytes, sizeof bytes);
    if (n > 0) buffer_.append(bytes, static_cast<std::size_t>(n));
    if (n == 0 || (n < 0 && errno == ECONNRESET))
      return fail(Errc::disconnected, "the PMI server closed the connection");
    if (n < 0 && errno != EINTR && errno != EAGAIN) return system_error("PMI");
  }
}

}  // namespace holon::pmi
