#include "instance/assembly/rendezvous.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>

#include "base/whole_file.hpp"
#include "batch/step.hpp"
#include "instance/assembly/endpoint.hpp"
#include "instance/basics/clock.hpp"
#include "pmi/client.hpp"
#include "pmi/pmix_client.hpp"
#include "transport/munge/handover.hpp"

namespace holon::instance {
namespace {

constexpr const char* kKey = "holon-invitation";
constexpr const char* kHandover = "invitation of Slurm step ";  // what MUNGE is asked for
constexpr Duration kNextLook = 100;                             // ms between two looks for the file
// Looks before the first question by MUNGE: on a shared home the file is there by then.
constexpr std::size_t kFirstAsk = 2;
constexpr std::size_t kRound = 10;  // looks; each port is asked once, at the first looks of a round
constexpr Duration kAskPatience = 1'000;  // ms for a connection, and again for the answer

Time monotonic_ms() {
  return monotonic_us() / 1'000;
}

std::string host_key(std::uint64_t rank) {
  return fmt::format("holon-host-{}", rank);
}

// Survives whatever a launcher does to other characters.
std::string hex_of(const std::string& text) {
  std::string digits;
  for (const char c : text) digits += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return digits;
}
std::string text_of(const std::string& hex) {
  std::string text;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    text += static_cast<char>(byte);
  }
  return text;
}

// All tasks, and the means by which they exchange values through their launcher.
struct Tasks {
  std::uint64_t rank = 0, size = 1;
  std::function<Status(const std::string& key, const std::string& value)> put;
  std::function<Status()> fence;
  // The value that the task `of` has put before the last fence.
  std::function<Result<std::string>(std::uint64_t of, const std::string& key)> get;
  std::function<Status()> finalize;
};

Tasks tasks_of(pmi::Client& client) {
  return {client.rank(),
          client.size(),
          [&](const std::string& key, const std::string& value) { return client.put(key, value); },
          [&] { return client.fence(); },
          [&](std::uint64_t, const std::string& key) { return client.get(key); },
          [&] { return client.finalize(); }};
}
Tasks tasks_of(pmi::PmixClient& client) {
  return {client.rank(),
          client.size(),
          [&](const std::string& key, const std::string& value) { return client.put(key, value); },
          [&] { return client.fence(); },
          [&](std::uint64_t of, const std::string& key) { return client.get(of, key); },
          [&] { return client.finalize(); }};
}

// The nodes of the tasks, in the order of their first tasks; `mine`: the node of this task.
struct Seats {
  std::vector<std::string> hosts;
  std::size_t mine = 0;
  bool is_first_there = true;
};
Result<Seats> seats_of(const Tasks& tasks) {
  Seats seats;
  for (std::uint64_t rank = 0; rank < tasks.size; ++rank) {
    const auto host = tasks.get(rank, host_key(rank));
    if (!host) return tl::unexpected(host.error());
    const auto known = std::find(seats.hosts.begin(), seats.hosts.end(), *host);
    if (rank == tasks.rank) {
      seats.mine = static_cast<std::size_t>(known - seats.hosts.begin());
      seats.is_first_there = known == seats.hosts.end();
    }
    if (known == seats.hosts.end()) seats.hosts.push_back(*host);
  }
  return seats;
}

Result<Rendezvous> as_first(std::vector<std::string> hosts, const config::Config& config) {
  Rendezvous rendezvous;
  rendezvous.is_first = true;
  rendezvous.rank = 0;
  if (hosts.size() < 2) return rendezvous;
  auto endpoint = make_endpoint(hosts.size(), config.address);
  if (!endpoint) return tl::unexpected(endpoint.error());
  rendezvous.nodes.hosts = std::move(hosts);
  rendezvous.nodes.endpoint = std::make_shared<const Endpoint>(std::move(*endpoint));
  return rendezvous;
}

Result<Rendezvous> meet_over(const Tasks& tasks, const std::string& host,
                             const config::Config& config) {
  if (auto put = tasks.put(host_key(tasks.rank), host); !put) return tl::unexpected(put.error());
  if (auto all = tasks.fence(); !all) return tl::unexpected(all.error());
  auto seats = seats_of(tasks);
  if (!seats) return tl::unexpected(seats.error());
  const bool is_one_node = seats->hosts.size() < 2;
  Rendezvous rendezvous;
  rendezvous.rank = static_cast<std::int64_t>(seats->mine);
  if (tasks.rank == 0) {
    auto first = as_first(std::move(seats->hosts), config);
    if (!first) return first;
    rendezvous = std::move(*first);
    const auto text =
        is_one_node ? "" : launch::write_invitation(rendezvous.nodes.endpoint->invitation);
    if (auto put = tasks.put(kKey, "x" + hex_of(text)); !put) return tl::unexpected(put.error());
  }
  if (auto all = tasks.fence(); !all) return tl::unexpected(all.error());
  if (tasks.rank > 0 && seats->is_first_there) {
    const auto hex = tasks.get(0, kKey);
    if (!hex) return tl::unexpected(hex.error());
    auto invitation = launch::parse_invitation(text_of(hex->substr(1)));
    if (!invitation) return tl::unexpected(invitation.error());
    rendezvous.invitation = std::move(*invitation);
  }
  if (auto left = tasks.finalize(); !left) return tl::unexpected(left.error());
  return rendezvous;
}

Result<Rendezvous> meet_by_pmi(const batch::Environment& environment, const std::string& host,
                               const config::Config& config) {
  const auto fd = batch::whole_number(environment.at("PMI_FD"));
  const auto rank = batch::whole_number(environment.at("PMI_RANK"));
  const auto size = batch::whole_number(environment.at("PMI_SIZE"));
  if (!fd || !rank || !size)
    return fail(Errc::invalid_argument, "PMI_FD, PMI_RANK and PMI_SIZE are numbers", "PMI_FD");
  auto client =
      pmi::Client::hello({static_cast<int>(*fd), *rank, *size, environment.at("PMI_JOBID")},
                         pmi::Version::one, config.gather_timeout);
  return client ? meet_over(tasks_of(*client), host, config) : tl::unexpected(client.error());
}

Result<Rendezvous> meet_by_pmix(const std::string& host, const config::Config& config) {
  auto client = pmi::PmixClient::hello(config.gather_timeout);
  return client ? meet_over(tasks_of(*client), host, config) : tl::unexpected(client.error());
}

// True under Open MPI's mpirun, `srun --mpi=pmix` and others.
bool has_pmix(const batch::Environment& environment) {
  return environment.has("PMIX_NAMESPACE") && environment.has("PMIX_RANK");
}

// A requeued job has the same number: what its first run left is not for the second.
std::string run_of(const batch::Environment& environment) {
  const std::string& again = environment.at("SLURM_RESTART_COUNT");
  return again.empty() || again == "0" ? "" : "." + again;
}

// A step of Slurm without PMI, and where its tasks look for the invitation.
struct SlurmStep {
  std::string name;  // no other step has it
  std::string file;  // "": there is no home to keep it in
  std::vector<std::string> hosts;
};
Result<SlurmStep> slurm_step(const batch::Environment& environment) {
  auto hosts = batch::expand_hosts(environment.at("SLURM_STEP_NODELIST"));
  if (!hosts) return tl::unexpected(hosts.error());
  SlurmStep step;
  step.name = fmt::format("{}.{}{}", environment.at("SLURM_JOB_ID"),
                          environment.at("SLURM_STEP_ID"), run_of(environment));
  if (environment.has("HOME"))
    step.file = environment.at("HOME") + "/.holon-invitation-" + step.name;
  step.hosts = std::move(*hosts);
  return step;
}

Result<Rendezvous> as_first_of_step(SlurmStep step, const std::string& host,
                                    const config::Config& config) {
  std::stable_partition(step.hosts.begin(), step.hosts.end(),
                        [&](const auto& one) { return batch::is_same_host(one, host); });
  auto rendezvous = as_first(std::move(step.hosts), config);
  if (!rendezvous || !rendezvous->nodes.endpoint) return rendezvous;
  rendezvous->nodes.invitation_file = step.file;
  rendezvous->nodes.handover = kHandover + step.name;
  rendezvous->nodes.munge_socket = config.access.munge_socket;
  return rendezvous;
}

// Asks the first task by MUNGE, one port at a time.
class MungeQuestion {
 public:
  MungeQuestion(const SlurmStep& step, const std::string& socket)
      : host_(step.hosts.empty() ? "" : step.hosts.front()),
        name_(kHandover + step.name),
        ports_(transport::handover_ports(name_)),
        munge_(transport::Munge::load(socket)),
        why_(munge_ ? Error{Errc::disconnected, "nobody was asked yet", host_} : munge_.error()) {}

