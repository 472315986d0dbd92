// simulation.hpp - one scheduler under a virtual clock, instant by instant. Private to sim/:
// `simulate` runs one of these to its end, and a tree of instances several side by side (tree/).
#pragma once
#include <functional>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "sim/simulate.hpp"

namespace holon::sim {

class Simulation {
 public:
  // The workload, the options and `request_of` must outlive it.
  Simulation(const Workload& workload, qmanager::Scheduler scheduler, const SimOptions& options,
             const MakeRequest& request_of);

  // The next time at which something happens; nullopt: nothing ever will. `goes_on`: something else
  // may still come, so that it is worth waiting for priorities that age.
  std::optional<Time> next_instant(bool goes_on = false) const;
  // What happens at `t` >= the last one: ends, submissions, and a pass, in the order of the
  // options.
  void play(Time t);
  // The first two of these (Order::batch), and the pass by itself.
  void take_events(Time t);
  void pass();
  void move_clock(Time t) { now_ = std::max(now_, t); }

  qmanager::Scheduler& scheduler() { return scheduler_; }
  const qmanager::Scheduler& scheduler() const { return scheduler_; }
  std::size_t done() const { return done_; }
  std::int64_t passes() const { return result_.passes; }
  const SimResult& so_far() const { return result_; }

  // ---- for a tree

  // From now on it is known who waits and who has ended; before any job comes.
  void keep_track() { tracks_ = true; }
  // The waiting jobs, in the order of their submission, and the processors that they and the
  // running ones take.
  const std::set<std::pair<Time, std::size_t>>& waiting() const { return waiting_; }
  std::int64_t waiting_procs() const { return waiting_procs_; }
  std::int64_t running_procs() const { return running_procs_; }
  bool is_running(std::size_t job) const { return current_[job] >= 0; }
  // When a running job is planned to end.
  Time planned_end(std::size_t job) const;
  // Every start takes so many ticks, in which the processors are held.
  void set_launch(Duration launch) { launch_ = launch; }
  // A running job ends at `when`, if it is not over before; its work is lost, and it waits again.
  void end_early(std::size_t job, Time when, JobId for_job);
  // The jobs that ended since the last call.
  std::vector<std::size_t> take_ended() { return std::exchange(ended_, {}); }
  std::int64_t ended_early() const { return ended_early_; }

  // The outcome, once nothing happens any more.
  SimResult finish();

 private:
  // A job that will be submitted: at `when`, jobs of one instant by number.
  struct Arrival {
    Time when;
    std::int64_t id;
    std::size_t job;
    bool operator>(const Arrival& other) const {
      return std::tie(when, id) > std::tie(other.when, other.id);
    }
  };
  // A job that will end: at `end`, the `sequence`-th that was started or told to end.
  struct Running {
    Time end;
    std::int64_t sequence;
    std::size_t job;
    std::optional<qmanager::Preempt> preempted{};  // why it ends before it is done
    bool operator>(const Running& other) const {
      return std::tie(end, sequence) > std::tie(other.end, other.sequence);
    }
  };

  std::optional<Arrival> next_arrival() const;
  bool submission_due() const;
  void skip_followers();
  bool end_due() const { return !running_.empty() && running_.top().end <= now_; }
  void forget_replaced();
  std::optional<Time> next_wake(bool goes_on) const;
  void one_by_one();
  void submit();
  void take(std::size_t index, Time submitted);
  void refuse(std::size_t index, std::string reason);
  void let_follow(std::size_t index);
  void end_next();
  void give_place(std::size_t index, const qmanager::Preempt& why);
  void apply(const qmanager::Decision& decision);
  void run_until(Time end, std::size_t index, std::optional<qmanager::Preempt> why = {});
  void wait(std::size_t index);
  void wait_no_more(std::size_t index);

  const Workload& workload_;
  qmanager::Scheduler scheduler_;
  const SimOptions& options_;
  const MakeRequest& request_of_;
  std::unordered_map<std::uint64_t, std::size_t> index_;
  std::unordered_map<std::int64_t, std::vector<std::size_t>> followers_;         // by preceding job
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;  // of followers
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
  SimResult result_;
  Time now_ = 0;
  std::optional<Time> wake_;
  bool only_ages_ = false;  // at wake_ nothing is to be done but that
  std::size_t next_submit_ = 0;
  std::size_t done_ = 0;
  std::int64_t sequence_ = 0;
  std::vector<std::int64_t> current_;  // by job, the `sequence` of the end that holds; -1: none
  std::set<std::pair<Time, std::size_t>> waiting_;
  std::int64_t waiting_procs_ = 0, running_procs_ = 0, ended_early_ = 0;
  std::vector<std::size_t> ended_;
  std::set<std::size_t> ending_early_;
  Duration launch_ = 0;
  bool tracks_ = false;
};

}  // namespace holon::sim
