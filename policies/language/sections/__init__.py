"""The sections of the policy file, one file each."""
