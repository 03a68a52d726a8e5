-- Money of a day that several processes spend from: a part is taken whole or not at all, and what was not spent comes back.
-- KEYS: the purse. ARGV: amount (below 0: it comes back), cap, its life in ms. Gives 1 where it was taken.
local had = tonumber(redis.call('GET', KEYS[1]) or '0')
local amount = tonumber(ARGV[1])
if amount > 0 and had + amount > tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[1], string.format('%.0f', math.max(0, had + amount)), 'PX', ARGV[3])
return 1