  // Asks at the `look`th look for the file, from 0. A daemon that does not answer now, or another
  // program at a port, is no reason to stop asking.
  std::optional<launch::Invitation> ask(std::size_t look, Duration patience) {
    const std::size_t turn = (look + kRound - kFirstAsk) % kRound;
    if (!munge_ || look < kFirstAsk || turn >= ports_.size()) return std::nullopt;
    const auto given = transport::ask_for_handover(*munge_, host_, ports_[turn], name_, patience);
    auto invitation =
        given ? launch::parse_invitation(*given) : tl::unexpected<Error>(given.error());
    if (invitation) return std::move(*invitation);
    const bool says_more = invitation.error().code != Errc::disconnected;
    if (says_more || why_.code == Errc::disconnected) why_ = invitation.error();
    return std::nullopt;
  }
  std::string why() const { return to_string(why_); }

 private:
  std::string host_, name_;
  std::vector<std::uint16_t> ports_;
  Result<transport::Munge> munge_;
  Error why_;  // of the last answer; that nobody listens only if no port answered
};

Result<launch::Invitation> wait_for_invitation(const SlurmStep& step,
                                               const config::Config& config) {
  MungeQuestion by_munge(step, config.access.munge_socket);
  const Time until = saturating_add(monotonic_ms(), config.gather_timeout);
  for (std::size_t look = 0;; ++look) {
    if (!step.file.empty())
      if (auto invitation = launch::take_invitation(step.file)) return std::move(*invitation);
    const Duration left = distance(monotonic_ms(), until);
    if (left == 0) break;
    if (auto invitation = by_munge.ask(look, std::min(left, kAskPatience)))
      return std::move(*invitation);
    poll(nullptr, 0, static_cast<int>(std::min(left, kNextLook)));
  }
  return fail(Errc::timed_out,
              fmt::format("the first task has left no invitation here, and MUNGE brings none ({}), "
                          "so that the tasks cannot find each other: `srun --mpi=pmi2` lets them, "
                          "or a home that the nodes share, or MUNGE on all of them",
                          by_munge.why()),
              step.file.empty() ? "HOME" : step.file);
}

Result<Rendezvous> meet_in_step(const batch::Environment& environment, const std::string& host,
                                const config::Config& config) {
  auto step = slurm_step(environment);
  if (!step) return tl::unexpected(step.error());
  if (environment.at("SLURM_PROCID") == "0")
    return as_first_of_step(std::move(*step), host, config);
  Rendezvous rendezvous;
  if (environment.at("SLURM_LOCALID") != "0") return rendezvous;
  auto invitation = wait_for_invitation(*step, config);
  if (!invitation) return tl::unexpected(invitation.error());
  rendezvous.invitation = std::move(*invitation);
  return rendezvous;
}

// The command as it was typed, but for the program's name, which would be searched in another PATH.
Result<std::vector<std::string>> own_command() {
  std::error_code error;
  const auto binary = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return fail(Errc::system, error.message(), "/proc/self/exe");
  const auto typed = read_whole_file("/proc/self/cmdline");
  if (!typed) return tl::unexpected(typed.error());
  std::vector<std::string> words = {binary.string()};
  for (auto at = typed->find('\0'); at + 1 < typed->size(); at = typed->find('\0', at + 1))
    words.emplace_back(typed->c_str() + at + 1);
  return words;
}

}  // namespace

