// timeline.hpp - virtual time, and what is to happen in it.
//
// While a Timeline lives, every clock that this process reads through the C library is its clock
// (clock_gettime() is defined in timeline.cpp), and std::random_device draws from its dice. So no
// code under test can come by another time or another chance than the world's.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "world/seams/dice.hpp"

namespace holon::world {

using Micros = std::int64_t;
inline constexpr Micros kMs = 1'000;
inline constexpr Micros kSecond = 1'000'000;

class Timeline {
 public:
  explicit Timeline(std::uint64_t seed);
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  Micros now() const { return now_; }
  void at(Micros when, std::function<void()> action);
  void after(Micros delay, std::function<void()> action) { at(now_ + delay, std::move(action)); }
  // Goes to the next event, and lets it happen. False: there is none.
  bool step();

  // Sets the wall clock, as an operator would.
  void set_wall_clock(Micros by) { wall_offset_ += by; }
  Micros wall_offset() const { return wall_offset_; }
  // Plants: the clock that only goes forward is set with the wall clock.
  void step_together() { steps_together_ = true; }
  Micros boot_offset() const { return steps_together_ ? wall_offset_ : 0; }
  Dice& entropy() { return entropy_; }

 private:
  Micros now_ = 0;
  Micros wall_offset_ = 0;
  bool steps_together_ = false;
  std::uint64_t last_ = 0;
  Dice entropy_;
  std::map<std::pair<Micros, std::uint64_t>, std::function<void()>> agenda_;
};

}  // namespace holon::world
