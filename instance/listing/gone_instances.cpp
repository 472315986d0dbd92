#include "instance/listing/gone_instances.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/instance_path.hpp"
#include "instance/basics/text.hpp"
#include "instance/listing/asked_ids.hpp"
#include "instance/listing/gone_counts.hpp"
#include "instance/users/rights.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {

void GoneInstances::answer(const transport::Request& request, const std::string& path) {
  const auto self = uses_.records.find(path);
  if (!self)
    return request.fail({Errc::not_found, fmt::format("there is no instance {}", path), {}});
  if (!self->is_instance)
    return request.fail({Errc::not_found, fmt::format("{} is a job, not an instance", path), {}});
  switch (answer_of_gone(request.topic())) {
    case Gone::job_list:
      return uses_.pages.list_gone(request, path);
    case Gone::info:
    case Gone::output:
      return answer_one(request, path);
    case Gone::events:
    case Gone::records:
      return answer_many(request, path);
    case Gone::counts:
      return count(request, *self);
    case Gone::refusal:
      request.fail(
          {Errc::not_found, fmt::format("instance {} has ended ({})", path, self->result), {}});
  }
}

void GoneInstances::count(const transport::Request& request, const msg::JobRecord& instance) {
  msg::TreeNode node;
  node.path = instance.path;
  node.name = instance.name;
  node.health = "ended";
  count_gone_jobs(request, std::move(node), uses_.journal, uses_.portions, uses_.after_commit);
}

// Errors: not_found, of one of them.
Result<std::vector<msg::JobRecord>> GoneInstances::records_of(const std::string& path,
                                                              const Ids& ids) const {
  std::vector<msg::JobRecord> records;
  for (const auto id : ids) {
    auto record = uses_.records.find(join(path, JobId(id)));
    if (!record) return fail(Errc::not_found, fmt::format("no job {}", join(path, JobId(id))));
    records.push_back(std::move(*record));
  }
  return records;
}

void GoneInstances::answer_one(const transport::Request& request, const std::string& path) {
  // Both kinds of requests have the job as `id`.
  const auto ask = transport::unpack<msg::JobInfoRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const auto found = records_of(path, {ask->id});
  if (!found) return request.fail(found.error());
  if (answer_of_gone(request.topic()) == Gone::info) return jobs_.info(request, found->front());
  const auto files = [this, request, job = found->front()] {
    uses_.outputs.attach_to_files(request, job);
  };
  std::error_code none;
  if (std::filesystem::exists(found->front().output, none)) return files();
  jobs_.output(request, found->front(), files);
}

void GoneInstances::answer_many(const transport::Request& request, const std::string& path) {
  // Both kinds of requests have the jobs as `ids`.
  const auto ask = transport::unpack<msg::WaitRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  if (auto fits = check_ids(ask->ids); !fits) return request.fail(fits.error());
  auto found = records_of(path, ask->ids);
  if (!found) return request.fail(found.error());
  if (answer_of_gone(request.topic()) == Gone::events)
    return jobs_.watch(request, std::move(*found));
  // A wait for what is over is over.
  uses_.after_commit.add([request, reply = msg::WaitReply{std::move(*found)}] {
    request.reply(transport::pack(reply));
  });
}

}  // namespace holon::instance
