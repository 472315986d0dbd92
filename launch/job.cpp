// job.cpp - every task leads a session and a process group, and the group ends with it: while the
// task is a zombie, so that its number cannot have been given away, what is left of the group gets
// SIGKILL. When the last task has ended, whatever else is left of the job gets SIGKILL too, and the
// job's end is reported when nothing is left.
#include "launch/job.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>

#include "base/hostlist.hpp"
#include "launch/array_words.hpp"
#include "launch/exit_code.hpp"
#include "launch/mpi/offer_wire_up.hpp"
#include "launch/tracking/lineage.hpp"
#include "transport/secret.hpp"

namespace holon::launch {
namespace {

std::int64_t to_ms(const timeval& time) {
  return std::int64_t{time.tv_sec} * 1000 + time.tv_usec / 1000;
}

SpawnError refusal_of(const Error& why) {
  return {126, why.what, why.code == Errc::denied};
}

std::string end_text(int wait_status) {
  return WIFSIGNALED(wait_status)
             ? "was ended by signal " + std::to_string(WTERMSIG(wait_status))
             : "ended with exit code " + std::to_string(WEXITSTATUS(wait_status));
}

// The name of the node; of the first one, if this agent stands for several.
std::string node_of(const msg::Start& start) {
  const auto hosts = Hostlist::parse(start.nodelist);
  const auto names = hosts ? hosts->hosts() : std::vector<std::string>();
  return start.node_index < names.size() ? names[start.node_index] : "its node";
}

// Replaces the words of a task of an array.
std::vector<std::string> words_of_array(std::vector<std::string> words, const Environment& job) {
  const auto index = job.find("HOLON_ARRAY_INDEX"), entry = job.find("HOLON_ENTRY");
  if (index == job.end()) return words;
  const auto id = job.find("HOLON_ARRAY_ID");
  const ArrayWords all{id == job.end() ? "" : id->second, index->second,
                       entry == job.end() ? std::nullopt : std::optional(entry->second)};
  for (auto& word : words) word = with_array_words(word, all);
  return words;
}

// Replaces "{{tmpdir}}" by the folder of the files that were added to the job.
std::vector<std::string> words_with_folder(std::vector<std::string> words,
                                           const std::string& folder) {
  constexpr std::string_view kMark = "{{tmpdir}}";
  for (std::string& word : words)
    for (auto at = word.find(kMark); at != std::string::npos;
         at = word.find(kMark, at + folder.size()))
      word.replace(at, kMark.size(), folder);
  return words;
}

// The job's user opens the files that the job names; the agent opens the others.
OpenFile opener(const JobContext& context, const msg::Start& spec) {
  return [processes = context.processes.get(), user = spec.user, mask = spec.file_mask](
             const std::string& path, int flags, bool own) {
    return own ? processes->open_file({}, path, flags)
               : processes->open_file(user, path, flags, mask);
  };
}

constexpr const char* kCameLate = "late";  // a reason that the broker knows
}  // namespace

Job::Job(JobContext& context, msg::Start start, std::shared_ptr<const ProgramImage> program,
         Events events)
    : context_(context),
      spec_(std::move(start)),
      program_(std::move(program)),
      events_(std::move(events)),
      fence_bytes_(context_.kept, spec_.user),
      fences_(spec_.job),
      input_(context_.reactor, spec_, program_->cwd, opener(context_, spec_)),
      slot_(spec_.in_slot && context_.slots ? context_.slots->take(spec_) : nullptr),
      output_(context_.reactor, spec_, program_->cwd, opener(context_, spec_), slot_.get()),
      processes_(context_.tracking->track(spec_.job)) {}

bool Job::start() {
  tasks_.resize(spec_.tasks.size());
  if (is_late()) return give_up_late();
  if (const Status offered = offer_wire_up(); !offered) {
    give_up({126, "cannot offer PMI to its tasks: " + to_string(offered.error())});
    return false;
  }
  for (std::size_t i = 0; i < tasks_.size(); ++i) tasks_[i].result.rank = spec_.tasks[i].rank;
  if (!program_->files.empty())
    begin_files();
  else if (!spec_.prolog.empty())
    begin_prolog();
  if (files_ || hook_ || (wire_up_ && !wire_up_->is_ready())) return preparing_ = true;
  return start_tasks();
}

Hook::What Job::hook(std::string name, const std::string& line) const {
  return {std::move(name),
          line,
          spec_.hook_timeout,
          task_environment(program_->env, spec_, 0, context_.frame, {}),
          "/",
          spec_.user};
}

// Begins before the prolog, which may look at the files.
void Job::begin_files() {
  files_ =
      std::make_unique<JobFiles>(context_.reactor, *context_.processes, *processes_, spec_.user,
                                 lineage_of_job(context_.frame.lineage, spec_.job));
  files_->place(program_->files, [this](const Status& how) {
    if (!preparing_) return;
    if (!how) {
      preparing_ = false;
      return give_up(refusal_of(how.error()));
    }
    spec_.env["HOLON_JOB_TMPDIR"] = files_->path();
    if (is_late()) {
      preparing_ = false;
      give_up_late();
      return;
    }
    if (!spec_.prolog.empty()) return begin_prolog();
    go_on();
  });
  if (files_->process().pid != 0) leaders_.push_back(files_->process());
}

// Begins after the epilog, which may look at them, too. False: there are no files any more.
bool Job::begin_removal() {
  if (!files_ || std::exchange(removal_begun_, true)) return false;
  const bool goes_on = files_->remove([this](const std::string& trouble) {
    if (!trouble.empty()) spdlog::warn("job " + std::to_string(spec_.job) + ": " + trouble);
    clear_up();
  });
  if (goes_on) leaders_.push_back(files_->process());
  return goes_on;
}

void Job::begin_prolog() {
  prolog_begun_ = true;
  hook_ = std::make_unique<Hook>(context_.reactor, *context_.processes, *processes_,
                                 hook("prolog", spec_.prolog), [this](const Hook::Outcome& how) {
                                   hook_.reset();
                                   if (how.trouble.empty()) return go_on();
                                   if (std::exchange(preparing_, false))
                                     give_up({126, how.trouble, how.denied});
                                 });
  leaders_.push_back(hook_->process());
}

// Begins once no process of the job is left. False: there is no epilog, or it has run; or nothing
// of the job has, since it came too late.
bool Job::begin_epilog() {
  if (reason_ == kCameLate && !prolog_begun_) return false;
  if (spec_.epilog.empty() || std::exchange(epilog_begun_, true)) return false;
  hook_ = std::make_unique<Hook>(
      context_.reactor, *context_.processes, *processes_, hook("epilog", spec_.epilog),
      [this](const Hook::Outcome& how) {
        hook_.reset();
        if (!how.trouble.empty())
          spdlog::warn("job " + std::to_string(spec_.job) + ": " + how.trouble);
        clear_up();
      });
  leaders_.push_back(hook_->process());
  return true;
}

// Starts the tasks once the prolog, the files and the wire-up are ready.
void Job::go_on() {
  if (hook_ || (files_ && !files_->is_placed()) || (wire_up_ && !wire_up_->is_ready())) return;
  if (!std::exchange(preparing_, false)) return;
  if (start_tasks()) events_.started(started());
}

// May what it was to run on have been taken from its instance, and be another's?
bool Job::is_late() const {
  return spec_.start_by != 0 && context_.reactor.now() >= spec_.start_by;
}

bool Job::give_up_late() {
  give_up({126, "what it was to run on may have been taken from its instance", false}, kCameLate);
  return false;
}

bool Job::start_tasks() {
  if (is_late()) return give_up_late();
  keep_to_memory();
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    Task& task = tasks_[i];
    const auto pid = spawn(i);
    if (!pid) {
      give_up(pid.error());
      return false;
    }
    task.process.pid = *pid;
    task.agents_peak_kb = own_peak_kb();
    task.result.started = task.running = true;
    if (context_.processes->serves_users()) leaders_.push_back(id_of(task));
    ++running_;
    if (t_start_ == 0) t_start_ = context_.reactor.now();
    auto exit = context_.processes->on_end(
        *pid, [this, &task](const transport::ChildExit& how) { on_exit(task, how); },
        [this, group = *pid] { context_.processes->signal_group(group, SIGKILL); });
    if (!exit) {
      context_.processes->signal_group(*pid, SIGKILL);  // reaped with the strangers
      processes_->ended(*pid);
      task.running = false;
      --running_;
      give_up({126, "cannot watch the process: " + exit.error().what});
      return false;
    }
    task.exit = std::move(*exit);
  }
  for (const OutputFile& file : output_.files()) processes_->writes(file.path);
  done_opening();
  limit(spec_.limit);
  return true;
}

