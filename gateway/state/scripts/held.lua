-- Leading blocks held, by all replicas, in one round trip.
-- A record of a block implies records of all blocks before it that last as long (see learn.lua), so bisecting finds
-- the depth in log2(blocks) steps for each replica.
-- KEYS: prefix of generation keys, prefix of block keys (both carry the hash tag, so every key is in one slot).
-- ARGV: now in ms, bytes of a digest, all digests joined, then the replicas.
-- Gives, for each replica in turn, its depth and its generation.
local now, size, joined = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]

local function is_held(at, replica, generation)
  local record = redis.call('HGET', KEYS[2] .. joined:sub(at * size + 1, (at + 1) * size), replica)
  local colon = record and record:find(':', 1, true)
  return colon and tonumber(record:sub(1, colon - 1)) > now and record:sub(colon + 1) == generation
end

local answer = {}
for i = 4, #ARGV do
  local generation = redis.call('GET', KEYS[1] .. ARGV[i]) or ''
  local depth, missing = 0, #joined / size
  while depth < missing do
    local middle = math.floor((depth + missing) / 2)
    if is_held(middle, ARGV[i], generation) then depth = middle + 1 else missing = middle end
  end
  answer[#answer + 1] = depth
  answer[#answer + 1] = generation
end
return answer
