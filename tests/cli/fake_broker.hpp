// fake_broker.hpp - a broker made of answers: it listens on a real socket in a thread of its own,
// so that verbs are tested in-process without processes, and what they print is the same every
// time.
#pragma once

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "transport/codec/codec.hpp"
#include "transport/endpoint.hpp"
#include "transport/rpc.hpp"

namespace holon::cli {

class FakeBroker {
 public:
  // While it lives, HOLON_URI names it.
  FakeBroker() {
    dir_ = *transport::make_runtime_dir();
    uri_ = *transport::ipc_uri(dir_, "broker");
    setenv("HOLON_URI", uri_.c_str(), 1);
  }
  ~FakeBroker() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    unsetenv("HOLON_URI");
    std::filesystem::remove_all(dir_);
  }
  FakeBroker(const FakeBroker&) = delete;
  FakeBroker& operator=(const FakeBroker&) = delete;

  // `topic` is answered with `reply`, or fails with `error`. REQUIRES: before start().
  template <class Reply>
  void answer(const std::string& topic, const Reply& reply) {
    handlers_[topic] = [bytes = transport::pack(reply)](const transport::Request& request) {
      request.reply(bytes);
    };
  }
  void refuse(const std::string& topic, Error error) {
    handlers_[topic] = [error](const transport::Request& request) { request.fail(error); };
  }
  template <class Chunk>
  void stream(const std::string& topic, const std::vector<Chunk>& chunks) {
    std::vector<std::string> packed;
    for (const auto& chunk : chunks) packed.push_back(transport::pack(chunk));
    handlers_[topic] = [packed](const transport::Request& request) {
      for (const auto& bytes : packed) request.send(bytes);
      request.end();
    };
  }

  void handle(const std::string& topic, std::function<void(const transport::Request&)> handler) {
    handlers_[topic] = std::move(handler);
  }

  void start() {
    std::promise<void> listening;
    thread_ = std::thread([this, &listening] { serve(listening); });
    listening.get_future().wait();
  }

  // What was asked, in order: "TOPIC PATH".
  std::vector<std::string> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  // The payload of the last request of `topic`.
  template <class Ask>
  Ask last(const std::string& topic) const {
    const std::lock_guard lock(mutex_);
    return *transport::unpack<Ask>(payloads_.at(topic));
  }

 private:
  void serve(std::promise<void>& listening) {
    auto reactor = *transport::Reactor::create();
    auto server = *transport::Server::listen(*reactor, uri_);
    server->on_request([this](const transport::Request& request) { take(request); });
    listening.set_value();
    while (!stop_) reactor->turn(5);
  }

  void take(const transport::Request& request) {
    {
      const std::lock_guard lock(mutex_);
      asked_.push_back(request.topic() + " " + request.path());
      payloads_[request.topic()] = request.payload();
    }
    const auto found = handlers_.find(request.topic());
    if (found == handlers_.end())
      request.fail({Errc::unsupported, "unknown request", request.topic()});
    else
      found->second(request);
  }

  std::string dir_, uri_;
  std::map<std::string, std::function<void(const transport::Request&)>> handlers_;
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;
  std::map<std::string, std::string> payloads_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace holon::cli
