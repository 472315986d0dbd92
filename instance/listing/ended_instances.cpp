#include "instance/listing/ended_instances.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/instance_path.hpp"
#include "instance/basics/text.hpp"
#include "instance/job/no_array.hpp"
#include "instance/listing/asked_ids.hpp"
#include "instance/listing/ended_instance_counts.hpp"
#include "instance/users/rights.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {

void EndedInstances::answer(const transport::Request& request, const std::string& path) {
  const auto self = uses_.records.find(path);
  if (!self)
    return request.fail({Errc::not_found, fmt::format("there is no instance {}", path), {}});
  if (!self->is_instance)
    return request.fail({Errc::not_found, fmt::format("{} is a job, not an instance", path), {}});
  if (self->tasks > 0) return request.fail(about_array_of_instances(path, self->id));
  switch (answer_when_ended(request.topic())) {
    case WhenEnded::job_list:
      return uses_.pages.list_gone(request, path);
    case WhenEnded::info:
    case WhenEnded::output:
      return answer_one(request, path);
    case WhenEnded::events:
    case WhenEnded::records:
      return answer_many(request, path);
    case WhenEnded::counts:
      return count(request, *self);
    case WhenEnded::refusal:
      request.fail(
          {Errc::not_found, fmt::format("instance {} has ended ({})", path, self->result), {}});
  }
}

void EndedInstances::count(const transport::Request& request, const msg::JobRecord& instance) {
  msg::TreeNode node;
  node.path = instance.path;
  node.name = instance.name;
  node.health = "ended";
  count_ended_instance_jobs(request, std::move(node), uses_.journal, uses_.portions,
                            uses_.after_commit);
}

// Errors: not_found (one of the ids).
Result<std::vector<msg::JobRecord>> EndedInstances::records_of(const std::string& path,
                                                               const Ids& ids) const {
  std::vector<msg::JobRecord> records;
  for (const auto id : ids) {
    auto record = uses_.records.find(join(path, JobId(id)));
    if (!record) return fail(Errc::not_found, fmt::format("no job {}", join(path, JobId(id))));
    records.push_back(std::move(*record));
  }
  return records;
}

void EndedInstances::answer_one(const transport::Request& request, const std::string& path) {
  // Both kinds of requests have the job as `id`.
  const auto ask = transport::unpack<msg::JobInfoRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const auto found = records_of(path, {ask->id});
  if (!found) return request.fail(found.error());
  if (answer_when_ended(request.topic()) == WhenEnded::info)
    return jobs_.info(request, found->front());
  const auto files = [this, request, job = found->front()] {
    uses_.outputs.attach_to_files(request, job);
  };
  std::error_code none;
  if (std::filesystem::exists(found->front().output, none)) return files();
  jobs_.output(request, found->front(), files);
}

void EndedInstances::answer_many(const transport::Request& request, const std::string& path) {
  // Both kinds of requests have the jobs as `ids`.
  const auto ask = transport::unpack<msg::WaitRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  if (auto fits = check_ids(ask->ids); !fits) return request.fail(fits.error());
  auto found = records_of(path, ask->ids);
  if (!found) return request.fail(found.error());
  if (answer_when_ended(request.topic()) == WhenEnded::events)
    return jobs_.watch(request, std::move(*found));
  // A wait for jobs that are over ends at once.
  uses_.after_commit.add([request, reply = msg::WaitReply{std::move(*found)}] {
    request.reply(transport::pack(reply));
  });
}

}  // namespace holon::instance
