// piecemeal.hpp - a long calculation that is done a piece at a time, though it is written in one.
//
//   Piecemeal reading([&] { document = parse(text); });  // parse() calls may_pause() in its loops
//   while (reading.go_on()) do_something_else();
//
// The calculation has a thread of its own, which runs only within go_on(), while the caller waits:
// the two never run at once, and where a piece ends depends on the steps that it counts alone, not
// on time. What others change between two pieces it must not look at.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>

namespace holon {

class Piecemeal {
 public:
  // Steps in a piece, of a tenth of a microsecond to one each (may_pause()).
  static constexpr std::size_t kSteps = 4'096;

  // Nothing is done before go_on(). Where no thread can be had, all is one piece.
  explicit Piecemeal(std::function<void()> work);
  // Abandons what is not done: the work's objects are destroyed as if may_pause() had thrown.
  ~Piecemeal();
  Piecemeal(const Piecemeal&) = delete;
  Piecemeal& operator=(const Piecemeal&) = delete;

  // Does the next piece. False: that was the last one. Throws what the work has thrown.
  bool go_on();

  struct Worker;

 private:
  std::unique_ptr<Worker> worker_;
};

// Some steps of a calculation are done: if it is a Piecemeal's, its piece may end here. May throw
// something that is no std::exception, and must not be caught. Elsewhere does nothing. O(1).
void may_pause(std::size_t steps = 1);

}  // namespace holon
