// config.hpp - the settings of one instance, layered: defaults, then each --conf FILE (TOML) or
// --conf KEY=VALUE in the order given, later wins. What is said of one queue (queues.NAME.KEY) wins
// over what is said of all (queue.KEY), wherever both stand. docs/config.md describes every key.
//
// A key that is not known, or a value that does not fit, is an error that names its place, what was
// found and what is accepted; nothing is ignored silently.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "config/access.hpp"
#include "config/sync.hpp"
#include "qmanager/scheduler.hpp"

namespace holon::config {

// The way to keep a job's processes together (launch/tracking/tracking.hpp).
enum class TrackingKind { automatic, cgroup, process };

// The scheduler's defaults for an instance, whose ticks are ms.
inline qmanager::SchedulerConfig scheduler_defaults() {
  qmanager::SchedulerConfig scheduler;
  scheduler.defaults.preempt.grace = 30'000;
  return scheduler;
}

// Durations in ms.
struct Config {
  qmanager::SchedulerConfig scheduler = scheduler_defaults();
  std::map<std::string, std::string> policies;  // texts of policies in Lua, by name
  std::string match_policy = "first";
  std::string prune_filters = "ALL:core,ALL:node,ALL:gpu";
  Duration grace = 5'000;               // from SIGTERM to SIGKILL
  Duration max_overrun = 0;             // past its limit until a job is ended
  Duration default_limit = 0;           // of a job that asks for none; 0: until the instance ends
  std::uint64_t max_count = 1'000'000;  // jobs in one submit request
  TrackingKind tracking = TrackingKind::automatic;  // a cgroup where one can be made
  Duration heartbeat = 1'000;         // between a child and its parent, a broker and its agents
  Duration peer_timeout = 20'000;     // silence after which the other side counts as lost
  Duration gather_timeout = 60'000;   // until an instance begins without some of its agents
  bool joinable = false;              // one node, too, listens for others that people let in
  std::uint32_t quorum = 0;           // nodes with which it begins already; 0: with all
  Duration rejoin_timeout = 120'000;  // until what runs on a node that is lost has failed
  std::string address;      // IPv4, at which agents on other nodes reach the broker; "": all
  std::string ssh = "ssh";  // the program that starts agents on named hosts
  Duration orphan_timeout =
      3'600'000;  // how long agents keep jobs without a broker, a child its jobs without a parent
  Duration tree_timeout = 2'000;       // how long `tree` and `jobs -R` wait for a child
  Duration record_interval = 200;      // changed job records go to the parent at most this often
  Duration shutdown_timeout = 30'000;  // an orderly end that takes longer becomes a hard one
  Duration watchdog =
      60'000;            // a broker whose loop makes no turn for so long is started again; 0: never
  bool monitor = false;  // passes are written to the file "schedule"
  std::string batch_system = "auto";    // or a name of batch::System
  bool follow_walltime = true;          // the lease of a root ends with the batch system's
  Duration walltime_interval = 20'000;  // between two questions for it
  Duration walltime_margin = 30'000;    // so long before the walltime the instance ends
  std::string mpi = "auto";             // offered to jobs that ask for none (--mpi)
  std::string prolog, epilog;      // lines for the shell around the tasks of each job; "": none
  Duration hook_timeout = 60'000;  // of each of them; 0: none
  std::uint64_t output_limit = 0;  // bytes kept of what a job writes on a node; 0: all
  bool keep_memory = true;         // a job that uses more memory than it asked for is ended
  bool heeds_cgroups = true;       // cpu.max and memory.max bound what is offered
  AccessConfig access;
  PerUserConfig per_user;
  std::int64_t grant_max = 0;    // cores, up to which the one above is asked for more; 0: never
  Duration grant_idle = 30'000;  // ms, after which extra cores without a job go back
  Duration grant_hold = 60'000;  // ms that children keep what they have got by themselves
  Duration grant_fence =
      0;  // ms without a word of a child until what is overdue is taken; 0: never
  Duration idle_timeout = 0;  // an instance without an initial program ends; 0: never
  Sync sync = Sync::normal;
  std::uint64_t keep = 1'000'000;  // INACTIVE jobs that are kept, with all they left; 0: all
  Duration keep_age =
      0;  // INACTIVE jobs are kept for so long, as far as `keep` has them; 0: longer
  std::uint64_t keep_audit = 10'000;  // requests of which it is kept who asked; 0: none

  // The policy of the queue for jobs that name none.
  const std::string& default_policy() const;
};

// One setting, for listings and for the test that keeps docs/config.md complete.
struct ConfigKey {
  std::string name;                // "queue.policy"; "queues.NAME.policy" stands for any name
  std::string_view accepts;        // "fcfs, easy, hybrid or conservative"
  std::string_view standard = {};  // the default, in words; "": nothing to say
};
const std::vector<ConfigKey>& config_keys();

// Is this item of --conf the name of a file? An item with a '=' before any '/' is KEY=VALUE.
bool is_conf_file(const std::string& item);

// One --conf, with the text of the file that it names: a pipe can be read only once.
struct ConfItem {
  std::string word;
  std::string text;  // "" for KEY=VALUE
};
// Errors: invalid_argument (a file that is not there, or cannot be read; where: "--conf FILE").
Result<std::vector<ConfItem>> read_conf(const std::vector<std::string>& words);

// Applies `items` in order to `defaults`. Errors: invalid_argument (where: "FILE:LINE" or
// "--conf KEY").
Result<Config> config_of(const std::vector<ConfItem>& items, const Config& defaults = {});
// Reads and applies words that are KEY=VALUE or the name of a TOML file each.
Result<Config> load_config(const std::vector<std::string>& words, const Config& defaults = {});

// A value in force, and its source: "FILE:LINE", "--conf", "default".
struct Effective {
  std::string key, value, source;
  bool operator==(const Effective&) const = default;
};
// The values of all keys, by name: by the last of `items` that sets it, else the default; of keys
// with a name of the user's own in them (queues.NAME.policy) only those set. Errors: those of
// config_of.
Result<std::vector<Effective>> effective(const std::vector<ConfItem>& items);

// The place where the last of `items` that sets `key` does so: "FILE:LINE: KEY" or "--conf KEY";
// the key itself if none does.
std::string place_of(const std::vector<ConfItem>& items, const std::string& key);

// Applies the text of one TOML file; `file` is for messages.
Status apply_toml(Config& config, std::string_view text, const std::string& file);

// Reads "250ms", "30s", "5m", "2h", "1d", "1.5h" and bare numbers (seconds) to ms. Errors:
// invalid_argument.
Result<Duration> parse_duration_ms(std::string_view text);

}  // namespace holon::config