Status Job::offer_wire_up() {
  if (spec_.mpi.empty()) return {};
  if (spec_.mpi == "pmix" && context_.processes->serves_users())
    return fail(Errc::unsupported,
                "an instance of several users has no PMIx for their tasks; --mpi pmi2 works");
  WireUpEvents events;
  events.fence = [this](std::string put) { enter_fence(std::move(put)); };
  events.ready = [this] { go_on(); };
  events.failed = [this](const std::string& why) {
    if (std::exchange(preparing_, false))
      give_up({126, why + "; --mpi none starts its tasks without"});
  };
  events.abort = [this](int code, const std::string& why) { abort(code, why); };
  auto made = make_wire_up({context_.reactor, *context_.processes, context_.frame, *program_,
                            processes_->cgroup(), context_.kept},
                           spec_, std::move(events));
  if (!made) return tl::unexpected(made.error());
  wire_up_ = std::move(*made);
  return {};
}

void Job::enter_fence(std::string put) {
  if (put.size() > msg::kMostPut)
    return abort(1, "its tasks have put " + std::to_string(put.size()) +
                        " bytes before a fence; at most " + std::to_string(msg::kMostPut) +
                        " are accepted");
  if (fences_.is_waiting()) return abort(1, "its tasks have come to two fences at once");
  const msg::FenceRequest& fence = fences_.enter(std::move(put));
  std::size_t kept = 0;
  for (const auto& one : fences_.to_say_again()) kept += one.data.size();
  if (!fence_bytes_.resize(kept))
    return abort(1, "its tasks, with those of other jobs here, have put more than may be kept");
  if (spec_.part_tasks.size() <= 1) return release(fence.round, {fence.data});
  events_.fence(fence);
}

