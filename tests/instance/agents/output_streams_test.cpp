// A job's output for clients that are slower than the job is.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "tests/instance/live.hpp"
#include "transport/blocking_client.hpp"

namespace holon::instance {
namespace {

using testing::Live;

// Reads nothing behind the first piece before `job_is_over`. How many bytes came to the stream's
// end; nullopt: it did not end.
std::optional<std::size_t> read_late(const Live& live, std::uint64_t id,
                                     const std::shared_future<void>& job_is_over) {
  auto client = transport::BlockingClient::connect(live.uri(), 60'000);
  if (!client) return std::nullopt;
  std::size_t bytes = 0;
  const auto ended = client->stream<msg::OutputChunk>("job.attach", msg::AttachRequest{id}, "",
                                                      [&](const msg::OutputChunk& chunk) {
                                                        job_is_over.wait();
                                                        bytes += chunk.data.size();
                                                        return true;
                                                      });
  return ended ? std::optional(bytes) : std::nullopt;
}

TEST(OutputStreams, WhoReadsOnlyWhenTheJobIsOverGetsAllOfIt) {
  constexpr int kJobs = 10;
  const Live live({"--resources", "node=1/core=10"});
  std::promise<void> over;
  const std::shared_future<void> job_is_over = over.get_future().share();
  std::vector<std::uint64_t> ids;
  std::vector<std::future<std::optional<std::size_t>>> readers;
  const auto size_of = [](int i) { return 4'400'000 + std::size_t{600'000} * i; };
  for (int i = 0; i < kJobs; ++i) {
    const std::string gate = "gate" + std::to_string(i);
    auto command = live.gated(gate);
    command.back() += "; head -c " + std::to_string(size_of(i) - 3) + " /dev/zero";
    ids.push_back(live.job(command));
    live.when_running(ids.back());
    readers.push_back(std::async(std::launch::async, read_late, std::cref(live), ids.back(),
                                 std::cref(job_is_over)));
  }
  for (int i = 0; i < kJobs; ++i) live.release("gate" + std::to_string(i));
  EXPECT_EQ(live.wait(ids).size(), ids.size());
  over.set_value();
  for (int i = 0; i < kJobs; ++i) EXPECT_EQ(readers[i].get(), size_of(i)) << i;
}

}  // namespace
}  // namespace holon::instance
