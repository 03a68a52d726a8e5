-- The replicas whose lease has not ended, by this server's clock. KEYS: replicas of a model. ARGV: how many at most.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
return redis.call('ZRANGEBYSCORE', KEYS[1], string.format('(%.0f', now), '+inf', 'LIMIT', 0, ARGV[1])
