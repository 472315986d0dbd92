// sketch.cpp - building sketches: exactly from points, safely from the sketches of parts.
//
// The first step begins at the lowest level reached and the last one at the highest; those between
// at a sample of the levels, sorted. A step takes the bounds of the highest cap it stands for. The
// last one stands for every cap from its level up, and says nothing.
#include "resource/planner/sketch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace holon::resource {

namespace {

constexpr float kFar = 9.2e18F;  // below 2^63

float round_up(Duration ticks) {
  const float near = static_cast<float>(ticks);
  if (near >= kFar) return std::numeric_limits<float>::infinity();
  return static_cast<Duration>(near) < ticks ? std::nextafter(near, kFar) : near;
}

float round_down(Duration ticks) {
  const float near = std::min(static_cast<float>(ticks), kFar);
  return static_cast<Duration>(near) > ticks ? std::nextafter(near, 0.0F) : near;
}

// Sorts a few numbers, without a branch to mispredict.
template <std::size_t kCount>
void sort_few(Amount (&values)[kCount]) {
  for (std::size_t i = 1; i < kCount; ++i) {
    for (std::size_t j = i; j > 0; --j) {
      const Amount low = std::min(values[j - 1], values[j]);
      values[j] = std::max(values[j - 1], values[j]);
      values[j - 1] = low;
    }
  }
}

}  // namespace

void Sketch::set(unsigned step, const Bounds& bounds) {
  best_[step] = round_up(bounds.best);
  head_[step] = round_up(distance(origin_, bounds.head));
  tail_[step] = round_down(distance(origin_, bounds.tail));
}

void Sketch::set_unknown(unsigned step) {
  set(step, {reach_, origin_, distance(origin_, reach_)});
}

// The steps begin at level_, sorted; or at every level there is, if they are few. The lowest level
// has a step of its own.
void Sketch::settle_levels(Amount least, Amount most) {
  const bool few = most - least < Amount{kSteps};
  level_[0] = least;
  for (unsigned i = 1; i < kSteps; ++i)
    level_[i] = few ? std::min(least + Amount{i}, most) : std::max(level_[i], least + 1);
  level_[kSteps - 1] = most;
}

Sketch Sketch::of(std::span<const Point> points) {
  const std::size_t count = points.size();
  Amount levels[kMostParts];
  Amount level = 0, least = points.front().delta, most = least;
  for (std::size_t i = 0; i < count; ++i) {
    levels[i] = level += points[i].delta;
    least = std::min(least, level);
    most = std::max(most, level);
  }
  Sketch out;
  out.origin_ = points.front().time;
  out.reach_ = points.back().time;
  // Ups and downs alternate in a plan: every fourth point, say, may see one kind only.
  for (std::size_t i = 0; i < kSteps; ++i)
    out.level_[i] = levels[std::min((i * count / kSteps) ^ (i & 1), count - 1)];
  sort_few(out.level_);
  out.settle_levels(least, most);
  // All steps side by side: short chains of independent work, and no branch to mispredict.
  Time tail[kSteps];
  Duration best[kSteps] = {};
  std::fill(tail, tail + kSteps, out.origin_);
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const Time end = points[i + 1].time;
    for (unsigned step = 0; step + 1 < kSteps; ++step) {
      tail[step] = levels[i] >= out.level_[step + 1] ? end : tail[step];
      best[step] = std::max(best[step], end - tail[step]);
    }
  }
  std::size_t blocked = 0;
  for (unsigned step = 0; step + 1 < kSteps; ++step) {
    while (blocked < count && levels[blocked] < out.level_[step + 1]) ++blocked;
    out.set(step, {blocked < count ? points[blocked].time : out.reach_, tail[step], best[step]});
  }
  out.set_unknown(kSteps - 1);
  return out;
}

Sketch Sketch::of(std::span<const Part> parts, Time last) {
  Amount samples[2 * kMostParts];
  std::size_t count = 0;
  Amount offset = 0, least = parts.front().summary.least, most = parts.front().summary.most;
  for (const Part& part : parts) {
    least = std::min(least, offset + part.summary.least);
    most = std::max(most, offset + part.summary.most);
    for (const unsigned i : {kSteps / 3, kSteps - 2})
      samples[count++] = offset + part.sketch->level_[i];
    offset += part.summary.sum;
  }
  std::sort(samples, samples + count);
  Sketch out;
  out.origin_ = parts.front().first;
  out.reach_ = last;
  for (std::size_t i = 1; i + 1 < kSteps; ++i)
    out.level_[i] = std::clamp(samples[i * count / kSteps], least, most);
  out.settle_levels(least, most);
  for (unsigned step = 0; step + 1 < kSteps; ++step)
    out.set(step, out.bounds_of(parts, out.level_[step + 1] - 1));
  out.set_unknown(kSteps - 1);
  return out;
}

Sketch::Bounds Sketch::bounds_of(std::span<const Part> parts, Amount cap) const {
  Bounds out{reach_, reach_, 0};
  bool open = false, blocked = false;
  Amount level = 0;
  for (const Part& part : parts) {
    const Amount room = cap - level;
    level += part.summary.sum;
    if (part.summary.most <= room) {
      if (!open) out.tail = part.first;
      open = true;
      continue;
    }
    Bounds inside{part.first, reach_, 0};
    if (part.summary.least <= room) inside = part.sketch->at(room);
    inside.head =
        std::max(inside.head, part.first);  // the first point it was built from may be gone
    if (open) out.best = std::max(out.best, distance(out.tail, inside.head));
    if (!blocked) out.head = inside.head;
    blocked = true;
    out.best = std::max(out.best, inside.best);
    open = level <= cap;
    if (open) out.tail = inside.tail;
  }
  if (open) out.best = std::max(out.best, distance(out.tail, reach_));
  return out;
}

bool Sketch::cover(const Change& change, Time first) {
  if (change.at < origin_ || change.at > reach_) return false;
  // A rise and its end, both inside and both after the sketch was built, leave no level lower than
  // it was.
  const bool paired = change.rise_from >= first && change.rise_from < change.at && age_ > 0;
  if (change.delta < 0 && !paired && __builtin_sub_overflow(slack_, change.delta, &slack_))
    return false;
  ++age_;
  return true;
}

}  // namespace holon::resource
