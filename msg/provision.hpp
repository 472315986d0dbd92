// provision.hpp - what clients ask and change about batch jobs that an instance submits to get
// more nodes. Conventions as in instance.hpp; docs/protocol.md is the description for others.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "transport/codec/fields.hpp"

namespace holon::msg {

// "provision.add": from now on batch jobs are submitted when waiting jobs would start on their
// nodes. Durations are ms.
struct ProvisionRequest {
  std::string system;  // slurm, grid-engine, pbs
  std::int64_t walltime = 3'600'000;
  std::uint32_t nodes_each = 1;    // of a batch job
  std::uint32_t most_queued = 2;   // batch jobs that wait in the batch system's queue
  std::uint32_t most_nodes = 16;   // of all its batch jobs that are not over
  std::int64_t idle = 300'000;     // after so long without a job a node is given back
  std::int64_t patience = 10'000;  // jobs that have not waited for so long do not count
  std::string shape;  // what a node has, "core=16,memory=64"; "": what one that came had, or else
                      // the broker's own
  std::vector<std::string> options;  // of the batch system, passed through
  bool dry_run = false;              // tells what would be submitted now, and submits nothing
  HOLON_FIELDS(system, walltime, nodes_each, most_queued, most_nodes, idle, patience, shape,
               options, dry_run)
};
struct ProvisionReply {
  std::uint64_t number = 0;  // of a dry run 0
  // For a dry run: so many batch jobs, each by this command with this script, for these jobs.
  std::uint32_t batch_jobs = 0;
  std::vector<std::string> command;
  std::string script;
  std::vector<std::uint64_t> jobs;
  HOLON_FIELDS(number, batch_jobs, command, script, jobs)
};

// A batch job that is not over.
struct BatchJob {
  std::uint64_t number = 0;     // the instance's number for it
  std::uint64_t provision = 0;  // the provision that it belongs to
  std::string system;
  std::string name;   // in the batch system, which tells it apart from all others
  std::string id;     // "": the batch system has not answered yet
  std::string state;  // asked, queued, running; leaving: it is taken back
  std::uint32_t nodes = 1;
  std::string here;         // those of its nodes that have joined, a hostlist
  std::int64_t asked = 0;   // when, ms
  std::int64_t queued = 0;  // when its id was known
  bool came = false;        // one of its nodes has joined
  HOLON_FIELDS(number, provision, system, name, id, state, nodes, here, asked, queued, came)
};

struct Provision {
  std::uint64_t number = 0;
  ProvisionRequest how;
  bool paused = false;
  std::uint32_t failures = 0;   // in a row
  std::int64_t not_before = 0;  // nothing is submitted before, after a failure; 0: now
  std::string trouble;          // the last failure; "": none since a node has come
  std::string topology;         // hwloc XML of a node that came; not in answers
  HOLON_FIELDS(number, how, paused, failures, not_before, trouble, topology)
};

// "provision.list"; the request is empty. Also what the journal keeps.
struct ProvisionsReply {
  std::vector<Provision> provisions;
  std::vector<BatchJob> batch_jobs;
  std::uint64_t last_provision = 0, last_batch_job = 0;  // numbers that were given
  HOLON_FIELDS(provisions, batch_jobs, last_provision, last_batch_job)
};

// "provision.change"
struct ProvisionChange {
  std::uint64_t number = 0;
  std::string action;  // pause: nothing more is submitted; resume; remove: its queued batch jobs
                       // are taken back, its nodes leave in order
  HOLON_FIELDS(number, action)
};

}  // namespace holon::msg
