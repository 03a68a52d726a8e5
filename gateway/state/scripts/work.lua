-- What one gateway gave replicas to do, as it stands. Its word counts until it ends, so a gateway that dies is forgotten.
-- Instants are of this server's clock, so gateways need not agree on the time.
-- KEYS: prefix of load keys. ARGV: gateway, TTL in ms, then for each replica: its name, and '' or "running:queued:active:"
-- and how its prompts begin: digests, each with a count of two bytes.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for i = 3, #ARGV, 2 do
  local key = KEYS[1] .. ARGV[i]
  if ARGV[i + 1] == '' then
    redis.call('HDEL', key, ARGV[1])
  else
    redis.call('HSET', key, ARGV[1], string.format('%.0f:', now + ARGV[2]) .. ARGV[i + 1])
    redis.call('PEXPIRE', key, ARGV[2])
  end
  local all = redis.call('HGETALL', key)
  for at = 1, #all, 2 do
    if tonumber(all[at + 1]:match('^%d+') or 0) <= now then redis.call('HDEL', key, all[at]) end
  end
end
return #ARGV
