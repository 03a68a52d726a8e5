"""What a gateway costs beside an upstream that costs nothing: latency, throughput, processor time, memory."""
