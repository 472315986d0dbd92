#include "launch/remote/handed.hpp"

#include "transport/codec/codec.hpp"

namespace holon::launch {
namespace {

struct Handed {
  std::string broker_uri, secret, hostname, cpuset, log_level, runtime_dir, batch_system, batch_job;
  std::string server_key, public_key, secret_key;
  std::uint32_t rank = 0;
  std::int64_t orphan_timeout = 0, lasts = 0;
  std::uint64_t most_memory = 0;
  bool at_hand = false;
  HOLON_FIELDS(broker_uri, secret, hostname, cpuset, log_level, runtime_dir, batch_system,
               batch_job, server_key, public_key, secret_key, rank, orphan_timeout, lasts,
               most_memory, at_hand)
};

}  // namespace

std::string write_handed(const AgentOptions& options) {
  Handed handed;
  handed.broker_uri = options.broker_uri;
  handed.secret = options.secret;
  handed.hostname = options.hostname;
  handed.cpuset = options.cpuset;
  handed.log_level = options.log_level;
  handed.runtime_dir = options.runtime_dir;
  handed.server_key = options.security.server_public_key;
  handed.public_key = options.security.public_key;
  handed.secret_key = options.security.secret_key;
  handed.rank = options.rank;
  handed.orphan_timeout = options.orphan_timeout;
  handed.most_memory = options.most_memory;
  handed.lasts = options.lasts;
  handed.batch_system = options.batch_system;
  handed.batch_job = options.batch_job;
  handed.at_hand = options.at_hand;
  return transport::pack(handed);
}

Result<AgentOptions> parse_handed(std::string_view bytes) {
  auto handed = transport::unpack<Handed>(bytes);
  if (!handed) return tl::unexpected<Error>(handed.error());
  AgentOptions options;
  options.broker_uri = std::move(handed->broker_uri);
  options.secret = std::move(handed->secret);
  options.hostname = std::move(handed->hostname);
  options.cpuset = std::move(handed->cpuset);
  options.log_level = std::move(handed->log_level);
  options.runtime_dir = std::move(handed->runtime_dir);
  options.security = {std::move(handed->server_key), std::move(handed->public_key),
                      std::move(handed->secret_key)};
  options.rank = handed->rank;
  options.orphan_timeout = handed->orphan_timeout;
  options.most_memory = handed->most_memory;
  options.lasts = handed->lasts;
  options.batch_system = std::move(handed->batch_system);
  options.batch_job = std::move(handed->batch_job);
  options.at_hand = handed->at_hand;
  return options;
}

}  // namespace holon::launch
