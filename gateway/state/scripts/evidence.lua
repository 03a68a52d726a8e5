-- One gateway's part of an experiment, whole, and how it stands; gone so many seconds after the last word.
-- KEYS: of the experiment. ARGV: seconds, then fields and values in turn.
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
return redis.call('EXPIRE', KEYS[1], ARGV[1])
