-- Who has used least goes first, counted by campaign (holon submit --attr campaign=NAME), not by user.
base = "easy"

state.used = state.used or {}  -- core-seconds, by campaign; kept whatever happens to the broker
local used = state.used

local function campaign(job)
  return job.attributes.campaign or job.user
end

-- A job counts with its whole limit when it starts, and with what it took when it is over.
local function charge(job, seconds)
  used[campaign(job)] = (used[campaign(job)] or 0) + job.cores * seconds
end

local function planned(job)
  return math.min(job.limit, 24 * 3600)
end

function on_event(event, job)
  if event == "start" then charge(job, planned(job)) end
  if event == "finish" then charge(job, job.ran - planned(job)) end
end

function priority(job)
  return -(used[campaign(job)] or 0)
end