bool can_meet(const batch::Environment& environment, const Surroundings& around) {
  const std::string& launcher = around.allocation.place.launcher;
  // A job's tasks have a place in its instance already; `holon batch` makes one below it.
  if (around.allocation.system == batch::System::holon) return false;
  const bool is_step = launcher == "srun" && environment.has("SLURM_STEP_NODELIST");
  return environment.has("PMI_FD") || has_pmix(environment) || is_step;
}

std::string way_to_meet(const batch::Environment& environment, const config::Config& config) {
  if (environment.has("PMI_FD")) return "by PMI";
  if (has_pmix(environment)) return "by PMIx";
  const auto munge = transport::Munge::load(config.access.munge_socket);
  const auto works = munge ? munge->seal("") : tl::unexpected(munge.error());
  if (works) return "by a file in the home where the nodes share it, else by MUNGE";
  return fmt::format(
      "by a file in the home, which the nodes have to share, for there is no MUNGE "
      "here ({})",
      to_string(works.error()));
}

Result<std::optional<Rendezvous>> meet(const batch::Environment& environment,
                                       const Surroundings& around, const config::Config& config) {
  if (!can_meet(environment, around)) return std::nullopt;
  const auto& name = around.allocation.node;
  const std::string host = name.empty() ? environment.host_name : name;
  auto met = environment.has("PMI_FD") ? meet_by_pmi(environment, host, config)
             : has_pmix(environment)   ? meet_by_pmix(host, config)
                                       : meet_in_step(environment, host, config);
  if (!met) return tl::unexpected(met.error());
  return std::optional(std::move(*met));
}

bool is_login_host(const StartOptions& options, const Surroundings& around) {
  const batch::Allocation& allocation = around.allocation;
  const bool is_elsewhere = !allocation.nodes.empty() && !allocation.node_index;
  return allocation.system == batch::System::slurm && is_elsewhere && !options.here &&
         options.hosts.empty();
}

Error start_on_nodes(const batch::Allocation& allocation, bool terminal) {
  const auto command = own_command();
  if (!command) return command.error();
  auto step = batch::step_of_tasks(allocation, *command, terminal);
  if (!step) return step.error();
  for (const auto& name : step->unset) unsetenv(name.c_str());
  std::vector<char*> words;
  for (auto& word : step->commands.front()) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words.front(), words.data());
  return {errno == ENOENT ? Errc::not_found : Errc::system,
          fmt::format("{}; this host is none of the {} nodes of the job, and the instance is made "
                      "there; --here makes one of this host",
                      std::strerror(errno), allocation.nodes.size()),
          words.front()};
}

}  // namespace holon::instance
