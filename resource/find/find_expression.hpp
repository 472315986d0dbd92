// find_expression.hpp - the language of `find`: which vertices are meant.
//
//   status=down and (sched-now=allocated or not names=fluke[3-7])    size>=16 property.perf_class<3
//
// Tests are joined by `and` and `or`, which bind alike and from left to right; two tests side by
// side mean `and`; `not` binds to the test or the parenthesis that follows it. Words are separated
// by blanks, and a blank must follow a closing parenthesis.
//
// A value: parse once, evaluate for every vertex. Source: Fluxion's find; `not`, `!=`, the
// comparisons and status=drained are holon's.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/strong.hpp"

namespace holon::resource {

// The questions about a vertex. Each answer is about the vertex itself, but for the four states,
// which also hold below a vertex that has them.
class FindSubject {
 public:
  // The relation of one job to the vertex.
  struct Mark {
    bool allocated = false;  // holds it exclusively, from now on
    bool reserved = false;   // will hold it exclusively
    bool counted = false;    // is part of the vertex's aggregates
    bool tagged = false;     // holds something at or below it
  };

  virtual ~FindSubject() = default;
  virtual bool down() const = 0;       // or below a vertex that is down
  virtual bool drained() const = 0;    // or below one that is
  virtual bool allocated() const = 0;  // or below one that is
  virtual bool reserved() const = 0;   // or below one that is
  virtual Mark mark(JobId job) const = 0;
  virtual std::string name() const = 0;
  virtual std::string_view type() const = 0;
  virtual std::int64_t id() const = 0;
  virtual std::int64_t uniq_id() const = 0;
  virtual std::int64_t rank() const = 0;
  virtual std::int64_t size() const = 0;
  virtual std::optional<std::string_view> property(std::string_view key) const = 0;
};

class FindExpression {
 public:
  // Errors: invalid_argument, with the position in `text`, what was found and what is accepted.
  static Result<FindExpression> parse(std::string_view text);

  FindExpression(FindExpression&&) noexcept;
  FindExpression& operator=(FindExpression&&) noexcept;
  ~FindExpression();

  // Does the expression hold for the vertex? O(tests).
  bool matches(const FindSubject& subject) const;

  // True with `agfilter=true`: found vertices are shown with aggregates, those of job() ...
  bool wants_aggregates() const { return wants_aggregates_; }
  // ... the last job that a test names; nullopt: of all jobs.
  std::optional<JobId> job() const { return job_; }

  struct Node;

 private:
  FindExpression();
  std::unique_ptr<const Node> root_;
  bool wants_aggregates_ = false;
  std::optional<JobId> job_;
};

// A job id as a person may write it: decimal, 0x hexadecimal, dotted hexadecimal
// (0000.0001.2af0.0000) or base 58 (f2oj9P). Errors: invalid_argument.
Result<JobId> parse_job_id(std::string_view text);

}  // namespace holon::resource
