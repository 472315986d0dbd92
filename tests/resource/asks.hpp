// asks.hpp - requests of a jobspec as tests write them: asks("slot", 2, {asks("core", 1)}).
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "resource/jobspec/jobspec.hpp"

namespace holon::resource {

inline Request asks(std::string type, Count count, std::vector<Request> with = {}) {
  Request request;
  request.type = std::move(type);
  request.count = std::move(count);
  request.with = std::move(with);
  if (request.type == "slot") request.label = "task";
  return request;
}

inline Request asks(std::string type, std::int64_t count, std::vector<Request> with = {}) {
  Count exactly;
  exactly.min = exactly.max = count;
  return asks(std::move(type), std::move(exactly), std::move(with));
}

}  // namespace holon::resource