void Job::release(std::uint64_t round, const std::vector<std::string>& parts) {
  if (!wire_up_ || !fences_.release(round)) return;
  if (const Status done = wire_up_->release(parts); !done)
    abort(1, done.error().code == Errc::out_of_range
                 ? done.error().what
                 : "its tasks have put what cannot be read: " + done.error().what);
}

void Job::refuse_fence(std::uint64_t round, const std::string& why) {
  if (fences_.release(round)) abort(1, "its tasks cannot find each other: " + why);
}

tl::expected<pid_t, SpawnError> Job::spawn(std::size_t index) {
  if (program_->argv.empty()) return tl::unexpected(SpawnError{127, "there is no command to run"});
  if (context_.processes->serves_users() && spec_.user.empty())
    return tl::unexpected(SpawnError{126, "nobody says whose it is"});
  const msg::Task& task = spec_.tasks[index];
  const auto in = input_.open_for(task.rank);
  if (!in) return tl::unexpected(refusal_of(in.error()));
  const auto ends = output_.open_for(task.rank);
  if (!ends) return tl::unexpected(refusal_of(ends.error()));
  CpuMask mask;
  const std::string& cores = task.cores.empty() ? spec_.cores : task.cores;
  if (spec_.bind && !cores.empty()) {
    const auto ids = Idset::parse(cores);
    const auto cpus =
        ids ? context_.node.cpus_of(*ids) : Result<CpuMask>(tl::unexpected<Error>(ids.error()));
    if (!cpus)
      return tl::unexpected(
          SpawnError{126, "cannot bind to cores " + cores + ": " + cpus.error().what});
    mask = *cpus;
  }
  transport::UniqueFd secrets;
  if (!spec_.secrets.empty()) {
    auto held = transport::secret_in_descriptor(secrets_text(spec_.secrets));
    if (!held) return tl::unexpected(SpawnError{126, to_string(held.error())});
    secrets = std::move(*held);
  }
  const auto env = task_environment(program_->env, spec_, index, context_.frame,
                                    wire_up_ ? wire_up_->variables(index) : Environment());
  const CpuMask* const cpus = mask.empty() ? nullptr : &mask;
  const bool is_of_array = spec_.env.contains("HOLON_ARRAY_INDEX");
  std::vector<std::string> own_words;
  if (files_) own_words = words_with_folder(program_->argv, files_->path());
  if (is_of_array) own_words = words_of_array(files_ ? own_words : program_->argv, spec_.env);
  SpawnRequest what{files_ || is_of_array ? own_words : program_->argv,
                    env,
                    program_->cwd,
                    *in,
                    ends->out,
                    ends->err,
                    cpus,
                    processes_->cgroup(),
                    secrets.get()};
  if (wire_up_) what.wire_up = wire_up_->descriptor(index);
  for (const std::string& text : spec_.rlimits) {
    const auto named = parse_process_limit(text);
    const auto limit =
        named ? process_limit(named->name, named->value) : tl::unexpected<Error>(named.error());
    if (!limit) return tl::unexpected(SpawnError{126, limit.error().what});
    what.limits.push_back(*limit);
  }
  what.user = spec_.user;
  what.file_mask = spec_.file_mask;
  auto pid = context_.processes->spawn(what);
  if (!pid && pid.error().no_cgroup != 0) {
    processes_->cannot_start_there(pid.error().no_cgroup);
    what.cgroup = -1;
    pid = context_.processes->spawn(what);
  }
  if (pid) processes_->started(*pid, cpus);
  return pid;
}

