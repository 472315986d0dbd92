// The queue's list against a sorted set, through inserts, gaps, compaction and new orders.
#include "qmanager/engine/pending.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "qmanager/job.hpp"

namespace holon::tests {
namespace {

using qmanager::Job;
using qmanager::OrderKey;
using qmanager::PendingList;

void expect_same(const PendingList& list, const std::map<OrderKey, Job*>& model) {
  ASSERT_EQ(list.size(), model.size());
  std::vector<Job*> walked;
  for (std::size_t slot = list.front(); slot < list.slots(); ++slot)
    if (list.at(slot) != nullptr) walked.push_back(list.at(slot));
  std::size_t place = 0;
  for (const auto& [key, job] : model) {
    ASSERT_EQ(walked.at(place), job);
    ASSERT_EQ(list.position(key), place);
    ++place;
  }
}

TEST(PendingList, IsASortedSetThatKnowsEachPlace) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<Job> jobs(1500);
    PendingList list;
    std::map<OrderKey, Job*> model;
    const auto random_key = [&](std::size_t i) {
      return OrderKey{static_cast<std::int64_t>(random() % 3), static_cast<Time>(random() % 50), i};
    };
    for (int step = 0; step < 4000; ++step) {
      const std::size_t i = random() % jobs.size();
      const bool there = model.contains(jobs[i].key) && model.at(jobs[i].key) == &jobs[i];
      if (there) {
        list.erase(jobs[i].key);
        model.erase(jobs[i].key);
      } else if (random() % 3 != 0) {
        jobs[i].key = random_key(i);
        list.insert(jobs[i].key, &jobs[i]);
        model.emplace(jobs[i].key, &jobs[i]);
      }
      if (random() % 500 == 0) list.compact();
      if (random() % 1000 == 0) {
        model.clear();
        list.reorder([&](Job* job) {
          job->key = random_key(static_cast<std::size_t>(job - jobs.data()));
          model.emplace(job->key, job);
          return job->key;
        });
      }
      if (step % 400 == 0) {
        ASSERT_NO_FATAL_FAILURE(expect_same(list, model));
      }
    }
    expect_same(list, model);
  }
}

TEST(PendingList, CopiesDoNotSeeEachOther) {
  std::vector<Job> jobs(600);
  PendingList list;
  std::map<OrderKey, Job*> model;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].key = {0, static_cast<Time>(i), i};
    if (i % 2 == 0) continue;
    list.insert(jobs[i].key, &jobs[i]);
    model.emplace(jobs[i].key, &jobs[i]);
  }
  PendingList copy = list;
  std::map<OrderKey, Job*> copied = model;
  for (std::size_t i = 0; i < jobs.size(); i += 3) {
    if (i % 2 == 0) {
      copy.insert(jobs[i].key, &jobs[i]);
      copied.emplace(jobs[i].key, &jobs[i]);
    } else {
      copy.erase(jobs[i].key);
      copied.erase(jobs[i].key);
    }
  }
  expect_same(list, model);
  expect_same(copy, copied);
  list.erase(jobs[1].key);
  model.erase(jobs[1].key);
  expect_same(list, model);
  expect_same(copy, copied);
}

}  // namespace
}  // namespace holon::tests
