#include "instance/array/array_service.hpp"

#include "msg/job_filter.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
void ArrayService::tasks(const transport::Request& request) const {
  const auto ask = transport::unpack<msg::TasksRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const auto indices = Idset::parse(ask->indices);
  if (!indices) return request.fail({Errc::invalid_argument, indices.error().what, "indices"});
  const auto shape = jobs_.shape_of_array(JobId(ask->array));
  if (!shape) return request.fail(shape.error());
  auto numbers = shape->numbers_of(*indices);
  if (!numbers) return request.fail({numbers.error().code, numbers.error().what, "indices"});
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
