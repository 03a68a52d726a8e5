"""Who gets which variant, and what the outcomes say of it. Knows no request, no clock and no store."""
