-- Leading blocks held, marks, and what other gateways gave to do: for all replicas of all models, in one round trip.
-- A record of a block implies records of all blocks before it that last as long (see learn.lua), so bisecting finds
-- the depth in log2(blocks) steps for each replica that has one of the first block; those are few, however many replicas there
-- are. Marks are written for all blocks of a prompt, so they too end once. What is no record or word of ours counts as none.
-- KEYS: prefix of generation keys, prefix of block keys, prefix of load keys (one hash tag, one slot).
-- ARGV: now in ms (nothing: by this server's clock), who asks, bytes of a digest; then for each prompt: its digests joined, the block from which marks are
--       wanted (-1: none), number of replicas, the replicas.
-- Gives, for each replica in turn, its depth, its generation, its marks joined, running:queued:active of others, and how many
-- prompts of theirs begin like what it holds, as far as the longest of its first 1, 2, 4, 8 ... blocks.
local time = redis.call('TIME')
local clock = time[1] * 1000 + math.floor(time[2] / 1000)
local now, me, size = tonumber(ARGV[1]) or clock, ARGV[2], tonumber(ARGV[3])

local function record_at(joined, at, replica)
  return redis.call('HGET', KEYS[2] .. joined:sub(at * size + 1, (at + 1) * size), replica)
end

local function holders(joined)
  local found = {}
  if #joined == 0 then return found end
  for _, replica in ipairs(redis.call('HKEYS', KEYS[2] .. joined:sub(1, size))) do found[replica] = true end
  return found
end

local function is_held(record, generation)
  local ends, its = (record or ''):match('^(%d+):([^:]*):')
  return ends and tonumber(ends) > now and its == generation
end

local function mark_of(record)
  return (record or ''):match('^%d+:[^:]*:(.*)$') or ''
end

local function first_false(from, to, holds)
  while from < to do
    local middle = math.floor((from + to) / 2)
    if holds(middle) then from = middle + 1 else to = middle end
  end
  return from
end

local function marks(joined, from, blocks, replica)
  if from < 0 then return '' end
  local past, found = first_false(from, blocks, function(at) return mark_of(record_at(joined, at, replica)) ~= '' end), {}
  for at = from, past - 1 do
    local mark = mark_of(record_at(joined, at, replica))
    if mark == '' then break end
    found[#found + 1] = mark
  end
  return table.concat(found)
end

local function beginning(joined, depth)
  if depth == 0 then return '' end
  local last = 1
  while last * 2 <= depth do last = last * 2 end
  return joined:sub((last - 1) * size + 1, last * size)
end

local function count_of(mark, beginnings)
  for at = 1, #beginnings, size + 2 do
    if beginnings:sub(at, at + size - 1) == mark then
      return beginnings:byte(at + size) * 256 + beginnings:byte(at + size + 1)
    end
  end
  return 0
end

local function others(replica, mark)
  local told, running, queued, active, alike = redis.call('HGETALL', KEYS[3] .. replica), 0, 0, 0, 0
  for i = 1, #told, 2 do
    local ends, r, q, a, beginnings = told[i + 1]:match('^(%d+):(%d+):(%d+):(%d+):(.*)$')
    if ends and told[i] ~= me and tonumber(ends) > clock then
      running, queued, active = running + r, queued + q, active + a
      if mark ~= '' then alike = alike + count_of(mark, beginnings) end
    end
  end
  return string.format('%.0f:%.0f:%.0f', running, queued, active), alike
end

local function generations(from, count)
  local keys = {}
  for i = from, from + count - 1 do keys[#keys + 1] = KEYS[1] .. ARGV[i] end
  return count > 0 and redis.call('MGET', unpack(keys)) or keys
end

local answer, arg = {}, 4
while arg <= #ARGV do
  local joined, from, count = ARGV[arg], tonumber(ARGV[arg + 1]), tonumber(ARGV[arg + 2])
  local blocks, there, born = #joined / size, holders(joined), generations(arg + 3, count)
  for i = arg + 3, arg + 2 + count do
    local replica, generation = ARGV[i], born[i - arg - 2] or ''
    local last = there[replica] and blocks or 0
    local depth = first_false(0, last, function(at) return is_held(record_at(joined, at, replica), generation) end)
    local work, alike = others(replica, beginning(joined, depth))
    answer[#answer + 1] = depth
    answer[#answer + 1] = generation
    answer[#answer + 1] = there[replica] and marks(joined, from, blocks, replica) or ''
    answer[#answer + 1] = work
    answer[#answer + 1] = alike
  end
  arg = arg + 3 + count
end
return answer
