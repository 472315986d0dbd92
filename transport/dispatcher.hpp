// dispatcher.hpp - a table from topic to handler.
#pragma once
#include <map>
#include <string>
#include <utility>

#include "transport/rpc.hpp"

namespace holon::transport {

// Calls the handler of a request's topic. Unknown topics get Errc::unsupported.
class Dispatcher {
 public:
  void add(std::string topic, RequestHandler handler) {
    handlers_[std::move(topic)] = std::move(handler);
  }
  void operator()(const Request& request) const {
    const auto found = handlers_.find(request.topic());
    if (found == handlers_.end())
      request.fail({Errc::unsupported, "unknown request \"" + request.topic() + "\"", ""});
    else
      found->second(request);
  }

 private:
  std::map<std::string, RequestHandler> handlers_;
};

}  // namespace holon::transport
