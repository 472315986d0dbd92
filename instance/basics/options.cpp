#include "instance/basics/options.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

namespace holon::transport {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(KeyPair, public_key, secret_key)

}  // namespace holon::transport

namespace holon::instance {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(StartOptions, command, background, resources,
                                                keeps_declared, conf, state_dir, agents, hosts,
                                                name, limit_ms, journal, grant, here, exit_on_loss,
                                                verbose, web, system, account, runtime_place, tree,
                                                level_conf)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(BrokerOptions, start, runtime_dir, binary,
                                                parent_uri, job_path, goes_on, most_memory, hosts)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(BrokerOptions::Secrets::Keys, server, join, agents)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(BrokerOptions::Secrets, agents, token, invitation,
                                                keys)

Result<std::string> write_options(const BrokerOptions& options) {
  try {
    return nlohmann::json(options).dump(2) + "\n";
  } catch (const nlohmann::json::exception&) {
    return fail(Errc::invalid_argument, "a name or a value among the options is not UTF-8");
  }
}

Result<BrokerOptions> parse_options(std::string_view json) {
  try {
    return nlohmann::json::parse(json).get<BrokerOptions>();
  } catch (const nlohmann::json::exception& e) {
    return fail(Errc::invalid_argument, e.what(), "instance.json");
  }
}

std::string state_dir_source(const BrokerOptions& options) {
  if (options.start.grant) return "the instance above";
  const auto name = [](const std::string& dir) { return std::filesystem::path(dir).filename(); };
  return name(options.start.state_dir) == name(options.runtime_dir) ? "default" : "--state-dir";
}

std::string write_secrets(const BrokerOptions::Secrets& secrets) {
  return nlohmann::json(secrets).dump();
}

Result<BrokerOptions::Secrets> parse_secrets(std::string_view json) {
  try {
    return nlohmann::json::parse(json).get<BrokerOptions::Secrets>();
  } catch (const nlohmann::json::exception&) {  // its text may hold a part of a secret
    return fail(Errc::invalid_argument, "these are no secrets of a broker");
  }
}

}  // namespace holon::instance