void Job::done_opening() {
  input_.done_opening();
  output_.done_opening();
  if (wire_up_) wire_up_->done_opening();
}

// The loop reports the job's end, after the caller has put the job into its table.
void Job::give_up(SpawnError why, const char* reason) {
  reason_ = reason;
  what_ = std::move(why.what);
  exec_code_ = why.exit_code;
  is_denied_ = why.denied;
  done_opening();
  signal(SIGKILL);
  if (running_ == 0) clear_timer_ = context_.reactor.after(0, [this] { clear_up(); });
}

void Job::signal(int number) const {
  for (const Task& task : tasks_)
    if (task.running)
      context_.processes->signal_group(static_cast<pid_t>(task.process.pid), number);
}

void Job::kill(Duration grace, const std::string& reason) {
  if (tasks_over_) return;
  if (reason_.empty()) reason_ = reason;
  suspended_ = false;
  if (std::exchange(preparing_, false)) {
    hook_.reset();
    if (files_) files_->stop();
    exec_code_ = 128 + SIGTERM;
    clear_timer_ = context_.reactor.after(0, [this] { clear_up(); });
    return;
  }
  if (grace < 0) grace = spec_.grace;
  if (grace == 0) return signal(SIGKILL);
  // Sent once: to many programs, a child instance among them, a second SIGTERM means haste.
  if (!kill_timer_) signal(SIGTERM);
  signal(SIGCONT);  // a stopped task cannot end
  // A second call makes it no later.
  const Time end = saturating_add(context_.reactor.now(), grace);
  if (kill_timer_ && kill_at_ <= end) return;
  kill_at_ = end;
  kill_timer_ = context_.reactor.after(grace, [this] { signal(SIGKILL); });
}

