#include "base/piecemeal.hpp"

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace holon {

// Whose turn it is, and what the two tell each other: nothing else is looked at by both at once.
struct Piecemeal::Worker {
  struct Abandoned {};  // thrown through the work

  explicit Worker(std::function<void()> what) : work(std::move(what)) {}
  void run();
  void pause();
  void give_turn(bool to_work);
  void await_turn(bool of_work);

  std::function<void()> work;
  std::thread thread;
  std::mutex mutex;
  std::condition_variable changed;
  bool works = false;         // it is the work's turn
  std::size_t left = kSteps;  // of this piece
  bool abandoned = false;
  bool done = false;
  std::exception_ptr thrown;
};

namespace {

// The work that this thread does; nullptr: it is nobody's.
thread_local Piecemeal::Worker* own_worker = nullptr;

}  // namespace

void Piecemeal::Worker::give_turn(bool to_work) {
  const std::lock_guard lock(mutex);
  works = to_work;
  changed.notify_one();
}

void Piecemeal::Worker::await_turn(bool of_work) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return works == of_work; });
}

void Piecemeal::Worker::run() {
  await_turn(true);
  own_worker = this;
  try {
    if (!abandoned) work();
  } catch (const Abandoned&) {
  } catch (...) {
    thrown = std::current_exception();
  }
  work = nullptr;
  done = true;
  give_turn(false);
}

void Piecemeal::Worker::pause() {
  give_turn(false);
  await_turn(true);
  left = abandoned ? SIZE_MAX : kSteps;
  if (abandoned) throw Abandoned();
}

Piecemeal::Piecemeal(std::function<void()> work)
    : worker_(std::make_unique<Worker>(std::move(work))) {
  try {
    worker_->thread = std::thread([worker = worker_.get()] { worker->run(); });
  } catch (const std::system_error&) {  // go_on() does all of it
  }
}

Piecemeal::~Piecemeal() {
  if (!worker_->thread.joinable()) return;
  worker_->abandoned = true;
  worker_->give_turn(true);
  worker_->thread.join();
}

bool Piecemeal::go_on() {
  if (worker_->done) return false;
  if (!worker_->thread.joinable()) {
    worker_->done = true;
    std::exchange(worker_->work, nullptr)();
    return false;
  }
  worker_->give_turn(true);
  worker_->await_turn(false);
  if (worker_->thrown) std::rethrow_exception(std::exchange(worker_->thrown, nullptr));
  return !worker_->done;
}

void may_pause(std::size_t steps) {
  Piecemeal::Worker* const worker = own_worker;
  if (worker == nullptr) return;
  if (worker->left > steps)
    worker->left -= steps;
  else
    worker->pause();
}

}  // namespace holon
