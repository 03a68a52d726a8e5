-- One replica holds these blocks. Every key it writes gets the longest TTL; records carry their own end.
-- The deepest block is written first: of one prompt the tail is the least recent, and so is the first to go when the
-- bound is passed. Whatever is known of a block is so known of all blocks before it, for as long.
-- A record is "end in ms:generation:mark"; a mark that was learnt stays until another one is.
-- KEYS: prefix of generation keys, prefix of block keys, order of learning, its counter (one hash tag, one slot).
-- ARGV: now in ms (nothing: by this server's clock), bytes of a digest, all digests joined, replica, TTL in ms, longest TTL in ms, blocks at most,
--       holders of a block at most, all marks joined (empty: none).
local time = redis.call('TIME')
local now = tonumber(ARGV[1]) or time[1] * 1000 + math.floor(time[2] / 1000)
local size, joined, replica = tonumber(ARGV[2]), ARGV[3], ARGV[4]
local ttl, longest, max_blocks, max_holders = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local marks = ARGV[9]
local generation = redis.call('GET', KEYS[1] .. replica) or ''

local function read(record)
  local ends, its, mark = record:match('^(%d+):([^:]*):(.*)$')
  return tonumber(ends or 0), its, mark or ''
end

local function ends_at(record, of)
  local ends, its = read(record)
  return its == of and ends or 0
end

local function make_room(key)
  local all, left, first, first_ends = redis.call('HGETALL', key), 0, nil, nil
  for i = 1, #all, 2 do
    local ends = ends_at(all[i + 1], redis.call('GET', KEYS[1] .. all[i]) or '')
    if ends <= now then
      redis.call('HDEL', key, all[i])
    else
      left = left + 1
      if not first or ends < first_ends then first, first_ends = all[i], ends end
    end
  end
  if left >= max_holders then redis.call('HDEL', key, first) end
end

local count = #joined / size
local each = #marks / count
local order, learnt = redis.call('INCRBY', KEYS[4], count) - count, {}
for at = count - 1, 0, -1 do
  local digest = joined:sub(at * size + 1, (at + 1) * size)
  local key, ends, mark = KEYS[2] .. digest, now + ttl, marks:sub(at * each + 1, (at + 1) * each)
  local old = redis.call('HGET', key, replica)
  if old then
    local old_ends, its, old_mark = read(old)
    if its == generation then ends = math.max(ends, old_ends) end
    if mark == '' then mark = old_mark end
  elseif redis.call('HLEN', key) >= max_holders then
    make_room(key)
  end
  redis.call('HSET', key, replica, string.format('%.0f', ends) .. ':' .. generation .. ':' .. mark)
  redis.call('PEXPIRE', key, longest)
  order = order + 1
  learnt[#learnt + 1] = order
  learnt[#learnt + 1] = digest
end
for from = 1, #learnt, 2000 do -- unpack() has a limit
  redis.call('ZADD', KEYS[3], unpack(learnt, from, math.min(from + 1999, #learnt)))
end
for _, key in ipairs({KEYS[1] .. replica, KEYS[3], KEYS[4]}) do redis.call('PEXPIRE', key, longest) end

-- A lowered bound is reached over several calls: no single one may hold up the server.
local over = math.min(redis.call('ZCARD', KEYS[3]) - max_blocks, count + 256)
if over > 0 then
  local gone = redis.call('ZPOPMIN', KEYS[3], over)
  for i = 1, #gone, 2 do redis.call('UNLINK', KEYS[2] .. gone[i]) end
end
return count
