-- A new generation: every record of the replica's earlier one stops counting at once.
-- KEYS: prefix of generation keys. ARGV: replica, the new generation, longest TTL in ms.
-- The key may expire with the longest TTL: by then every record that it outdates has expired too.
redis.call('SET', KEYS[1] .. ARGV[1], ARGV[2], 'PX', ARGV[3])
return ARGV[2]
