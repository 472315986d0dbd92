// messages.hpp - what clients, parents and children say to a broker. docs/protocol.md is the
// description for others.
//
// Every struct travels as a msgpack map: unknown keys are ignored, absent ones keep their default,
// so that both sides may be a version apart. Times are milliseconds since the Unix epoch, durations
// milliseconds; 0 means "none" or "not yet" for both. The topic of each request stands above its
// struct; the answer's struct follows it.
#pragma once
#include <cstdint>
#include <map>
#include <msgpack.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace holon::instance::msg {

// A request or an answer that carries nothing: an empty map.
struct Empty {
  template <class Packer>
  void msgpack_pack(Packer& packer) const {
    packer.pack_map(0);
  }
  void msgpack_unpack(const msgpack::object&) {}
};

// Where a job stands, as every listing shows it. A record outlives the job, and the child instance
// that ran it.
struct JobRecord {
  std::string path;  // "/3/7": the instance's path and the job's id
  std::uint64_t id = 0;
  std::string name;
  std::string user;
  std::string group, account, qos;  // "": none given
  std::string queue;
  std::uint32_t urgency = 16;
  std::string state;      // NEW, DEPEND, PRIORITY, SCHED, RUN, CLEANUP, INACTIVE
  std::string result;     // of an INACTIVE job: COMPLETED, FAILED, CANCELED, TIMEOUT, REJECTED
  int exit_code = -1;     // 0..255, 128+signal; -1 while there is none
  std::string reason;     // why it waits, failed or was refused: a sentence a person can act on
  std::string command;    // for display
  std::string nodelist;   // hostlist of where it runs or ran
  std::string resources;  // short, for display: "2 cores", "1 node, 8 cores, 1 gpu"
  std::int64_t nnodes = 0, ncores = 0, ngpus = 0, ntasks = 0;
  std::int64_t t_submit = 0, t_alloc = 0, t_start = 0, t_finish = 0, t_inactive = 0;
  std::int64_t t_estimate = 0;              // planned start of a pending job
  std::int64_t expiration = 0;              // when its time limit ends it
  std::int64_t limit = 0;                   // duration asked for
  std::string selection;                    // immediate, backfill, reserved
  bool is_instance = false;                 // its task is a child instance
  std::string child_uri;                    // of a child that is up
  std::string output, error;                // files
  std::int64_t cpu_ms = 0, max_rss_kb = 0;  // resource usage of its tasks together
  std::vector<std::int64_t> pids;           // of its tasks, rank order, while it runs