void Job::suspend(bool suspend) {
  if (tasks_over_ || preparing_ || !reason_.empty() || suspend == suspended_) return;
  suspended_ = suspend;
  signal(suspend ? SIGSTOP : SIGCONT);
}

void Job::checkpoint(int number) {
  if (tasks_over_ || preparing_ || checkpointed_ || !reason_.empty()) return;
  checkpointed_ = true;
  signal(number);
  suspend(false);
}

void Job::limit(Duration ms) {
  limit_timer_.cancel();
  warn_timer_.cancel();
  spec_.limit = ms;
  if (ms <= 0 || tasks_over_ || t_start_ == 0) return;
  const Duration left = distance(context_.reactor.now(), saturating_add(t_start_, ms));
  limit_timer_ = context_.reactor.after(left, [this] { kill(-1, "timeout"); });
  plan_warning(left);
}

void Job::plan_warning(Duration left) {
  if (spec_.warn_signal <= 0 || spec_.warn_signal > SIGRTMAX) return;
  const bool is_ahead = left > spec_.warn_before;
  // A warning that was sent was of an end that is no longer near.
  if (is_ahead) warned_ = false;
  if (warned_) return;
  warn_timer_ = context_.reactor.after(is_ahead ? left - spec_.warn_before : 0, [this] {
    warned_ = true;
    signal(spec_.warn_signal);
  });
}

void Job::keep_to_memory() {
  if (spec_.memory <= 0 || processes_->bound_memory(spec_.memory)) return;
  memory_.emplace(
      context_.reactor, spec_.memory, [this] { return processes_->processes(running_tasks()); },
      [this](std::int64_t used) { over_memory(used); });
}

// Kills at once: a job that asks for more and more would not have the memory to use a grace.
void Job::over_memory(std::int64_t used) {
  if (reason_.empty()) {
    what_ = "memory limit: its tasks used " + memory_text(used) + " together on " + node_of(spec_) +
            ", and asked for " + memory_text(spec_.memory);
  }
  kill(0, "memory");
}

void Job::on_exit(Task& task, const transport::ChildExit& exit) {
  task.running = false;
  --running_;
  task.result.status = exit.status;
  task.result.cpu_ms = to_ms(exit.usage.ru_utime) + to_ms(exit.usage.ru_stime);
  task.result.max_rss_kb = memory_used_kb(exit.usage, task.agents_peak_kb);
  processes_->ended(exit.pid);
  if (wire_up_ && wire_up_->ended(static_cast<std::size_t>(&task - tasks_.data())) &&
      spec_.ntasks > 1)
    abort(exit_code_of(exit.status), "task " + std::to_string(task.result.rank) + " " +
                                         end_text(exit.status) +
                                         " without having left MPI (MPI_Finalize)");
  if (spec_.kill_on_bad_exit && exit.status != 0 && spec_.ntasks > 1)
    abort(exit_code_of(exit.status), "task " + std::to_string(task.result.rank) + " " +
                                         end_text(exit.status) + " (--kill-on-bad-exit)");
  if (running_ == 0) return clear_up();
}

// An earlier reason for the job's end stays.
void Job::abort(int code, const std::string& why) {
  if (tasks_over_ || !reason_.empty()) return;
  // A job that gave up has not succeeded, and exit codes have eight bits.
  abort_code_ = (code & 0xff) == 0 ? 1 : code & 0xff;
  what_ = why;
  kill(-1, "abort");
}

// Only the cgroup tells that the kernel has ended something for its memory.
void Job::note_memory() {
  if (memory_) memory_->stop();
  memory_peak_ = memory_ ? memory_->peak() : processes_->memory_peak();
  if (reason_.empty() && processes_->ran_out_of_memory()) {
    reason_ = "memory";
    what_ = "memory limit: its tasks needed more on " + node_of(spec_) + " than the " +
            memory_text(spec_.memory) + " they asked for";
  }
}

