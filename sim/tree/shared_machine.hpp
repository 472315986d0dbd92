// shared_machine.hpp - the processors of an instance of which some come and go.
//
// Below is a flat machine of as many processors as the instance may ever hold. What it does not
// hold is taken in the plan by outsiders: for ever, or from the end of a loan on. So the scheduler
// plans with what comes and goes, as it plans with jobs.
#pragma once
#include <map>
#include <memory>
#include <utility>

#include "qmanager/machine/flat_machine.hpp"
#include "qmanager/machine/layer.hpp"

namespace holon::sim {

class SharedMachine final : public qmanager::Layer {
 public:
  // REQUIRES 0 <= held <= most, most >= 1.
  SharedMachine(std::int64_t most, std::int64_t held)
      : Layer(std::make_unique<qmanager::FlatMachine>(most)), most_(most), held_(held) {
    leave_the_rest_outside(0);
  }

  std::unique_ptr<Machine> clone() const override { return std::make_unique<SharedMachine>(*this); }
  // More is here than before, so that reservations may have room before their times.
  bool resources_changed() override {
    Layer::resources_changed();
    return std::exchange(grew_, false);
  }
  // While reservations give way, none of them has its processors for long enough.
  Time end_of_nodes(JobId job) const override {
    return reservations_give_way_ ? 0 : Layer::end_of_nodes(job);
  }
  void let_reservations_give_way(bool give) { reservations_give_way_ = give; }

  std::int64_t held() const { return held_; }

  // Holds so many without an end from `now` on. False: jobs have what is to go; nothing changes.
  bool hold_without_end(std::int64_t held, Time now) {
    const std::int64_t before = std::exchange(held_, held);
    if (!leave_the_rest_outside(now)) {
      held_ = before;
      leave_the_rest_outside(now);
      return false;
    }
    grew_ = grew_ || held > before;
    return true;
  }

  // Has `procs` more until a time.
  void borrow(JobId loan, std::int64_t procs, Time until, Time now) {
    borrowed_ += procs;
    leave_the_rest_outside(now);
    if (until != kTimeMax) impose(loan, {until, kTimeMax}, procs);
    loans_[loan] = {procs, until};
    grew_ = true;
  }
  // Gives it back, before that time or then. False: jobs have it; nothing changes.
  bool give_back(JobId loan, Time now) {
    const auto [procs, until] = loans_.at(loan);
    if (until != kTimeMax) Layer::release(loan, now);
    borrowed_ -= procs;
    if (leave_the_rest_outside(now)) {
      loans_.erase(loan);
      return true;
    }
    borrowed_ += procs;
    leave_the_rest_outside(now);
    if (until != kTimeMax) impose(loan, {until, kTimeMax}, procs);
    return false;
  }

  // Is without `procs` until a time. False: they are not free for so long.
  bool lend(JobId loan, std::int64_t procs, Time until, Time now) {
    return impose(loan, {now, until}, procs);
  }
  void take_back(JobId loan, Time now) {
    Layer::release(loan, now);
    grew_ = true;
  }

 private:
  static constexpr JobId kOutside{std::uint64_t{1} << 63};

  bool impose(JobId holder, Interval when, std::int64_t procs) {
    return Layer::impose({}, {holder, when, {{.uniq_id = 0, .amount = procs}}, {}}).has_value();
  }
  // False: there is no room for all that is neither held nor borrowed.
  bool leave_the_rest_outside(Time now) {
    if (std::exchange(has_outside_, false)) Layer::release(kOutside, now);
    const std::int64_t outside = most_ - held_ - borrowed_;
    has_outside_ = outside > 0 && impose(kOutside, {now, kTimeMax}, outside);
    return has_outside_ || outside == 0;
  }

  std::int64_t most_;
  std::int64_t held_;          // without an end
  std::int64_t borrowed_ = 0;  // with one
  std::map<JobId, std::pair<std::int64_t, Time>> loans_;
  bool has_outside_ = false;
  bool grew_ = false;
  bool reservations_give_way_ = false;
};

}  // namespace holon::sim
