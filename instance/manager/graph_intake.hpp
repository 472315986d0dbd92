// graph_intake.hpp - a graph on its way in: what is known of it between two portions.
#pragma once
#include <cstddef>
#include <optional>
#include <utility>

#include "instance/job/graph_plan.hpp"
#include "instance/journal/journal.hpp"

namespace holon::instance {

// A graph that is read and checked. Nothing of it is kept.
struct ReadingGraph {
  explicit ReadingGraph(GraphReader its_reader) : reader(std::move(its_reader)) {}

  GraphReader reader;
  std::size_t chosen = 0;           // tasks whose way is known
  bool has_begun = false;           // its key was looked up
  std::optional<SubmitKey> before;  // the jobs that came with its key; then nothing else is asked
};

// A graph that was taken; the tasks from `next` on are no batches yet.
struct EnteringGraph {
  GraphPlan plan;
  std::size_t next = 0;
  std::size_t known = 0;  // the scheduler has the tasks before this one
};

}  // namespace holon::instance