  // Name on the wire and member of every field.
  static constexpr auto fields() {
    return std::make_tuple(
        std::pair("path", &JobRecord::path), std::pair("id", &JobRecord::id),
        std::pair("name", &JobRecord::name), std::pair("user", &JobRecord::user),
        std::pair("group", &JobRecord::group), std::pair("account", &JobRecord::account),
        std::pair("qos", &JobRecord::qos), std::pair("queue", &JobRecord::queue),
        std::pair("urgency", &JobRecord::urgency), std::pair("state", &JobRecord::state),
        std::pair("result", &JobRecord::result), std::pair("exit_code", &JobRecord::exit_code),
        std::pair("reason", &JobRecord::reason), std::pair("command", &JobRecord::command),
        std::pair("nodelist", &JobRecord::nodelist), std::pair("resources", &JobRecord::resources),
        std::pair("nnodes", &JobRecord::nnodes), std::pair("ncores", &JobRecord::ncores),
        std::pair("ngpus", &JobRecord::ngpus), std::pair("ntasks", &JobRecord::ntasks),
        std::pair("t_submit", &JobRecord::t_submit), std::pair("t_alloc", &JobRecord::t_alloc),
        std::pair("t_start", &JobRecord::t_start), std::pair("t_finish", &JobRecord::t_finish),
        std::pair("t_inactive", &JobRecord::t_inactive),
        std::pair("t_estimate", &JobRecord::t_estimate),
        std::pair("expiration", &JobRecord::expiration), std::pair("limit", &JobRecord::limit),
        std::pair("selection", &JobRecord::selection),
        std::pair("is_instance", &JobRecord::is_instance),
        std::pair("child_uri", &JobRecord::child_uri), std::pair("output", &JobRecord::output),
        std::pair("error", &JobRecord::error), std::pair("cpu_ms", &JobRecord::cpu_ms),
        std::pair("max_rss_kb", &JobRecord::max_rss_kb), std::pair("pids", &JobRecord::pids));
  }
  // Fields with their default value are left out: names of such would be most of a record's bytes.
  template <class Packer>
  void msgpack_pack(Packer& packer) const {
    const JobRecord plain;
    const auto each_told = [&](auto&& visit) {
      const auto look = [&](const auto& field) {
        if (this->*field.second != plain.*field.second) visit(field.first, this->*field.second);
      };
      std::apply([&](const auto&... field) { (look(field), ...); }, fields());
    };
    std::uint32_t n = 0;
    each_told([&n](const char*, const auto&) { ++n; });
    packer.pack_map(n);
    each_told([&packer](const char* key, const auto& value) {
      packer.pack(key);
      packer.pack(value);
    });
  }
  void msgpack_unpack(const msgpack::object& map) {
    if (map.type != msgpack::type::MAP) throw msgpack::type_error();
    for (std::uint32_t i = 0; i < map.via.map.size; ++i) {
      const msgpack::object_kv& entry = map.via.map.ptr[i];
      if (entry.key.type != msgpack::type::STR) throw msgpack::type_error();
      const std::string_view key(entry.key.via.str.ptr, entry.key.via.str.size);
      const auto take = [&](const auto& field) {
        if (key == field.first) entry.val.convert(this->*field.second);
      };
      std::apply([&](const auto&... field) { (take(field), ...); }, fields());
    }
  }
};

// "submit": count equal jobs, all journalled before the answer. A jobspec that can never run is
// refused with Errc::unsatisfiable and the reason; nothing is kept but the refusal's record (state
// INACTIVE, result REJECTED).
struct SubmitRequest {
  std::string jobspec;  // RFC 14 JSON; attributes.system has duration, cwd, environment, queue,
                        // job.name, shell.options.{output,error,label-io}, constraints
  std::uint64_t count = 1;
  std::uint32_t urgency = 16;
  std::string user;
  bool is_instance = false;  // holon batch, holon alloc: the task is `holon start`
  MSGPACK_DEFINE_MAP(jobspec, count, urgency, user, is_instance)
};
struct SubmitReply {
  std::uint64_t first_id = 0;  // the jobs are first_id .. first_id + count - 1
  std::uint64_t count = 0;
  MSGPACK_DEFINE_MAP(first_id, count)
};

// "jobs"
struct JobsRequest {
  bool all = false;                // inactive ones too
  bool recursive = false;          // jobs of child instances too, dead or alive
  std::vector<std::uint64_t> ids;  // only these; empty: no such filter
  std::uint64_t limit = 0;         // at most so many, the newest ones; 0: no limit
  std::int64_t timeout = 0;        // ms a child may take to answer (recursive); 0: as configured
  MSGPACK_DEFINE_MAP(all, recursive, ids, limit, timeout)
};
struct JobsReply {
  std::vector<JobRecord> jobs;  // ordered by path, numerically
  MSGPACK_DEFINE_MAP(jobs)
};

// "job.info": everything kept about one job.
struct JobInfoRequest {
  std::uint64_t id = 0;
  MSGPACK_DEFINE_MAP(id)
};
struct JobInfoReply {
  JobRecord job;
  std::string jobspec;   // JSON
  std::string R;         // Rv1 JSON with JGF under "scheduling"; empty if never allocated
  std::string eventlog;  // JSON lines (RFC 18)
  MSGPACK_DEFINE_MAP(job, jobspec, R, eventlog)
};

// "job.watch" (stream): one JobEvent per event, from the first on, ends after `clean` of the last
// one asked for. With no ids and follow_all, every event of every job until the client leaves.
struct WatchRequest {
  std::vector<std::uint64_t> ids;
  bool follow_all = false;
  MSGPACK_DEFINE_MAP(ids, follow_all)
};
struct JobEvent {
  std::uint64_t id = 0;
  std::int64_t time = 0;
  std::string name;     // submit, validate, depend, priority, alloc, start, exception, finish,
                        // release, free, clean
  std::string context;  // JSON object
  MSGPACK_DEFINE_MAP(id, time, name, context)
};

