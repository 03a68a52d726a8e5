-- Accounts of budgets: all of a request are taken, or none. What is given back, or owed from a time without this server, is
-- taken without asking whether there is room. Instants are of this server's clock, so gateways need not agree on the time.
-- What flows back has done so by the time that it is looked at; accounts of a period are keys that end with it.
-- KEYS: gateways that ask, then the accounts (one hash tag, one slot). ARGV: gateway, its lease in ms; then for each account:
-- amount, size, what flows back in a ms (0: nothing), its life in ms, 1 where it refuses what it has no room for.
-- Gives 1 where all was taken, the number of gateways, and what is taken of each account.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])

local function asked(i)
  local at = (i - 2) * 5 + 3
  return tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), ARGV[at + 3], ARGV[at + 4] == '1'
end

local taken, fits = {}, true
for i = 2, #KEYS do
  local amount, size, flow, _, firm = asked(i)
  local told = redis.call('HMGET', KEYS[i], 'taken', 'at')
  local had, at = tonumber(told[1] or '0'), tonumber(told[2] or '0')
  taken[i] = math.max(0, had - flow * math.max(0, now - at))
  if firm and amount > 0 and taken[i] + amount > size then fits = false end
end

local answer = { fits and 1 or 0, redis.call('ZCARD', KEYS[1]) }
for i = 2, #KEYS do
  local amount, _, _, life = asked(i)
  if fits and amount ~= 0 then
    taken[i] = math.max(0, taken[i] + amount)
    redis.call('HSET', KEYS[i], 'taken', string.format('%.3f', taken[i]), 'at', string.format('%.0f', now))
    redis.call('PEXPIRE', KEYS[i], life)
  end
  answer[i + 1] = string.format('%.3f', taken[i])
end
return answer
