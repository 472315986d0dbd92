#include "instance/service/array_service.hpp"

#include <memory>

#include "msg/job_filter.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

constexpr std::uint64_t kTasksAtOnce = 2'000;  // tasks whose ends are read in a portion

}  // namespace

void ArrayService::tasks(const transport::Request& request) const {
  const auto ask = transport::unpack<msg::TasksRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const auto indices = Idset::parse(ask->indices);
  if (!indices) return request.fail({Errc::invalid_argument, indices.error().what, "indices"});
  const auto shape = jobs_.shape_of_array(JobId(ask->array));
  if (!shape) return request.fail(shape.error());
  const auto numbers = shape->numbers_of(*indices);
  if (!numbers) return request.fail({numbers.error().code, numbers.error().what, "indices"});
  if (ask->results.empty()) return answer(request, *shape, *numbers);
  // The journal has how each task ended, a row for each that began.
  struct Search {
    std::uint64_t done = 0;
    Idset found;
  };
  const auto step = [this, request, shape = *shape, numbers = *numbers, results = ask->results,
                     search = std::make_shared<Search>()] {
    auto some =
        jobs_.tasks_with_result(JobId(shape.id.value() + 1 + search->done), kTasksAtOnce, results);
    if (!some) return request.fail(some.error()), false;
    for (const auto& range : some->ranges()) search->found.insert(range.first, range.last);
    search->done += kTasksAtOnce;
    if (search->done < shape.tasks) return true;
    answer(request, shape, common(search->found, numbers));
    return false;
  };
  if (step()) sliced_work_.add(request, step);
}

void ArrayService::answer(const transport::Request& request, const ArrayShape& shape,
                          const Idset& numbers) const {
  msg::TasksReply reply{numbers.str(), shape.indices_of(numbers).str()};
  after_commit_.add([request, reply = std::move(reply)] { request.reply(transport::pack(reply)); });
}

}  // namespace holon::instance