// "job.wait": answered once all are INACTIVE. No ids: all active jobs there are now.
struct WaitRequest {
  std::vector<std::uint64_t> ids;
  MSGPACK_DEFINE_MAP(ids)
};
struct WaitReply {
  std::vector<JobRecord> jobs;
  MSGPACK_DEFINE_MAP(jobs)
};

// "job.attach" (stream): output as it is written, from its beginning; ends when the job is
// INACTIVE.
struct AttachRequest {
  std::uint64_t id = 0;
  MSGPACK_DEFINE_MAP(id)
};
struct OutputChunk {
  std::int32_t task = 0;
  bool error = false;  // stderr
  std::string data;
  MSGPACK_DEFINE_MAP(task, error, data)
};

// "cancel": pending jobs go at once, running ones get SIGTERM and after the grace SIGKILL.
struct CancelRequest {
  std::vector<std::uint64_t> ids;
  bool all = false;
  std::string reason;
  MSGPACK_DEFINE_MAP(ids, all, reason)
};
struct CancelReply {
  std::vector<std::uint64_t> cancelled;
  std::vector<std::uint64_t> already_inactive;
  MSGPACK_DEFINE_MAP(cancelled, already_inactive)
};

// "tree": this instance and, recursively, its children. Children that do not answer in time are
// marked.
struct TreeRequest {
  std::int64_t timeout =
      0;  // ms a child may take to answer; 0: as configured (instance.tree-timeout)
  MSGPACK_DEFINE_MAP(timeout)
};
struct TreeNode {
  std::string path;  // "/", "/3"
  std::string name;
  std::string policy;  // of its default queue
  std::string uri;
  std::string health;    // up, starting, ending, unreachable, ended
  std::int64_t pid = 0;  // of the broker
  std::int64_t nodes = 0, cores = 0, cores_free = 0, gpus = 0, gpus_free = 0;
  std::int64_t pending = 0, running = 0, inactive = 0, failed = 0;
  std::int64_t t_started = 0, expiration = 0;
  std::vector<TreeNode> children;
  MSGPACK_DEFINE_MAP(path, name, policy, uri, health, pid, nodes, cores, cores_free, gpus,
                     gpus_free, pending, running, inactive, failed, t_started, expiration, children)
};

// "status": the same node without children.
using StatusRequest = Empty;

// "shutdown": ends the instance in order; running jobs are cancelled first.
struct ShutdownRequest {
  std::string reason;
  MSGPACK_DEFINE_MAP(reason)
};

// ---- parent and child (the child connects up) ----

// "hello" (child to parent), answered with Grant.
struct Hello {
  std::string token;        // from HOLON_TOKEN
  std::uint64_t job = 0;    // the parent's job that is this child
  std::string uri;          // where this child listens
  std::uint64_t epoch = 0;  // 0: has no grant yet
  std::int64_t pid = 0;
  MSGPACK_DEFINE_MAP(token, job, uri, epoch, pid)
};
struct Grant {
  std::string jgf;  // lean JGF with "x-grant" (docs/formats.md)
  std::int64_t expiration = 0;
  std::uint64_t epoch = 0;
  std::string path;  // the child's path
  std::string name;  // the child's, for display, unless it was given one of its own
  bool bind = true;  // false: the resources are declared, tasks are not bound
  MSGPACK_DEFINE_MAP(jgf, expiration, epoch, path, name, bind)
};
// "ending" (up, answered with Empty): the child begins its end.

// "lease" (down): new expiration.
struct Lease {
  std::int64_t expiration = 0;
  MSGPACK_DEFINE_MAP(expiration)
};
// "record" (up): job records that changed, paths relative to the tree's root; answered with Empty
// once journalled.
struct Records {
  std::vector<JobRecord> jobs;
  MSGPACK_DEFINE_MAP(jobs)
};

}  // namespace holon::instance::msg
