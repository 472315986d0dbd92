-- Earliest deadline first (holon submit --attr deadline=18:00), and no for what cannot be met.
base = "easy"

local day = 24 * 3600

-- When the job is to be over: the first such time of day after it was submitted.
local function due(job, view)
  local hour, minute = string.match(job.attributes.deadline or "", "^(%d%d?):(%d%d)$")
  if not hour then return math.huge end
  local wanted = tonumber(hour) * 3600 + tonumber(minute) * 60
  local submitted = view.time_of_day - (view.now - job.submitted)
  return job.submitted + (wanted - submitted) % day
end

function admit(job, view)
  local left = due(job, view) - view.now
  if job.limit > left then
    return false, string.format("it may run for %.0f s, and its deadline is in %.0f s", job.limit, left)
  end
end

function priority(job, view)
  return -due(job, view)
end
