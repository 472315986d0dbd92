#include "instance/array/array_service.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "msg/job_filter.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

// The numbers of the tasks with these indices. Errors: not_found.
Result<Idset> numbers_of(const ArrayShape& shape, const Idset& indices) {
  Idset numbers;
  if (indices.empty()) {
    numbers.insert(shape.id.value() + 1, shape.id.value() + shape.tasks);
    return numbers;
  }
  for (const auto& range : indices.ranges()) {
    // As many as it has are as many as can be right.
    if (range.last - range.first >= shape.tasks)
      return fail(Errc::not_found, shape.refusal(range.first, range.last), "indices");
    for (std::uint64_t index = range.first; index <= range.last; ++index) {
      const auto number = shape.number_of(index);
      if (!number) return fail(Errc::not_found, shape.refusal(index, index), "indices");
      numbers.insert(number->value());
    }
  }
  return numbers;
}

}  // namespace

void ArrayService::tasks(const transport::Request& request) const {
  const auto ask = transport::unpack<msg::TasksRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const auto indices = Idset::parse(ask->indices);
  if (!indices) return request.fail({Errc::invalid_argument, indices.error().what, "indices"});
  const auto shape = jobs_.shape_of_array(JobId(ask->array));
  if (!shape) return request.fail(shape.error());
  auto numbers = numbers_of(*shape, *indices);
  if (!numbers) return request.fail(numbers.error());
  if (!ask->results.empty()) {
    auto ended = jobs_.tasks_with_result(shape->id, ask->results);
    if (!ended) return request.fail(ended.error());
    Idset both;
    for (const std::uint64_t id : ended->ids())
      if (numbers->contains(id)) both.insert(id);
    numbers = std::move(both);
  }
  msg::TasksReply reply{numbers->str(), shape->indices_of(*numbers).str()};
  after_commit_.add([request, reply = std::move(reply)] { request.reply(transport::pack(reply)); });
}

}  // namespace holon::instance
