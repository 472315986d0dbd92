// job.hpp - one job's tasks on this node, from their start to the end of the last process that any
// task has left behind.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/files/job_files.hpp"
#include "launch/hook.hpp"
#include "launch/messages.hpp"
#include "launch/mpi/kept_bytes.hpp"
#include "launch/mpi/part_fences.hpp"
#include "launch/mpi/wire_up.hpp"
#include "launch/node.hpp"
#include "launch/program_image.hpp"
#include "launch/streams/input.hpp"
#include "launch/streams/output.hpp"
#include "launch/tasks/environment.hpp"
#include "launch/tasks/processes.hpp"
#include "launch/tracking/memory.hpp"
#include "launch/tracking/tracking.hpp"
#include "transport/reactor.hpp"

namespace holon::launch {

// What all jobs of a node share.
struct JobContext {
  transport::Reactor& reactor;
  std::unique_ptr<Processes> processes;
  Node node;
  NodeFrame frame;
  std::unique_ptr<ProcessTracking> tracking = nullptr;  // nullptr: Jobs makes one without cgroups
  std::shared_ptr<OutputSlots> slots = nullptr;         // nullptr: all output is in files
  // Hands over what the tasks of a job have written; the job's end waits for `done`. False: there
  // is nothing to hand over. nullptr: the output is where it belongs.
  std::function<bool(const msg::Start& start, std::function<void()> done)> deliver = nullptr;
  // How much jobs may keep in the agent of what their tasks exchange.
  std::shared_ptr<KeptBytes> kept = std::make_shared<KeptBytes>();
};

class Job {
 public:
  struct Events {
    // Called exactly once, never from inside start(), kill() or any other call.
    std::function<void(msg::Finished)> end;
    // The tasks of a job run that start() had only begun to start.
    std::function<void(const msg::Started&)> started;
    // The tasks here of a job of several parts have all come to a fence.
    std::function<void(const msg::FenceRequest&)> fence;
  };

  Job(JobContext& context, msg::Start start, std::shared_ptr<const ProgramImage> program,
      Events events);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Starts all tasks. False: one could not be started; the others are killed, and the job's end
  // says why. Tasks that find each other by a server of their own are started when that is ready.
  bool start();
  // Do tasks wait for their server, after start()?
  bool is_preparing() const { return preparing_; }
  void signal(int number) const;
  // SIGTERM now, SIGKILL after `grace` ms (0: at once; negative: the job's own). A second call
  // sends no second SIGTERM, and the earlier time counts; the first reason stays.
  void kill(Duration grace, const std::string& reason);
  // ms since the first task's start; 0: none. The warning before it comes once, and again only if a
  // later limit is further away than the warning time.
  void limit(Duration ms);
  // Its tasks start before that time of the reactor or never (msg::Start::start_by).
  void start_by(Time when) { spec_.start_by = when; }
  // Sends the signal once; the job's tasks continue.
  void checkpoint(int number);
  // Stops or continues the job's tasks; continues a job that is being ended.
  void suspend(bool suspend);
  // Ends a fence with what the tasks of all parts have put.
  void release(std::uint64_t round, const std::vector<std::string>& parts);
  // A fence that cannot end ends the job.
  void refuse_fence(std::uint64_t round, const std::string& why);
  const PartFences& fences() const { return fences_; }

  msg::Started started();
  std::vector<pid_t> running_tasks() const;
  const msg::Start& spec() const { return spec_; }
  bool over() const { return over_; }
  void follow(transport::Request request, const msg::OutputRequest& from);
  void take_input(const transport::Request& request, const msg::InputRequest& piece) {
    input_.take(request, piece);
  }
  // The slot, to be released when the end is acknowledged; nullptr: there is none, or it is empty.
  std::unique_ptr<OutputSlot> take_slot() { return std::move(slot_); }
  // Readers that have not got all output yet; they outlive the job.
  std::vector<std::unique_ptr<OutputFollower>> take_followers() { return std::move(followers_); }

 private:
  struct Task {
    msg::TaskResult result;
    msg::ProcessId process;
    transport::Subscription exit;
    std::int64_t agents_peak_kb = 0;  // when the job was started
    bool running = false;
  };

  msg::ProcessId id_of(Task& task) const;
  tl::expected<pid_t, SpawnError> spawn(std::size_t index);
  Status offer_wire_up();
  bool is_late() const;
  bool give_up_late();
  bool start_tasks();
  void go_on();
  void begin_files();
  void begin_prolog();
  bool begin_epilog();
  bool begin_removal();
  Hook::What hook(std::string name, const std::string& line) const;
  void enter_fence(std::string put);
  void done_opening();
  void give_up(SpawnError why, const char* reason = "exec");
  void on_exit(Task& task, const transport::ChildExit& exit);
  void abort(int code, const std::string& why);
  void plan_warning(Duration left);
  void keep_to_memory();
  void over_memory(std::int64_t used);
  void note_memory();
  void clear_up();
  bool is_clear();
  void end();
  void end_slot();
  void tell_end();

  JobContext& context_;
  msg::Start spec_;
  std::shared_ptr<const ProgramImage> program_;
  Events events_;
  KeptBytes::Part fence_bytes_;  // what fences_ keeps
  PartFences fences_;
  JobInput input_;
  std::unique_ptr<OutputSlot> slot_;  // nullptr: output goes into files
  bool was_in_slot_ = false;
  OutputSlot::Written written_;
  JobOutput output_;
  std::unique_ptr<JobProcesses> processes_;
  std::unique_ptr<Hook> hook_;         // the running one; nullptr: none
  std::unique_ptr<JobFiles> files_;    // nullptr: none were added
  std::optional<MemoryWatch> memory_;  // if the kernel does not keep the bound
  std::int64_t memory_peak_ = 0;       // bytes
  std::unique_ptr<WireUp> wire_up_;    // nullptr: none is offered to the tasks
  std::vector<Task> tasks_;
  std::vector<msg::ProcessId> leaders_;  // of all groups that were started, the hooks' included
  std::vector<std::unique_ptr<OutputFollower>> followers_;
  std::size_t running_ = 0;
  std::string reason_, what_;
  std::int32_t exec_code_ = 0;
  bool is_denied_ = false;
  std::optional<int> abort_code_;  // of the task that has ended the job
  Time t_start_ = 0, t_finish_ = 0;
  Time kill_at_ = 0;  // when kill_timer_ sends SIGKILL
  bool warned_ = false;
  bool prolog_begun_ = false, epilog_begun_ = false, removal_begun_ = false;
  bool suspended_ = false;
  bool checkpointed_ = false;
  bool preparing_ = false, tasks_over_ = false, over_ = false;
  Duration look_again_ = 1;  // ms until the next look at what is left
  transport::Subscription limit_timer_, warn_timer_, kill_timer_, clear_timer_;
};

}  // namespace holon::launch