// Most jobs leave nothing behind and are over at once.
void Job::clear_up() {
  constexpr Duration kAtMost = 50;
  if (!std::exchange(tasks_over_, true)) note_memory();
  limit_timer_.cancel();
  warn_timer_.cancel();
  kill_timer_.cancel();
  if (wire_up_) wire_up_->all_ended();
  if (is_clear()) {
    if (!begin_epilog() && !begin_removal()) end();
    return;
  }
  clear_timer_ = context_.reactor.after(look_again_, [this] { clear_up(); });
  look_again_ = std::min(2 * look_again_, kAtMost);
}

// Both are called each time: each continues while the other does.
bool Job::is_clear() {
  bool is_clear = processes_->clear();
  for (const msg::ProcessId& leader : leaders_) is_clear &= context_.processes->clear(leader);
  return is_clear;
}

void Job::end() {
  over_ = true;
  files_.reset();
  processes_.reset();
  wire_up_.reset();
  input_.finish();
  output_.finish();
  for (const auto& follower : followers_) follower->job_ended();
  end_slot();
  t_finish_ = context_.reactor.now();
  if (!context_.deliver || !context_.deliver(spec_, [this] { tell_end(); })) tell_end();
}

// Followers continue with the files, which are the job's then.
void Job::end_slot() {
  was_in_slot_ = slot_ != nullptr;
  if (!slot_) return;
  const bool is_read = std::any_of(followers_.begin(), followers_.end(),
                                   [](const auto& follower) { return !follower->done(); });
  written_ = slot_->end(spec_, is_read);
  if (!written_.output.empty() || !written_.error.empty()) return;
  slot_->release();
  slot_.reset();
}

void Job::tell_end() {
  msg::Finished finished;
  finished.job = spec_.job;
  finished.attempt = spec_.attempt;
  finished.reason = reason_.empty() ? "exit" : reason_;
  finished.what = what_;
  finished.exit_code = exec_code_;
  finished.t_start = t_start_;
  finished.t_finish = t_finish_;
  finished.memory_kb = memory_peak_ / 1024;
  for (const Task& task : tasks_) {
    if (task.result.started && reason_ != "exec")
      finished.exit_code = std::max(finished.exit_code, exit_code_of(task.result.status));
    finished.tasks.push_back(task.result);
  }
  if (abort_code_) finished.exit_code = *abort_code_;
  finished.in_slot = was_in_slot_;
  finished.denied = is_denied_;
  finished.output = std::move(written_.output);
  finished.error = std::move(written_.error);
  events_.end(std::move(finished));
}

// The kernel is asked for the process's start only when that is needed: until it is reaped its
// number is nobody else's, and afterwards it cannot be mistaken any more.
msg::ProcessId Job::id_of(Task& task) const {
  if (task.process.start == 0 && task.running)
    task.process.start = context_.processes->start_of(static_cast<pid_t>(task.process.pid));
  return task.process;
}

msg::Started Job::started() {
  msg::Started started;
  started.job = spec_.job;
  started.attempt = spec_.attempt;
  started.t_start = t_start_;
  started.limit = spec_.limit;
  started.suspended = suspended_;
  started.checkpointed = checkpointed_;
  for (Task& task : tasks_) started.processes.push_back(id_of(task));
  return started;
}

std::vector<pid_t> Job::running_tasks() const {
  std::vector<pid_t> pids;
  for (const Task& task : tasks_)
    if (task.running) pids.push_back(static_cast<pid_t>(task.process.pid));
  return pids;
}

void Job::follow(transport::Request request, const msg::OutputRequest& from) {
  std::erase_if(followers_, [](const auto& follower) { return follower->done(); });
  followers_.push_back(std::make_unique<OutputFollower>(
      context_.reactor, std::move(request), output_.files(), from, opener(context_, spec_)));
  if (over_) followers_.back()->job_ended();
}

}  // namespace holon::launch
